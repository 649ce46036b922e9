// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "PartFile.h"

#include <cstdint>
#include <string>
#include <vector>

namespace assasin {

/**
 * The contents of every NAND package of a board in one sparse file, mapped shared: what was programmed survives the
 * death of the process. A block takes file space from its first program on; of each page the part up to the last byte
 * that is not FFh on any page of the block. One process at a time may hold an image. What the contents do with time and
 * use is NandCells' matter, which keeps its state of dies, blocks and pages here.
 */
class NandImage {
  public:
    /**
     * Opens or creates an image. An empty path keeps the contents in memory only.
     * \throws std::runtime_error when another process holds it, or it belongs to another part, geometry or format
     */
    NandImage(const std::string &path, const PartFile &part, unsigned channels, unsigned ways);
    ~NandImage();
    NandImage(const NandImage &) = delete;
    NandImage &operator=(const NandImage &) = delete;

    /** A block of the board; `block` counts within the LUN, plane bits lowest. */
    struct BlockId {
        unsigned channel, way, lun, block;
    };

    /** How an operation that failed or was cut short left a block. */
    enum Flags : uint32_t {
        kHalfErased = 1,   ///< an erase did not get through
        kWeaklyErased = 2, ///< it reads blank, and holds badly what is programmed
        kWornOut = 4,      ///< programs and erases fail for good
    };

    struct Block {
        uint32_t segment; // place of the block's pages in the file, plus one; 0 = none yet
        uint32_t eraseCount;
        uint32_t nextPage;
        uint32_t stored; // bytes of each page in the file, the rest is FFh; 0 = all
        uint32_t reads;  // since the block's erase
        uint32_t flags;  // Flags
        uint32_t reserved[2];
    };
    static_assert(sizeof(Block) == 32, "the image's block table is a file format");

    enum PageState : uint32_t {
        kErased = 0,
        kProgrammed = 1,
        kWeak = 2, ///< reads right at first
        kTorn = 3,
    };

    struct Page {
        uint32_t state; // PageState
        uint32_t reads; // of the block when the page was programmed
        double hours;   // of the medium's clock when it was
    };
    static_assert(sizeof(Page) == 16, "the image's page table is a file format");

    static constexpr unsigned kMaxPlanes = 8;

    /** The die's operations, and the one under way: who opens the image after a death of the process finds it here. */
    struct Die {
        enum Kind : uint32_t { kNone, kProgram, kErase };
        uint64_t operations;
        uint32_t kind;
        uint32_t rows;            // that it works on
        uint32_t row[kMaxPlanes]; // block * pages a block + page
        uint32_t reserved[4];
    };
    static_assert(sizeof(Die) == 64, "the image's die table is a file format");

    /** Of the whole medium. */
    struct Medium {
        double hours;      // its clock
        uint64_t seed;     // what is fixed from the factory on follows from it
        double factoryBad; // share of its blocks
    };

    /** The page behind the last one that was programmed since the block's erase; 0 without one. */
    unsigned nextPage(const BlockId &id) const {
        return block(id).nextPage;
    }
    unsigned eraseCount(const BlockId &id) const {
        return block(id).eraseCount;
    }
    Block &block(const BlockId &id) const;
    Die &die(unsigned channel, unsigned way, unsigned lun) const;
    Medium &medium() const;

    /** A copy of a page's state; behind nextPage(id) that of an erased page. */
    Page page(const BlockId &id, unsigned page) const {
        const Block &b = block(id);
        return page < b.nextPage ? pages(b)[page] : Page{};
    }
    /** Of a page below nextPage(id), or that is prepared. */
    Page &pageState(const BlockId &id, unsigned page) const {
        return pages(block(id))[page];
    }

    unsigned channels() const {
        return channels_;
    }
    unsigned ways() const {
        return ways_;
    }

    /** Main and spare area of a page. Returns false when it is erased: all FFh. */
    bool read(const BlockId &id, unsigned page, uint8_t *raw) const;

    /**
     * Stores a page of a block, at or behind nextPage(id): parts take pages in ascending order, and may leave some out,
     * as a block of a multi-level part does that is used through its LSB pages alone. Those stay erased.
     */
    void program(const BlockId &id, unsigned page, const uint8_t *raw) {
        prepare(id, page, raw);
        commit(id, page);
    }
    /** program() in two steps: until the second the page counts as not programmed. */
    void prepare(const BlockId &id, unsigned page, const uint8_t *raw);
    void commit(const BlockId &id, unsigned page);
    /** What prepare() stored. */
    void prepared(const BlockId &id, unsigned page, uint8_t *raw) const {
        load(block(id), page, raw);
    }
    /** Changes a page below nextPage(id). */
    void rewrite(const BlockId &id, unsigned page, const uint8_t *raw);
    void erase(const BlockId &id);

  private:
    struct Header;

    uint8_t *segmentData(uint32_t segment) const;
    Page *pages(const Block &b) const {
        return reinterpret_cast<Page *>(segmentData(b.segment) + pagesBytes_);
    }
    unsigned storedBytes(const Block &b) const {
        return b.stored ? b.stored : geometry_.rawPageBytes();
    }
    void load(const Block &b, unsigned page, uint8_t *raw) const;
    void store(Block &b, unsigned page, const uint8_t *raw);
    /** Makes `bytes` of file space at `place` certain: a full disk would kill the process at the first write there. */
    void reserve(const uint8_t *place, unsigned bytes);
    /** Likewise in a block's segment, some pages ahead: asking for each costs more than writing it. */
    void reserveIn(const Block &b, const uint8_t *place, unsigned bytes);
    void growTo(uint64_t bytes);

    NandGeometry geometry_;
    unsigned channels_, ways_;
    uint64_t blocksOffset_ = 0;
    uint64_t pagesBytes_ = 0;   // of a block's pages
    uint64_t segmentBytes_ = 0; // and with their table
    uint64_t dataOffset_ = 0;
    uint64_t mappedBytes_ = 0;
    uint64_t fileBytes_ = 0;
    struct Reserved {
        uint64_t from = 0, to = 0;
    };
    std::vector<Reserved> reserved_; // of every segment: bytes of it that are certain
    int fd_ = -1;
    uint8_t *map_ = nullptr;
    std::string path_;
};

} // namespace assasin
