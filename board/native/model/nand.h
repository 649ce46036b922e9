/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The packages of the native device: sectors in the format of docs/medium.md on the NAND model of the virtual board.
 */
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "NandCells.h"
#include "SectorCodec.h"
#include "assasin_contract.h"

namespace model {

/** The firmware did something to the hardware that it may not. */
struct Violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Geometry {
    uint32_t channels = 2, ways = 2, luns = 1, planes = 1, blocks = 16, pages = 32, pageBytes = 4096, spare = 224;
    bool timingBlock = true;   /**< the parameter page has this project's block of times */
    uint32_t modes = 0x1ff;    /**< NV-DDR2 modes offered, a bit each */
    bool multiPlane = true;    /**< programs pages of several planes together */
    double factoryBad = 0;     /**< share of blocks that come bad, as `chance` has it */
    uint64_t chance = 1;       /**< seed of what is fixed in the factory */
    uint8_t maker = 0x2c;      /**< first byte of READ ID, and in the parameter page */
    uint8_t endurance = 0;     /**< erases that a block is good for, as the parameter page says; 0: it says nothing */
    uint8_t readLevels = 8;    /**< what the parameter page says of them, where boards' parts have it */
    bool differential = true;  /**< has DQS_c and RE_c, which feature 02h turns on */
    bool externalVref = false; /**< and needs the external VREFQ, likewise, for 200 MT/s and more */
};

/** What answers at a chip enable: a package like the others, or what the firmware has to do without. */
enum class Answer {
    Package,
    Garbage, /**< READ ID brings something, and never "ONFI" */
    Busy,    /**< RESET never ends */
    Other,   /**< a package of another part */
};

/** What a sector holds. */
struct Page {
    std::vector<uint8_t> data;
    uint32_t oob0 = 0, oob1 = 0;
};

/** What a program or an erase comes to that power loss finds under way. */
using Tear = assasin::NandCut;

/**
 * The medium: survives power cuts, and may be copied between them. A sector's key is channel << 28 | way << 24 | its
 * sector address; the key of any sector of a page names the page, that of any page a block.
 */
class Nand {
  public:
    explicit Nand(const Geometry &g) : geo(g) {
    }
    /** Packages of a part, with the contents of image file `path`. */
    Nand(const assasin::PartFile &part, uint32_t channels, uint32_t ways, const std::string &path);
    Nand(const Nand &other);
    Nand &operator=(const Nand &) = delete;

    /** Both may be changed until the first device is made. */
    Geometry geo;
    std::vector<uint32_t> ecc{24, 40, 55, 70}; /**< strengths of the channels' codes; empty: they have no codec */
    /** FLASH.PHY_MARGIN of the PHYs in front of the packages: they receive DQS differentially. */
    uint32_t phyMargin = 1u << FLASH_PHY_MARGIN_DIFFERENTIAL_SHIFT;
    /** Chip enables, channel << 4 | number, that a package like the others does not answer at; Reliability::absent has
     * those that none is connected to. Both may be changed between devices. */
    std::map<uint32_t, Answer> answers;
    uint64_t programs = 0; /**< sectors programmed */
    uint64_t erases = 0;
    uint64_t reads = 0, pagePrograms = 0; /**< pages */

    /** log2 of sectors a page. */
    uint32_t sectorBits() const;
    /** Of a sector address: bits below the block's. */
    uint32_t pageBits() const;
    uint32_t lunShift() const;
    uint32_t rowBits() const;
    /** Whether the package has a sector there. */
    bool has(uint32_t sector) const;

    /** The medium's physics: faults, wear, time. */
    assasin::NandCells &cells();
    assasin::NandAddress address(uint32_t key) const;
    uint32_t rawPageBytes() const {
        return geo.pageBytes + geo.spare;
    }

    /** A page as a read of the array brings it. */
    struct PageRegister {
        std::vector<uint8_t> raw;
        bool exact = false; /**< bit for bit what the medium holds */
    };

