// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>

#include "pciproxy/HostMemory.h"
#include "xdma/DescriptorFetcher.h"
#include "xdma/DmaDescriptor.h"
#include "xdma/PcieParams.h"
#include "xdma/PerformanceMonitor.h"

namespace assasin {

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

/// What H2C and C2H channels of the IP have in common: their register block, where descriptors come from, the
/// descriptor queue, events.
///
/// A channel takes descriptors either from its bypass port or from a list in host memory; which one is fixed when the
/// IP is generated (PG195, "Descriptor Bypass").
///
/// An error that the control register enables stops the channel. On a bypass channel Run falls at once, as `sts`
/// shows, and descriptors taken before still end, each with its pulse. On a list channel descriptors before the
/// faulty one count, the others do not; status, interrupt and write-back come when nothing is under way any more.
class DmaChannel {
  public:
    enum class Source { BYPASS, LIST };

    /// Bits of the control register.
    enum : uint32_t {
        CONTROL_RUN = 1u << 0,
        CONTROL_FIXED_ADDRESS = 1u << 25,
        CONTROL_WRITEBACK = 1u << 26,
    };
    /// Bits of the status register; an event is logged where the control register has the same bit.
    enum : uint32_t {
        STATUS_BUSY = 1u << 0,
        STATUS_STOPPED = 1u << 1,
        STATUS_COMPLETED = 1u << 2,
        STATUS_MAGIC = 1u << 4,
        STATUS_INVALID_LENGTH = 1u << 5,
        STATUS_IDLE_STOPPED = 1u << 6,
        STATUS_READ_UR = 1u << 9,       ///< H2C: the host answered a read with "unsupported request"
        STATUS_READ_DECODE = 1u << 9,   ///< C2H: AXI decode error
        STATUS_READ_SLAVE = 1u << 10,   ///< C2H: AXI slave error
        STATUS_WRITE_DECODE = 1u << 14, ///< H2C: AXI decode error
        STATUS_WRITE_SLAVE = 1u << 15,  ///< H2C: AXI slave error
        STATUS_LIST_UR = 1u << 19,      ///< a descriptor lies in no host memory
        STATUS_ERRORS = 0x00FFFE38,
    };

    /// @param target 0 host to card, 1 card to host
    /// @param number of the channel, 0 to 3
    DmaChannel(unsigned target, unsigned number, Source source, PcieLink &link, HostMemory &host);
    virtual ~DmaChannel() = default;
    DmaChannel(const DmaChannel &) = delete;
    DmaChannel &operator=(const DmaChannel &) = delete;

    /// The channel's register at byte `offset` (0..0xFF).
    uint32_t read(uint32_t offset);
    void write(uint32_t offset, uint32_t value);

    /// Its SGDMA registers. A bypass channel keeps them and starts nothing.
    DescriptorFetcher &fetcher() {
        return fetcher_;
    }

    /// The function was reset: a list channel drops its work, and all registers get their power-on values. A bypass
    /// channel goes on with what its port gave it and keeps its control register, which is the chip's to set.
    void reset();

    /// The channel wants its interrupt line high: an event that its mask enables is in the status register.
    bool interrupt() const {
        return (status_ & interruptMask_) != 0;
    }

    void driveBypass(BypassWires &wires) const;
    void sampleBypass(const BypassWires &wires);

    /// Nothing will happen without a descriptor or a register access.
    bool idle() const {
        const bool waiting = fetcher_.active() && !fetcher_.busy(); // for credits, or halted
        return inWork_.empty() && pulses_ == 0 && !moving() && (!running_ || waiting);
    }

    uint64_t bytes() const {
        return bytes_;
    }

  protected:
    /// Takes descriptors from the list, and notices the end of a run. Once a cycle, before the data moves.
    void advance(uint64_t now);

    /// The piece of descriptor `d` that begins `offset_` bytes into it.
    uint64_t deviceAddress(uint64_t base) const {
        return (control_ & CONTROL_FIXED_ADDRESS) != 0 ? base : base + offset_;
    }
    /// Most bytes of a piece at device address `device`.
    uint32_t pieceLimit(uint64_t device) const {
        return (control_ & CONTROL_FIXED_ADDRESS) != 0 ? uint32_t(8 - device % 8) : UINT32_MAX;
    }

    /// An error has shown up in a transfer under way (status bits, 0: none).
    void notice(uint32_t error) {
        if (source_ == Source::BYPASS && (error & control_) != 0) {
            status_ |= error & control_;
            control_ &= ~uint32_t(CONTROL_RUN);
        }
    }

    /// A piece of the oldest descriptor is through. `run` as it was when the piece began.
    void pieceDone(bool last, uint32_t error, uint32_t run);

    /// Moves when the run is given up: pieces of an older run are without effect.
    uint32_t run() const {
        return run_;
    }

    /// Bytes are through the channel.
    void moved(uint32_t bytes) {
        bytes_ += bytes;
        monitor_.moved(bytes);
    }

    /// Pieces are under way.
    virtual bool moving() const = 0;

    PcieLink &link_;
    HostMemory &host_;
    std::deque<DmaDescriptor> queue_; ///< not wholly requested yet
    uint32_t offset_ = 0;             ///< bytes of queue_.front() requested

  private:
    static constexpr size_t QUEUE_DEPTH = 16;

    void setControl(uint32_t value);
    void log(uint32_t events) {
        status_ |= events & control_;
    }
    void enqueue(const DmaDescriptor &d) {
        queue_.push_back(d);
        inWork_.push_back(d.control);
    }
    void giveUp();
    void writeBack();
    bool busy() const {
        return !inWork_.empty() || moving() || (source_ == Source::LIST && fetcher_.active());
    }

    const unsigned target_;
    const unsigned number_;
    const Source source_;
    DescriptorFetcher fetcher_;
    PerformanceMonitor monitor_;
    uint32_t control_ = 0;
    uint32_t status_ = 0;
    uint32_t completed_ = 0;
    uint32_t interruptMask_ = 0;
    uint64_t writeback_ = 0;
    std::deque<uint8_t> inWork_; ///< control bits of the descriptors taken and not done
    uint32_t pulses_ = 0;        ///< done pulses still to show
    bool running_ = false;       ///< a list is being worked on
    uint32_t pending_ = 0;       ///< events to log when the run is over
    uint32_t run_ = 0;
    uint64_t bytes_ = 0;
};

} // namespace assasin
