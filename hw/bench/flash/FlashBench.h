// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "NandChannel.h"
#include "SectorCodec.h"
#include "assasin_contract.h"

#include "VFlashChannel.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

// What the channel under test was elaborated with (set by `run`).
#ifndef FLASH_WAYS
#error "build with -DFLASH_WAYS, -DFLASH_LUNS, -DFLASH_PHY_BYTES, -DFLASH_CORES and -DFLASH_LOCAL"
#endif

namespace flashbench {

constexpr unsigned kWays = FLASH_WAYS;
constexpr unsigned kPhyBytes = FLASH_PHY_BYTES;
constexpr unsigned kCores = FLASH_CORES;
constexpr unsigned kStreams = 8;
constexpr unsigned kLuns = FLASH_LUNS; ///< LUNs of a way that work at the same time
constexpr bool kLocal = FLASH_LOCAL; ///< channel-local: as many channels as cores, core kNumber is the only one reached
constexpr unsigned kNumber = kLocal ? 1 : 0; ///< of the channel
constexpr unsigned kDramPort = kCores + (kLocal ? kCores : 1);
constexpr uint32_t kDramBase = 0x80000000u;
constexpr unsigned kSector = 4096; ///< data bytes
constexpr uint32_t kLayout = 0x00123401, kSeed = 0x5EED0001;

/** The channel did something its surroundings would not survive. */
struct BenchError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Descriptor {
    unsigned op = 0, way = 0;
    bool stream = false;
    bool check = false, fresh = false;
    unsigned core = 0, streamId = 0;
    bool tail = true;
    unsigned tag = 0;
    uint32_t w1 = 0, w2 = 0, bytes = 0;
    unsigned confirm = FLASH_CONFIRM_PAGE;
    uint32_t oob0 = 0, oob1 = 0;
};

struct Completion {
    unsigned tag, status, way;
    uint32_t data0, data1;
    unsigned errors, bits, failed;
    uint64_t cycle;
};

/** An input stream buffer of a core as the channel sees it: a ring of sectors, filled in any order, freed in order. */
struct StreamRing {
    unsigned pages = 2;
    unsigned head = 0;                                 // pages consumed
    std::map<uint32_t, std::vector<uint8_t>> filling;  // by page number
    std::map<uint32_t, std::vector<uint8_t>> complete; // marked
};

/** Data that tells where it belongs. */
std::vector<uint8_t> pattern(uint64_t key, unsigned bytes = kSector);

/** One FlashChannel with the NAND model at its pins, a DRAM, and stream rings; plays crossbar and firmware. */
class FlashBench {
  public:
    FlashBench(const assasin::PartFile &part, uint64_t seed, double nsPerCycle = 1.0, unsigned phyLatency = 4,
               const std::string &imagePath = "");

    void tick();
    void ticks(unsigned n) {
        while (n--)
            tick();
    }

    uint32_t readReg(uint32_t offset);
    void writeReg(uint32_t offset, uint32_t value);

    /** Free places of the way, for LUN 0 or LUN 1. */
    unsigned space(unsigned way, unsigned lun = 0);
    void push(const Descriptor &d);
    /** Takes the oldest completion; \return false when none waits. */
    bool pop(Completion &c);
    /** Runs until a completion comes. \throws BenchError after `limit` cycles */
    Completion wait(uint64_t limit = 1000000);
    Completion execute(const Descriptor &d);

    /** Resets the channel; the packages stay as they are. */
    void restart();

    /** Command steps, RESET of every way, geometry, code, NV-DDR2 timing: what the firmware does at boot. */
    void boot();
    void setSteps();
    void setTiming(const assasin::NandCycles &t);
    /** \param oneLun the channel takes all LUNs of a way for one */
    void setGeometry(unsigned pageLog2, unsigned sectorLog2, bool oneLun = false);
    /** When to look whether a LUN is ready, of which R/B does not tell: by the part's times. */
    void setWaits();
    /** Chooses strength `n` of CODE_INFO. */
    void setCode(unsigned n);
    /** The strongest code that the part's spare area holds. */
    unsigned strongest();

