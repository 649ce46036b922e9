#pragma once

#include "PartFile.h"

#include <cstdint>
#include <string>

namespace assasin {

/**
 * The contents of every NAND package of a board in one sparse file, mapped shared: what was programmed survives the
 * death of the process. A block takes file space from its first program on; of each page the part up to the last byte
 * that is not FFh on any page of the block. One process at a time may hold an image.
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

    /** The page behind the last one that was programmed since the block's erase; 0 without one. */
    unsigned nextPage(const BlockId &id) const {
        return entry(id).nextPage;
    }
    unsigned eraseCount(const BlockId &id) const {
        return entry(id).eraseCount;
    }

    /** Main and spare area of a page. Returns false when it is erased: all FFh. */
    bool read(const BlockId &id, unsigned page, uint8_t *raw) const;

    /**
     * Stores a page of a block, at or behind nextPage(id): parts take pages in ascending order, and may leave some out,
     * as a block of a multi-level part does that is used through its LSB pages alone. Those stay erased.
     */
    void program(const BlockId &id, unsigned page, const uint8_t *raw);
    void erase(const BlockId &id);

  private:
    struct Header;
    struct Entry {
        uint32_t segment; // place of the block's pages in the file, plus one; 0 = none yet
        uint32_t eraseCount;
        uint32_t nextPage;
        uint32_t stored; // bytes of each page in the file, the rest is FFh; 0 = all
    };
    static_assert(sizeof(Entry) == 16, "the image's block table is a file format");

    Entry &entry(const BlockId &id) const;
    uint8_t *segmentData(uint32_t segment) const;
    unsigned storedBytes(const Entry &e) const {
        return e.stored ? e.stored : geometry_.rawPageBytes();
    }
    /** Makes `bytes` of file space at `place` certain: a full disk would kill the process at the first write there. */
    void reserve(const uint8_t *place, unsigned bytes);
    void growTo(uint64_t bytes);

    NandGeometry geometry_;
    unsigned ways_;
    uint64_t segmentBytes_ = 0;
    uint64_t dataOffset_ = 0;
    uint64_t mappedBytes_ = 0;
    uint64_t fileBytes_ = 0;
    int fd_ = -1;
    uint8_t *map_ = nullptr;
    std::string path_;
};

} // namespace assasin
