// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "SectorCodec.h"
#include "assasin_contract.h"

#include "VSectorPath.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

// What the path under test was elaborated with (set by `run`).
#ifndef SECTOR_PHY_BYTES
#error "build with -DSECTOR_PHY_BYTES and -DSECTOR_STRENGTHS"
#endif

namespace sectorbench {

constexpr unsigned kPhyBytes = SECTOR_PHY_BYTES;
constexpr unsigned kSector = 4096;
constexpr unsigned kWays = 4;
constexpr unsigned kDramPort = 2 + 1;

/** Strengths of the code, ascending; register value n means the (n - 1)th, 0 no code. */
inline std::vector<unsigned> strengths() {
    return {SECTOR_STRENGTHS};
}

/** The path did something its surroundings would not survive, or something else than the model says. */
struct BenchError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

using Bytes = std::vector<uint8_t>;

struct Completion {
    unsigned tag = 0, status = 0, way = 0, errors = 0, bits = 0, failed = 0;
    bool sector = false;
    uint64_t data = 0;
    bool operator==(const Completion &o) const {
        return tag == o.tag && status == o.status && way == o.way && errors == o.errors && bits == o.bits &&
               failed == o.failed && sector == o.sector && data == o.data;
    }
};
std::string text(const Completion &c);

/** A read of a sector and what the array holds there. */
struct Read {
    unsigned way = 0;
    uint32_t address = 0;
    Bytes raw;
    unsigned bytes = kSector;
    bool toStream = false, tail = false, drop = false;
    unsigned core = 0, stream = 0;
    uint32_t to = 0x80000000u;
    std::optional<uint32_t> check;
    uint32_t oob0 = 0; ///< of the descriptor; `check` if there is one
};

struct Program {
    unsigned way = 0;
    uint32_t address = 0;
    Bytes data; ///< as many bytes as the descriptor says
    uint32_t oob0 = 0, oob1 = 0;
};

/** SectorPath with a bus, a crossbar and a completion queue around it. Everything that comes out is compared with the
 * codec in software. */
class SectorBench {
  public:
    /** \param strength as in register CODE */
    SectorBench(uint64_t seed, unsigned strength);
    ~SectorBench();

    // Surroundings; may change at any time.
    unsigned outReady = 100, completionReady = 100, beatGap = 0, fetchReady = 100, feed = 100;
    unsigned latency = 1; ///< of the PHY
    unsigned post = 1, select = 1, preamble = 1;

    void setCode(unsigned strength);
    unsigned t() const {
        return codec_->t();
    }
    const assasin::SectorCodec &codec() const {
        return *codec_;
    }
    assasin::SectorCodec::Setting setting{0x12345678u, 0xABCDEF01u};
    unsigned erasedLimit = 256;

    // The bus does these in order.
    void read(const Read &r);
    /** Parameter page, or with `wide` a raw read. */
    void readRaw(unsigned way, const Bytes &data, uint32_t to, bool wide);
    /** 1, 4 or 8 bytes into the completion; with `check` a status that decides: its bits in `failMask` mean failure. */
    void answer(unsigned way, const Bytes &data, bool check, unsigned failMask = 1);
    void program(const Program &p);

    void tick();
    /** Until everything has been done. */
    void drain(uint64_t limit = 3'000'000);
    /** All the bytes of the sectors programmed, in order. */
    std::deque<Bytes> programmed;

    /** Endless reads of one clean sector with next to no work for the bench; in place of `tick`. */
    void bareBeat();

    /** Encoded by the codec in software. */
    Bytes encode(uint32_t address, const Bytes &data, uint32_t oob0, uint32_t oob1) const;
    Bytes randomBytes(unsigned n);
    unsigned below(unsigned n) {
        return static_cast<unsigned>(random() % n);
    }
    bool chance(unsigned percent) {
        return below(100) < percent;
    }

    std::mt19937_64 random;
    uint64_t now = 0;
    uint64_t stalled = 0;      ///< cycles in which a beat was due and there was no room
    uint64_t lastBeat = 0;     ///< cycle of the last beat that came in
    uint64_t lastComplete = 0; ///< cycle of the last completion
    uint64_t completions = 0;
    uint64_t digest = 0; ///< of what the path has shown in every cycle
    bool pendingWork() const {
        return !phases_.empty() || !expected_.empty() || !answers_.empty() || !programs_.empty() || busy_;
    }
    std::unique_ptr<VSectorPath> top;

  private:
    struct Expected {
        Completion completion;
        Bytes data; ///< delivered, none unless OK
        Read read;
        unsigned delivered = 0;
    };
    struct Phase {
        bool out = true, main = false, sector = false, narrow = false, check = false;
        unsigned failMask = 0;
        Read read;
        unsigned tag = 0;
        Bytes bytes;
        Expected expected;
    };
    void push(Phase phase);
    void bus();
    void sum();
    void takeBeat();
    void takeCompletion();
    void feedData();
    [[noreturn]] void fail(const std::string &what) const;

    std::unique_ptr<assasin::SectorCodec> codec_;
    unsigned nextTag_ = 0;
    std::deque<Phase> phases_;
    bool busy_ = false;
    unsigned wait_ = 0, next_ = 0;
    enum class State { Idle, Out, In, Post } state_ = State::Idle;
    bool sends_ = false;
    std::deque<std::pair<uint64_t, uint32_t>> arriving_;
    std::deque<Expected> expected_, answers_;
    // Packet under way.
    bool inPacket_ = false;
    unsigned beat_ = 0;
    uint32_t packetAddr_ = 0;
    // Programs
    std::deque<Program> programs_;           ///< not started
    std::deque<Program> fetching_, waiting_; ///< their data is on its way; is there
    struct Feed {
        Bytes data;
        unsigned at;
        uint64_t notBefore;
    };
    std::deque<Feed> feeds_;
    unsigned feedBeat_ = 0;
    Bytes sent_;
    Bytes bare_;
    unsigned bareAt_ = 0;
};

} // namespace sectorbench
