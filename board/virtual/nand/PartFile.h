// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "Reliability.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace assasin {

/** Sizes of one chip enable. Counts are powers of two, but for blocks. */
struct NandGeometry {
    unsigned luns = 0;
    unsigned planes = 0;
    unsigned blocksPerPlane = 0;
    unsigned pagesPerBlock = 0;
    unsigned pageBytes = 0;
    unsigned spareBytes = 0;

    unsigned blocksPerLun() const {
        return planes * blocksPerPlane;
    }
    unsigned rawPageBytes() const {
        return pageBytes + spareBytes;
    }
    unsigned pageBits() const;  ///< PB of the row address
    unsigned planeBits() const; ///< PL of the row address
    unsigned lunShift() const;  ///< lowest LUN bit of the row address: above what the highest block number needs
    bool operator==(const NandGeometry &other) const;
    std::string text() const;
};

/** Array busy times in nanoseconds. */
struct NandArrayTimes {
    uint64_t tR = 0;
    uint64_t tPROG = 0;
    uint64_t tBERS = 0;
    uint64_t tRST = 0;
    uint64_t tFEAT = 0;
};

/** Bus timing in nanoseconds; `beatPs` in picoseconds. */
struct NandBusTimes {
    unsigned tWC = 0;
    unsigned tCS = 0;
    unsigned tWB = 0;
    unsigned tRR = 0;
    unsigned tRPRE = 0; ///< preamble + DQS output delay
    unsigned tPST = 0;
    unsigned tWHR = 0;
    unsigned tADL = 0;
    unsigned tCCS = 0;
    unsigned beatPs = 0;
};

/** A part file (board/virtual/parts/<name>.toml) and the parameter page that follows from it, see README.md. */
struct PartFile {
    std::string name;
    std::string manufacturer;
    std::vector<uint8_t> id;
    unsigned bitsPerCell = 1;
    NandGeometry geometry;
    NandArrayTimes array;
    NandBusTimes nvddr2;
    unsigned timingMode = 0;                           ///< fastest NV-DDR2 mode
    std::vector<std::pair<uint8_t, uint8_t>> features; ///< address and P1 that NV-DDR2 needs to be set before
    bool differential = true;                          ///< the part has DQS_c and RE_c, which feature 02h turns on
    bool externalVref = false;  ///< and needs the external VREFQ, likewise, for 200 MT/s and more
    bool cacheCommands = false; ///< 15h, 31h and 3Fh
    bool timingBlock = true;    ///< the parameter page has the vendor block of exact times
    Reliability reliability;    ///< a perfect medium where the file says nothing

    static constexpr unsigned kParameterPageBytes = 256;
    static constexpr unsigned kParameterPageCopies = 3;

    /** Reads a part file. \throws std::runtime_error naming the file, the item and the legal range. */
    static PartFile load(const std::string &path);

    /** One copy of the ONFI parameter page, CRC included. */
    std::array<uint8_t, kParameterPageBytes> parameterPage() const;

    /** CRC-16 of ONFI: polynomial 8005h, start 4F4Eh, most significant bit first. */
    static uint16_t crc16(const uint8_t *data, size_t bytes);

    /** Bus timing of SDR mode 0..5 (ONFI 4.0, table of SDR timing). */
    static NandBusTimes sdr(unsigned mode);
};

} // namespace assasin
