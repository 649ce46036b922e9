// SPDX-License-Identifier: BSD-3-Clause
#include "torture/oracle.h"

#include <algorithm>
#include <cstring>

namespace torture {

namespace {

using Version = Oracle::Version;

void ended(std::vector<Version> &versions, uint32_t version, uint64_t now, bool ok, bool alone) {
    uint64_t submitted = 0;
    for (Version &x : versions) {
        if (x.version == version) {
            x.completed = now;
            x.won = ok;
            submitted = x.submitted;
        }
    }
    if (alone) {
        std::erase_if(versions, [&](const Version &x) { return x.completed < submitted; });
    }
}

} // namespace

void fill(uint32_t lba, uint32_t version, uint8_t *block) {
    if (version & kZeros) {
        std::memset(block, 0, kBlockBytes);
        return;
    }
    /* Independent streams side by side, so that it costs little beside what is tested. */
    uint64_t head = static_cast<uint64_t>(lba) << 32 | version;
    uint64_t x = (head + 1) * 0x9e3779b97f4a7c15ull;
    std::memcpy(block, &head, 8);
    for (uint32_t i = 8; i < kBlockBytes; i += 8) {
        uint64_t word = (x + i) * 0xbf58476d1ce4e5b9ull;
        word ^= word >> 29;
        std::memcpy(block + i, &word, 8);
    }
}

uint32_t versionOf(const uint8_t *block) {
    uint64_t head;
    std::memcpy(&head, block, 8);
    return head == 0 ? kZeros : static_cast<uint32_t>(head);
}

bool holds(const uint8_t *block, uint32_t lba, uint32_t version) {
    uint8_t expected[kBlockBytes];
    fill(lba, version, expected);
    return std::memcmp(block, expected, kBlockBytes) == 0;
}

Oracle::Oracle(uint32_t blocks, bool withCache) : cached(withCache) {
    grow(blocks);
}

void Oracle::grow(uint32_t blocks) {
    if (blocks > live.size()) {
        live.resize(blocks, {Version{kZeros, 0, 0, true}});
        left.resize(blocks, {Version{kZeros, 0, 0, true}});
    }
}

void Oracle::submit(uint32_t lba, uint32_t version, uint64_t now) {
    live[lba].push_back({version, now, UINT64_MAX, false});
    left[lba].push_back({version, now, UINT64_MAX, false});
}

void Oracle::complete(uint32_t lba, uint32_t version, uint64_t now, bool ok, bool durable) {
    ended(live[lba], version, now, ok, ok);
    ended(left[lba], version, now, ok, ok && (durable || !cached));
}

void Oracle::undone(uint32_t lba, uint32_t version) {
    for (auto *versions : {&live[lba], &left[lba]}) {
        std::erase_if(*versions, [&](const Version &x) { return x.version == version; });
    }
}

void Oracle::flushed(uint64_t at) {
    for (auto &versions : left) {
        uint64_t newest = 0;
        for (const Version &x : versions) {
            newest = x.won && x.completed < at ? std::max(newest, x.submitted) : newest;
        }
        std::erase_if(versions, [&](const Version &x) { return x.completed < newest; });
    }
}

void Oracle::cut() {
    live = left;
}

void Oracle::durable() {
    left = live;
}

void Oracle::settle(uint32_t lba, uint32_t version) {
    std::erase_if(live[lba], [&](const Version &x) { return x.version != version; });
}

bool Oracle::inFlight(uint32_t lba) const {
    return std::any_of(live[lba].begin(), live[lba].end(), [](const Version &x) { return x.completed == UINT64_MAX; });
}

} // namespace torture
