/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What may be on a drive, whatever board it is: for every block the versions that a read may still return.
 */
#pragma once

#include <cstdint>
#include <vector>

namespace torture {

constexpr uint32_t kBlockBytes = 4096;

/** Every command that changes blocks has a number of its own; with this bit it leaves zeros. */
constexpr uint32_t kZeros = 1u << 31;

/** What block `lba` holds in `version`: its first eight bytes say which, the others follow from them. */
void fill(uint32_t lba, uint32_t version, uint8_t *block);
/** The version that a block says that it holds, kZeros when it is blank. */
uint32_t versionOf(const uint8_t *block);
/** The block holds just that. */
bool holds(const uint8_t *block, uint32_t lba, uint32_t version);

/**
 * Keeps two lists of versions of every block: those that a read may return, and those that a loss of power may leave.
 * Without a write cache the lists are the same. A command is in flight from submit() to complete(); what was in flight
 * may have happened or not, block by block. Of commands in flight beside each other either may be the last.
 * Times count on and on; they only order the events.
 */
class Oracle {
  public:
    Oracle(uint32_t blocks, bool withCache);

    struct Version {
        uint32_t version;
        uint64_t submitted, completed; /**< completed: UINT64_MAX while in flight */
        bool won;                      /**< completed successfully: older ones are gone */
    };

    uint32_t blocks() const {
        return static_cast<uint32_t>(live.size());
    }
    bool cache() const {
        return cached;
    }
    /** Blocks from here on are zeros as well, and nobody has written them. */
    void grow(uint32_t blocks);
    void submit(uint32_t lba, uint32_t version, uint64_t now);
    /** \param durable not in a cache */
    void complete(uint32_t lba, uint32_t version, uint64_t now, bool ok, bool durable);
    /** A command that was in flight has certainly changed nothing. */
    void undone(uint32_t lba, uint32_t version);
    /** A flush that was submitted at `at` has completed: what had completed by then is on the medium. */
    void flushed(uint64_t at);
    /** Power is lost. */
    void cut();
    /** The cache is empty. */
    void durable();
    /** A read saw `version` while no write to the block was in flight: it is the only one from now on. */
    void settle(uint32_t lba, uint32_t version);
    bool inFlight(uint32_t lba) const;
    const std::vector<Version> &may(uint32_t lba) const {
        return live[lba];
    }

  private:
    std::vector<std::vector<Version>> live, left;
    bool cached;
};

} // namespace torture
