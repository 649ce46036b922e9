// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>

#include "pciproxy/HostMemory.h"
#include "sim/Axi.h"

namespace assasin {

/// Timing of the PCIe link as the DMA engine sees it, from the profile.
struct PcieParams {
    double bytesPerCycle = 8.0;    ///< payload, each direction
    uint32_t readLatency = 500;    ///< cycles from a read request to its first data
    uint32_t writeLatency = 250;   ///< cycles from the link to host memory
    uint32_t maxReadRequest = 512; ///< bytes, a power of two
    uint32_t maxPayload = 256;     ///< bytes, a power of two
};

/// One direction's descriptor bypass port (the IP's half: ready and sts).
struct BypassWires {
    bool ready = false;
    uint8_t sts = 0;
    bool load = false;
    uint64_t srcAddr = 0;
    uint64_t dstAddr = 0;
    uint32_t len = 0; ///< bytes, 28 bits
    uint16_t ctl = 0;
};

/// What H2C and C2H channels of the IP have in common: their register block, the bypass port, the descriptor queue.
class DmaChannel {
  public:
    /// Bits of the control register.
    enum : uint32_t { CONTROL_RUN = 1u << 0, CONTROL_WRITEBACK = 1u << 26 };
    /// Bits of the status register.
    enum : uint32_t {
        STATUS_BUSY = 1u << 0,
        STATUS_STOPPED = 1u << 1,
        STATUS_COMPLETED = 1u << 2,
        STATUS_INVALID_LENGTH = 1u << 5,
        STATUS_IDLE_STOPPED = 1u << 6,
        STATUS_READ_UR = 1u << 9,       ///< H2C: the host answered a read with "unsupported request"
        STATUS_READ_DECODE = 1u << 9,   ///< C2H: AXI decode error
        STATUS_READ_SLAVE = 1u << 10,   ///< C2H: AXI slave error
        STATUS_WRITE_DECODE = 1u << 14, ///< H2C: AXI decode error
        STATUS_WRITE_SLAVE = 1u << 15,  ///< H2C: AXI slave error
    };

    /// @param target 0 host to card, 1 card to host
    DmaChannel(unsigned target, const PcieParams &pcie, HostMemory &host);
    virtual ~DmaChannel() = default;

    /// Reads the channel's register at byte `offset` (0..0xFF).
    uint32_t read(uint32_t offset);
    void write(uint32_t offset, uint32_t value);

    /// The channel wants its interrupt line high: an event that its mask enables is in the status register.
    bool interrupt() const {
        return (status_ & interruptMask_ & ~uint32_t(STATUS_BUSY)) != 0;
    }

    void driveBypass(BypassWires &wires) const;
    void sampleBypass(const BypassWires &wires);

    /// No descriptor is in work and no status pulse is owed.
    virtual bool idle() const {
        return queue_.empty() && unfinished_ == 0 && pulses_ == 0;
    }

    uint64_t bytes() const {
        return bytes_;
    }
    uint64_t descriptors() const {
        return descriptors_;
    }

  protected:
    struct Descriptor {
        uint64_t src;
        uint64_t dst;
        uint32_t len;
    };

    /// Marks the oldest unfinished descriptor done.
    void finish();
    void flag(uint32_t statusBits) {
        status_ |= statusBits;
    }

    /// An error: notes it and stops the channel (Run falls, as `sts` shows) until software sets Run again. Descriptors
    /// taken before still end, each with its pulse, after that.
    void halt(uint32_t statusBits) {
        flag(statusBits);
        control_ &= ~uint32_t(CONTROL_RUN);
    }

    const PcieParams pcie_;
    HostMemory &host_;
    BandwidthMeter link_;
    std::deque<Descriptor> queue_; ///< not wholly requested yet
    uint64_t bytes_ = 0;

  private:
    static constexpr size_t QUEUE_DEPTH = 16;

    void setControl(uint32_t value);

    const unsigned target_;
    uint32_t control_ = 0;
    uint32_t status_ = 0;
    uint32_t completed_ = 0;
    uint32_t interruptMask_ = 0;
    uint64_t writeback_ = 0;
    uint32_t unfinished_ = 0; ///< descriptors taken, not done
    uint32_t pulses_ = 0;     ///< done pulses still to show
    uint64_t descriptors_ = 0;
};

} // namespace assasin
