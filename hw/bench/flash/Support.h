// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "FlashBench.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace flashbench {

/** Core `core`, or the one that a channel-local channel reaches. */
constexpr unsigned anyCore(unsigned core) {
    return kLocal ? kNumber : core;
}

/** A package with two LUNs and two planes, small and quick; bus timing as in the paper's part. Pages of one sector. */
inline assasin::PartFile testPart() {
    assasin::PartFile part;
    part.name = "BENCH-2L2P";
    part.manufacturer = "ASSASIN";
    part.id = {0x2C, 0x64, 0x44, 0x4B, 0xA9, 0, 0, 0x5A};
    part.geometry = {2, 2, 8, 16, 4096, 224};
    part.array = {4000, 9000, 12000, 3000, 1000};
    part.nvddr2 = {25, 20, 100, 20, 30, 21, 80, 70, 300, 977};
    part.timingMode = 8;
    return part;
}

/** The same with pages of four sectors. */
inline assasin::PartFile largePart() {
    assasin::PartFile part = testPart();
    part.name = "BENCH-16K";
    part.geometry.pageBytes = 16384;
    part.geometry.spareBytes = 1664;
    return part;
}

inline assasin::PartFile paperPart() {
    assasin::PartFile part = assasin::PartFile::load(std::string(FLASH_PARTS) + "/paper-mlc.toml");
    part.geometry.blocksPerPlane = 64; // the image of a bench stays small
    return part;
}

inline uint64_t seed() {
    static const uint64_t value = [] {
        const char *text = std::getenv("FLASH_SEED");
        uint64_t s = text ? std::strtoull(text, nullptr, 0) : std::random_device{}();
        std::printf("FLASH_SEED=%llu\n", static_cast<unsigned long long>(s));
        return s;
    }();
    return value;
}

inline Descriptor make(unsigned op, unsigned way, uint32_t w1 = 0, uint32_t w2 = 0, uint32_t bytes = 0) {
    Descriptor d;
    d.op = op;
    d.way = way;
    d.w1 = w1;
    d.w2 = w2;
    d.bytes = bytes;
    return d;
}

inline unsigned erase(FlashBench &b, unsigned way, uint32_t address) {
    return b.execute(make(FLASH_OP_ERASE, way, address)).status;
}

inline Completion program(FlashBench &b, unsigned way, uint32_t address, const std::vector<uint8_t> &data,
                          uint32_t oob0 = 0, uint32_t oob1 = 0, unsigned confirm = FLASH_CONFIRM_PAGE) {
    b.fillDram(kDramBase, data);
    Descriptor d = make(FLASH_OP_PROGRAM, way, address, kDramBase, data.size());
    d.oob0 = oob0;
    d.oob1 = oob1;
    d.confirm = confirm;
    return b.execute(d);
}

/** Where reads to DRAM go. */
constexpr uint32_t kReadBuffer = kDramBase + 0x100000;

inline Completion read(FlashBench &b, unsigned way, uint32_t address, unsigned bytes = kSector) {
    return b.execute(make(FLASH_OP_READ, way, address, kReadBuffer, bytes));
}

/** What the codec makes of a sector's data and OOB words. */
inline std::vector<uint8_t> encoded(const FlashBench &b, uint32_t address, std::vector<uint8_t> data, uint32_t oob0,
                                    uint32_t oob1) {
    data.resize(kSector, 0xFF);
    std::vector<uint8_t> raw(b.codec->sectorBytes());
    b.codec->encode(address, b.setting, data.data(), oob0, oob1, raw.data());
    return raw;
}

} // namespace flashbench