    /** The array's part of operations on the page, or block, of `key`. */
    PageRegister readPage(uint32_t key, uint32_t retryLevel);
    /**
     * \param root it holds a root record, which may be tried on a page that only looks blank
     * \return the page is blank, so that the medium will hold what is programmed
     */
    bool beginProgram(uint32_t key, const std::vector<uint8_t> &raw, bool root);
    /** \param fail the chip reports FAIL, whatever else happens. \return false: it does */
    bool endProgram(uint32_t key, bool fail);
    /** The medium holds the sector of `key` exactly as a codec of strength `t` made it. */
    void setWhole(uint32_t key, uint32_t t);
    /** What the medium holds in the block of `key` has changed, or a test has changed it. */
    void dropWhole(uint32_t key) {
        whole_.erase(blockKey(key));
        beyond_.erase(blockKey(key));
    }
    /** The data of the sector of `key` changed while they were programmed: what it holds was never all true at a time.
     */
    void setMixed(uint32_t key) {
        mixed_[blockKey(key)].insert(key);
    }
    bool mixed(uint32_t key) const {
        auto block = mixed_.find(blockKey(key));
        return block != mixed_.end() && block->second.count(key) != 0;
    }
    void beginErase(uint32_t key);
    bool endErase(uint32_t key, bool fail);
    /**
     * The sector of `key`, which lies in `page` at its place: what SectorCodec::decode() says of it. The code is not
     * run where that is certain to find nothing: in a sector of which the medium holds exactly what the codec made of
     * it, and which was read without an error. Then only what comes out is worked out. Nor is it run again on a sector
     * that it could not correct, such as a torn one.
     */
    assasin::Sector decode(uint32_t key, const PageRegister &page, const assasin::SectorCodec &codec,
                           const assasin::SectorCodec::Setting &setting, std::optional<uint32_t> expected,
                           uint32_t erasedLimit);
    /** Power is lost: what is under way ends as `as` says, by chance without. */
    void cut(std::optional<Tear> as);

    /** Code and settings of the sectors on the medium: those of the last descriptor that touched data. */
    struct Format {
        uint32_t t = 0;
        assasin::SectorCodec::Setting setting;
    };
    Format format;
    /** The codec with this strength. */
    static const assasin::SectorCodec &codec(uint32_t t);

    /* What tests do behind the firmware's back; reads here age nothing. */
    /** All sectors that are whole, by key. */
    std::map<uint32_t, Page> pages() const;
    /** A sector that is. */
    Page page(uint32_t key) const;
    /** Whether reads at the block's best level still correct the sector of `key`, after what time, reads and weak
     * programs have done to it. */
    bool readable(uint32_t key) const;
    /** Replaces what a programmed sector holds, as if it had been programmed with that. */
    void put(uint32_t key, const Page &page);

  private:
    /** Failures that tests aim at an operation. */
    struct Aimed : assasin::NandFaults {
        bool fail = false;
        bool programFails(const assasin::NandAddress &) override {
            return fail;
        }
        bool eraseFails(const assasin::NandAddress &) override {
            return fail;
        }
    };
    struct Medium {
        Medium(const assasin::PartFile &part, uint32_t channels, uint32_t ways, const std::string &path);
        assasin::PartFile part;
        Aimed aimed;
        assasin::NandImage image;
        assasin::NandCells cells;
    };
    Medium &medium() const;
    std::optional<Page> decode(uint32_t key, const uint8_t *raw) const;

    /** Sectors by block, and in it by page and sector, of which the medium holds what a codec of strength `t` made. */
    struct Whole {
        uint32_t t = 0;
        std::vector<bool> sectors;
    };
    std::unordered_map<uint32_t, Whole> whole_;
    /** Sectors of which the medium holds what a codec cannot correct, by block and key, with what it says of them. */
    struct Beyond {
        uint32_t t = 0, erasedLimit = 0;
        assasin::SectorCodec::Setting setting;
        assasin::Sector sector;
    };
    std::unordered_map<uint32_t, std::map<uint32_t, Beyond>> beyond_;
    /** Sectors of setMixed(), by block. */
    std::unordered_map<uint32_t, std::set<uint32_t>> mixed_;
    uint32_t blockKey(uint32_t key) const {
        return key >> pageBits() << pageBits();
    }
    mutable std::unique_ptr<Medium> medium_;
};

} // namespace model
