// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "pciproxy/HostMemory.h"
#include "xdma/DmaDescriptor.h"
#include "xdma/PcieParams.h"

namespace assasin {

/// Fetches a channel's descriptor list from host memory, and is the channel's SGDMA register block (PG195: H2C
/// 0x4000, C2H 0x5000).
///
/// A block of adjacent descriptors is one read; the last one of a block says where the next block is and how long. A
/// block is never read across a 4 KiB boundary.
class DescriptorFetcher {
  public:
    static constexpr uint32_t DESCRIPTOR_BYTES = 32;

    /// Why a list ended.
    enum class End { NONE, STOP, BAD_MAGIC, UNSUPPORTED_REQUEST };

    /// @param target 0 host to card, 1 card to host
    /// @param number of the channel, 0 to 3
    DescriptorFetcher(unsigned target, unsigned number, PcieLink &link, HostMemory &host)
        : target_(target), number_(number), link_(link), host_(host) {
    }

    /// The SGDMA register at byte `offset` (0..0xFF).
    uint32_t read(uint32_t offset) const;
    void write(uint32_t offset, uint32_t value);

    /// SGDMA Descriptor Control: no new reads while halted.
    void setHalted(bool halted) {
        halted_ = halted;
    }
    /// Descriptor Credit Mode: no more descriptors are read than the channel has credits.
    void setCreditMode(bool on);

    /// The channel's Run bit rose: the list at the address registers begins.
    void start();
    /// The channel's Run bit fell or an error stopped it: what is fetched and not taken is dropped.
    void stop();
    /// Power-on state.
    void reset();

    /// More descriptors are to come.
    bool active() const {
        return active_;
    }

    /// Something will happen without another register access.
    bool busy() const {
        return active_ && (reading_ || !fetched_.empty() || mayRead());
    }

    /// Advances by a cycle.
    void step(uint64_t now);

    /// Takes the next descriptor; false when there is none yet, or the list has ended (`end` tells).
    bool take(DmaDescriptor &descriptor);

    End end() const {
        return end_;
    }

  private:
    using Raw = std::array<uint32_t, DESCRIPTOR_BYTES / 4>;

    bool mayRead() const {
        return !halted_ && (!creditMode_ || credits_ > 0);
    }
    void finish(End end);

    const unsigned target_;
    const unsigned number_;
    PcieLink &link_;
    HostMemory &host_;
    uint64_t address_ = 0;  ///< register: the first descriptor
    uint32_t adjacent_ = 0; ///< register: how many more follow it at once
    uint32_t credits_ = 0;
    bool halted_ = false;
    bool creditMode_ = false;

    bool active_ = false;
    End end_ = End::NONE;
    uint64_t next_ = 0;         ///< of the next block
    uint32_t nextAdjacent_ = 0; ///< of the next block
    bool reading_ = false;
    uint32_t readCount_ = 0; ///< descriptors of the read under way
    uint64_t arrival_ = 0;   ///< cycle
    std::deque<Raw> fetched_;
};

} // namespace assasin
