// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#ifndef NandChannel
#define NandChannel NandChannelModel
#include "../../../virtual/nand/NandChannel.h"
#undef NandChannel
#endif

#include <cstdint>
#include <deque>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace assasin {

/** The pins break a rule of ONFI's SDR or NV-DDR2 bus. */
struct PinViolation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/**
 * NAND packages as their pins see it: latches on WE, bytes on RE in SDR and on edges of DQS in NV-DDR2. Checks widths,
 * set-up, hold, preambles, contention; what arrives goes to the packages' model, which checks sequences and guard
 * times.
 */
class NandPins {
  public:
    /** What the controller drives. */
    struct Host {
        uint32_t ceN;
        bool cle, ale, weN, wpN, re;
        bool dqDriven, dqsDriven;
        uint8_t dq;
        bool dqs;
    };
    /** What the packages drive, and noise where nobody does. */
    struct Package {
        uint8_t dq;
        bool dqs, dqsN;
        uint32_t rbN;
    };

    NandPins(const NandSetup &setup, unsigned channel, unsigned ways);

    /** One sample; `now` counts them. */
    Package step(uint64_t now, const Host &host);

  private:
    struct Edge {
        uint64_t at;
        bool dqs;
    };
    struct Way {
        bool ddr = false, ddrNext = false;
        bool twiceOut = false; ///< bytes come twice in NV-DDR2
        bool twiceIn = false;
        bool complementary = false; ///< DQS_c is driven, too
    };

    [[noreturn]] void violate(uint64_t now, const std::string &what) const;
    uint64_t samples(double ns) const;
    void chipEnable(uint64_t now, const Host &host);
    void writeEnable(uint64_t now, const Host &host, PhyPort &port);
    void latched(uint8_t dq, bool command);
    void featureByte(uint8_t dq);
    void dataIn(uint64_t now, const Host &host, PhyPort &port);
    void dataOut(uint64_t now, const Host &host, PhyPort &port);
    Package drive(uint64_t now, const Host &host);

    NandChannelModel model_;
    double ns_;
    unsigned byteSamples_;
    unsigned ways_;
    std::vector<Way> state_;
    std::mt19937 noise_;

    Host before_;
    int way_ = -1; ///< selected
    uint64_t weFell_ = 0, dqChanged_ = 0, dqHeldUntil_ = 0;
    // SET FEATURES as it passes
    bool feature_ = false;
    uint8_t featureAddress_ = 0;
    unsigned featureBytes_ = 0;
    // Data in
    bool dqsWasDriven_ = false, inBurst_ = false;
    uint64_t inStart_ = 0, inEdge_ = 0;
    bool inSecond_ = false;
    uint8_t inByte_ = 0;
    // Data out
    bool outBurst_ = false;
    uint64_t outStart_ = 0, outEdge_ = 0;
    bool outSecond_ = false;
    uint64_t sdrFrom_ = 0, sdrUntil_ = 0;
    std::deque<uint8_t> bytes_;
    std::deque<Edge> edges_;
    std::deque<bool> fresh_; ///< of each edge: a byte of its own, not the repeated one
    bool driving_ = false, level_ = false;
    int driver_ = -1; ///< way whose burst it is
    uint64_t releaseAt_ = 0;
    uint8_t byte_ = 0;
};

} // namespace assasin
