// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Commands that several of the NVMe tests give.
 */
#pragma once

#include "tests/harness.h"

namespace admin {

using namespace harness;

constexpr uint32_t kMemory = 2, kCompute = 3, kAll = 0xffffffff;

inline uint64_t get64(const std::vector<uint8_t> &v, size_t at) {
    uint64_t x;
    std::memcpy(&x, &v[at], 8);
    return x;
}

inline std::vector<uint8_t> logPage(Drive &d, uint32_t lid, uint32_t bytes, bool retain = false, uint32_t nsid = kAll) {
    Sqe s = Drive::sqe(0x02, nsid);
    s[10] = lid | (bytes / 4 - 1) << 16 | (retain ? 1u << 15 : 0);
    Buffer b = d.buffer(bytes);
    Drive::setPrp(s, b);
    CHECK_EQ(d.exec(0, s).status, kOk);
    return d.get(b);
}

inline uint16_t setFeature(Drive &d, uint32_t id, uint32_t v, uint32_t nsid = 0) {
    Sqe s = Drive::sqe(0x09, nsid);
    s[10] = id;
    s[11] = v;
    return d.exec(0, s).status;
}

inline std::vector<uint8_t> identify(Drive &d, uint32_t cns, uint32_t nsid, uint32_t csi = 0, uint16_t status = kOk) {
    Sqe s = Drive::sqe(0x06, nsid);
    s[10] = cns;
    s[11] = csi << 24;
    Buffer b = d.buffer(4096);
    Drive::setPrp(s, b);
    CHECK_EQ(d.exec(0, s).status, status);
    return d.get(b);
}

/** An I/O command of `count` blocks. */
inline Sqe blocks(uint8_t opcode, uint32_t lba, uint32_t count) {
    Sqe s = Drive::sqe(opcode, 1);
    s[10] = lba;
    s[12] = count - 1;
    return s;
}

/** A command with data to the drive. */
inline model::Completion give(Drive &d, uint32_t queue, Sqe s, const std::vector<uint8_t> &data, uint32_t offset = 0) {
    Buffer b = d.buffer(static_cast<uint32_t>(data.size()), offset, true);
    d.put(b, data.data());
    Drive::setPrp(s, b);
    return d.exec(queue, s);
}

} // namespace admin
