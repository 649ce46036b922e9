// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "VUncore.h"

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

namespace uncorebench {

/// XDMA with descriptor bypass, and the host's memory behind it. Bursts of random length, never across 4 KiB, unaligned
/// at both ends. Also takes single AXI4 accesses of a test, between descriptors.
class XdmaModel {
  public:
    static constexpr uint64_t HOST_BASE = 0x1'0000'0000ull;

    XdmaModel(VUncore &top, std::mt19937 &rng, std::vector<uint8_t *> &taken)
        : top_(top), rng_(rng), taken_(taken), host(16u << 20) {
    }

    void drive(uint64_t now);
    void sample(uint64_t now);

    /// Writes `data` at device address `addr` as bursts; carried out in order. The worst of their responses is in
    /// `response`.
    void write(uint32_t addr, const std::vector<uint8_t> &data);

    /// Reads; result in `readData` when `busy` has become false.
    void read(uint32_t addr, unsigned bytes);
    bool busy() const {
        return !directWrites_.empty() || !directReads_.empty() || writing_ || reading_;
    }
    bool idle() const {
        return !busy() && h2c_.empty() && c2h_.empty();
    }

    uint8_t *at(uint64_t address) {
        return &host.at(address - HOST_BASE);
    }

    unsigned hesitation = 20;
    unsigned maxBeats = 32;
    unsigned exact = 0; ///< beats of all bursts that transfer and page do not end before; 0: random

    /// Most cycles that the host takes before the data of an address, between two beats, and before it takes data or a
    /// response. Each wait is drawn anew; 0: none but those of `hesitation`.
    unsigned longest = 0;

    /// Nothing moves on the channel while it is set.
    bool holdW = false, holdB = false, holdR = false;

    /// AxSIZE and AxBURST of the accesses of a test; those of descriptors are of full width and INCR. Addresses of
    /// beats and lanes are always those of INCR.
    uint8_t size = 3, burstType = 1;

    /// Descriptors are accepted but not carried out.
    bool stalled = false;

    /// The engines have stopped: their Run bits read 0.
    bool stop = false;
    uint8_t response = 0;
    std::vector<uint8_t> readData;
    uint64_t h2cCount = 0, c2hCount = 0;

    VUncore &top_;
    std::mt19937 &rng_;
    std::vector<uint8_t *> &taken_; ///< valid wires to clear behind the clock edge
    std::vector<uint8_t> host;

  private:
    struct Descriptor {
        uint64_t src, dst;
        uint32_t len;
    };
    struct Transfer {
        uint32_t addr = 0;
        std::vector<uint8_t> data; ///< to write, or read so far
        unsigned done = 0;         ///< bytes of `data` moved
        unsigned asked = 0;        ///< bytes whose address has been taken (reads)
        unsigned bytes = 0;
        bool direct = false;
        uint64_t host = 0;
    };
    bool hesitates() {
        return rng_() % 100 < hesitation;
    }
    unsigned burst(uint32_t addr, unsigned left, unsigned width);

    /// A channel that waits `longest` cycles at most before each of its transfers.
    class Pause {
      public:
        /// True when a wait is over; the next begins with `again`.
        bool over() {
            return left_ == 0 || --left_ == 0;
        }
        void again(std::mt19937 &rng, unsigned longest) {
            left_ = longest == 0 ? 0 : static_cast<unsigned>(rng() % (longest + 1));
        }

      private:
        unsigned left_ = 0;
    };
    Pause wPause_, bPause_, rPause_;

    std::deque<Descriptor> h2c_, c2h_;
    std::deque<Transfer> directWrites_, directReads_;
    Transfer w_, r_;
    bool writing_ = false, reading_ = false;
    unsigned width(const Transfer &t) const {
        return t.direct ? 1u << size : 8;
    }
    static constexpr size_t MAX_BURSTS = 8; ///< under way, each direction

    bool awSent_ = false, inBurst_ = false;
    unsigned wBeats_ = 0, wBurst_ = 0;
    unsigned wAnswers_ = 0;        ///< write bursts sent and not answered
    std::deque<unsigned> rBursts_; ///< beats of the read bursts under way
    unsigned rBeats_ = 0;          ///< of the first of them, received
    unsigned arBeats_ = 0;         ///< of the burst whose address is offered
    uint8_t h2cSts_ = 0x40, c2hSts_ = 0x40;
};

} // namespace uncorebench