    unsigned sectors() const {
        return 1u << sectorLog2;
    }
    uint32_t row(unsigned lun, unsigned block, unsigned page) const;
    /** A sector address. */
    uint32_t sector(unsigned lun, unsigned block, unsigned page, unsigned s = 0) const {
        return row(lun, block, page) << sectorLog2 | s;
    }
    /** Bytes of a page as they lie in the array. */
    std::vector<uint8_t> raw(unsigned way, unsigned lun, unsigned block, unsigned page) const;
    /** Puts a page into the array: sector s holds pattern(key + s), the OOB words are key and s. */
    void put(unsigned way, unsigned lun, unsigned block, unsigned page, uint32_t key);
    /** P1 of feature 02h that boot() sets, 0: it does not. Complementary DQS and RE. */
    uint8_t configuration = 0x06;
    /** The setting of scrambler and layout. */
    assasin::SectorCodec::Setting setting{kSeed, kLayout};
    std::vector<uint8_t> dram(uint32_t address, unsigned bytes) const;
    void fillDram(uint32_t address, const std::vector<uint8_t> &data);

    /** Cycles of a read of a sector on the bus by the formula of docs/architecture.md. */
    unsigned formula() const;

    // Surroundings
    unsigned outReadyPercent = 100;   // chance that the crossbar takes a beat
    unsigned fetchReadyPercent = 100; // and the DRAM reader a request
    bool writeProtect = false;
    /** Everything that crosses the channel's pins in a cycle. */
    struct Pins {
        bool reset;
        bool regValid, regWrite;
        uint16_t regAddr;
        uint32_t regData;
        bool dqInValidBefore; // what the channel saw at this cycle's edge
        uint32_t dqInBefore, rbNBefore;
        assasin::PhyPort phy; // what it shows after the edge, and the model's answer
        void drive(VFlashChannel &channel) const;
    };
    std::vector<Pins> *recorder = nullptr;
    bool skipSleep = false; // stop the clock while `asleep`, as the board does
    std::function<void()> eachTick;
    std::vector<std::vector<StreamRing>> rings;
    unsigned sectorLog2 = 0;
    std::unique_ptr<assasin::SectorCodec> codec; ///< of the strength that is set

    const assasin::PartFile part;
    assasin::NandTiming timing;
    assasin::NandFaults noFaults;
    assasin::NandFaults *faults = &noFaults;
    std::unique_ptr<assasin::NandImage> image;
    std::unique_ptr<assasin::NandCells> cells;
    std::unique_ptr<assasin::NandChannel> nand;
    assasin::PhyPort phy;
    std::unique_ptr<VFlashChannel> top;
    uint64_t now = 0;
    uint64_t slept = 0;
    uint64_t packets = 0;
    uint64_t digest = 0; ///< of what the channel has shown in every cycle
    std::mt19937_64 random;

    unsigned chance(unsigned percent) {
        return random() % 100 < percent;
    }
    unsigned below(unsigned n) {
        return static_cast<unsigned>(random() % n);
    }

  private:
    void showRoom();
    void sum();
    void takeBeat();
    void deliver();
    void feed();

    struct Forward;
    std::unique_ptr<assasin::NandFaults> forward_;
    std::vector<uint8_t> dram_;
    struct Packet {
        unsigned dst = 0;
        uint32_t addr = 0;
        unsigned bytes = 0;
        bool toStream = false, mark = false;
        unsigned stream = 0;
        std::vector<uint8_t> data;
    };
    Packet packet_;
    bool inPacket_ = false;
    // Program data on its way to the channel.
    struct Feed {
        uint32_t addr;
        unsigned bytes, offset;
        uint64_t notBefore;
    };
    std::deque<Feed> feeds_;
    unsigned feedBeat_ = 0;
};

} // namespace flashbench
