// SPDX-License-Identifier: BSD-3-Clause
#include "torture/load.h"

#include <algorithm>
#include <cstdio>

namespace torture {

namespace {

enum Status : uint16_t {
    kOk = 0,
    kInternal = 6,
    kAborted = 7,
    kReadOnly = 0x182,
    kNoRoom = 0x81,
    kWriteFault = 0x280,
    kReadError = 0x281
};

std::string hex(uint32_t v) {
    char s[16];
    snprintf(s, sizeof s, "%xh", v);
    return s;
}

std::string text(const Command &c) {
    static const char *const kNames[] = {"read",    "write",  "deallocation", "Write Zeroes", "Flush",
                                         "offload", "Format", "reset",        "wait",         "idle"};
    std::string s = kNames[c.kind];
    return c.kind <= Command::Zeroes || c.kind == Command::Offload
               ? s + " of " + std::to_string(c.blocks) + " blocks from " + std::to_string(c.lba)
               : s;
}

std::string name(uint32_t version) {
    return version & kZeros ? "zeros" : "version " + std::to_string(version);
}

} // namespace

const char *nameOf(Failure::Kind kind) {
    return kind == Failure::Lost ? "lost" : kind == Failure::Unbootable ? "unbootable" : "rule";
}

Load::Load(Host &drive, History &history, uint32_t seed) : host(drive), h(history), rng(seed) {
    h.oracle->grow(std::min(host.capacity(), h.blocks));
}

void Load::verify() {
    const Oracle &o = *h.oracle;
    auto asked = [&](uint32_t lba) {
        return o.may(lba).size() > 1 || o.may(lba)[0].version != kZeros || rng() % 16 == 0;
    };
    seen.clear();
    before.clear();
    verifying = true;
    for (uint32_t lba = 0; lba < o.blocks();) {
        if (!asked(lba)) {
            lba++;
            continue;
        }
        uint32_t n = 1;
        while (n < 32 && lba + n < o.blocks() && asked(lba + n)) {
            n++;
        }
        start({Command::Read, lba, n, false});
        if (flying.size() >= 4) {
            step();
        }
        lba += n;
    }
    drain();
    verifying = false;
    for (const History::Whole &w : h.wholes) {
        checkWhole(w);
    }
    h.wholes.clear();
    /* What the medium holds behind a cut, it holds from then on. */
    h.oracle->durable();
}

void Load::run(const Life &life) {
    uint32_t most = h.oracle->blocks();
    for (const Command &c : life.commands) {
        if (c.kind == Command::Reset) {
            host.reset();
            lost(false);
            continue;
        }
        if (c.kind == Command::Wait || c.kind == Command::Format) {
            drain();
        }
        if (c.kind == Command::Idle) {
            host.idle(uint64_t{c.blocks} * 1000);
            continue;
        }
        if (c.kind == Command::Wait || c.lba + c.blocks > most) {
            continue;
        }
        while (flying.size() >= life.depth || (c.kind == Command::Offload && offloading)) {
            step();
        }
        start(c);
        if (c.kind == Command::Format) {
            drain();
        }
    }
    drain();
}

void Load::lost(bool power) {
    for (auto &[id, f] : flying) {
        if (!f.command.changes()) {
            continue;
        }
        uint32_t first = f.command.kind == Command::Format ? 0 : f.command.lba;
        uint32_t n = f.command.kind == Command::Format ? h.oracle->blocks() : f.command.blocks;
        for (uint32_t i = 0; i < n; i++) {
            h.oracle->complete(first + i, f.version, h.events, false, false);
        }
        if (f.command.kind == Command::Format || f.command.kind == Command::Offload) {
            h.wholes.push_back({f.version, first, n});
        }
    }
    flying.clear();
    offloading = false;
    h.events++;
    if (power) {
        h.oracle->cut();
    }
}

void Load::checkWhole(const History::Whole &w) const {
    uint32_t there = 0, told = 0;
    for (uint32_t lba = w.lba; lba < w.lba + w.blocks; lba++) {
        auto s = before.find(lba);
        if (s == before.end() || !seen.contains(lba)) {
            continue;
        }
        /* A newer write of the block says nothing of this one. */
        uint32_t is = seen.at(lba);
        auto newer = [&](uint32_t v) {
            return (v & ~kZeros) > (w.version & ~kZeros) && (v == is || (v & is & kZeros) != 0);
        };
        if (std::any_of(s->second.begin(), s->second.end(), newer)) {
            continue;
        }
        /* Where it can be told from what was there before. */
        bool zeros = (w.version & kZeros) != 0;
        bool other = std::any_of(s->second.begin(), s->second.end(),
                                 [&](uint32_t v) { return v != w.version && (v & kZeros) && zeros; });
        told += !other;
        there += !other && (zeros ? (is & kZeros) != 0 : is == w.version);
    }
    if (there != 0 && there != told) {
        throw Failure(Failure::Rule, (w.version & kZeros ? "a Format" : "an offload") +
                                         std::string(" that power loss met has changed ") + std::to_string(there) +
                                         " of " + std::to_string(told) + " blocks");
    }
}

void Load::start(const Command &c) {
    Flying f{c, 0, h.events++, {}, {}};
    std::vector<uint8_t> data;
    if (c.changes()) {
        bool zeros = c.kind != Command::Write && c.kind != Command::Offload;
        f.version = ++h.number | (zeros ? kZeros : 0);
        bool format = c.kind == Command::Format;
        uint32_t first = format ? 0 : c.lba, n = format ? h.oracle->blocks() : c.blocks;
        for (uint32_t lba = first; lba < first + n; lba++) {
            h.oracle->submit(lba, f.version, f.submitted);
            for (auto &[id, r] : flying) {
                if (r.command.kind == Command::Read && lba >= r.command.lba && lba < r.command.lba + r.command.blocks) {
                    r.allowed[lba - r.command.lba].push_back(f.version);
                    r.calm[lba - r.command.lba] = false;
                }
            }
        }
        if (!zeros) {
            data.resize(size_t{c.blocks} * kBlockBytes);
            for (uint32_t i = 0; i < c.blocks; i++) {
                fill(c.lba + i, f.version, &data[size_t{i} * kBlockBytes]);
            }
        }
        offloading |= c.kind == Command::Offload;
    } else if (c.kind == Command::Read) {
        for (uint32_t i = 0; i < c.blocks; i++) {
            std::vector<uint32_t> may;
            for (const Oracle::Version &v : h.oracle->may(c.lba + i)) {
                may.push_back(v.version);
            }
            f.allowed.push_back(std::move(may));
            f.calm.push_back(!h.oracle->inFlight(c.lba + i));
        }
    }
    h.commands++;
    uint32_t id = host.submit(c, data);
    flying.emplace(id, std::move(f));
}

void Load::step() {
    std::vector<Host::Ended> ended = host.wait();
    h.events++;
    for (const Host::Ended &e : ended) {
        auto it = flying.find(e.id);
        if (it == flying.end()) {
            throw Failure(Failure::Rule, "a completion for a command that is not in flight");
        }
        Flying f = std::move(it->second);
        flying.erase(it);
        finish(f, e);
    }
    h.events++;
}

void Load::drain() {
    while (!flying.empty()) {
        step();
    }
}

void Load::finish(const Flying &f, const Host::Ended &e) {
    const Command &c = f.command;
    bool ok = e.status == kOk;
    bool refused = c.changes() && (e.status == kReadOnly || e.status == kNoRoom);
    bool aborted = c.kind == Command::Offload && e.status == kAborted;
    bool fault = h.faults && (e.status == kWriteFault || (c.kind == Command::Format && e.status == kInternal));
    if (c.kind == Command::Read) {
        finishRead(f, e);
        return;
    }
    if ((!ok && !refused && !fault && !aborted) || (refused && h.room && !h.faults)) {
        throw Failure(Failure::Rule, text(c) + " ends with status " + hex(e.status));
    }
    h.refused += refused;
    if (c.kind == Command::Flush) {
        if (ok) {
            h.oracle->flushed(f.submitted);
        }
        return;
    }
    bool format = c.kind == Command::Format;
    uint32_t first = format ? 0 : c.lba, n = format ? h.oracle->blocks() : c.blocks;
    offloading = offloading && c.kind != Command::Offload;
    for (uint32_t lba = first; lba < first + n; lba++) {
        if (c.kind == Command::Offload && !ok) {
            h.oracle->undone(lba, f.version);
        } else {
            h.oracle->complete(lba, f.version, h.events, ok, c.fua || c.kind != Command::Write);
        }
    }
}

bool Load::versionLost(uint32_t lba, const std::vector<uint32_t> &versions) {
    return std::any_of(versions.begin(), versions.end(),
                       [&](uint32_t v) { return !(v & kZeros) && host.gone(lba, v); });
}

void Load::unreadable(const Flying &f, uint16_t status) {
    const Command &c = f.command;
    std::string why = text(c) + " ends with status " + hex(status);
    if (status != kReadError) {
        throw Failure(Failure::Lost, why);
    }
    for (uint32_t i = 0; i < c.blocks; i++) {
        /* What the drive holds as deallocated it need not read. */
        bool zeros = std::any_of(f.allowed[i].begin(), f.allowed[i].end(), [](uint32_t v) { return v & kZeros; });
        std::optional<bool> there = zeros ? true : host.onMedium(c.lba + i, f.allowed[i]);
        if (h.fades && ((there && !*there) || versionLost(c.lba + i, f.allowed[i]))) {
            /* Other blocks of the command are read by other commands. */
            h.faded++;
            return;
        }
        why += there && !*there ? ", and the medium does not hold block " + std::to_string(c.lba + i) : "";
    }
    throw Failure(Failure::Lost, why);
}

void Load::finishRead(const Flying &f, const Host::Ended &e) {
    if (e.status != kOk) {
        unreadable(f, e.status);
        return;
    }
    for (uint32_t i = 0; i < f.command.blocks; i++) {
        const uint8_t *block = &e.data[size_t{i} * kBlockBytes];
        uint32_t lba = f.command.lba + i, got = versionOf(block);
        /* Of several that are zeros the newest stands for all. */
        uint32_t match = 0;
        for (uint32_t v : f.allowed[i]) {
            if (v == got || (v & kZeros && got & kZeros)) {
                match = v;
            }
        }
        if (match == 0) {
            std::string may;
            for (uint32_t v : f.allowed[i]) {
                may += (may.empty() ? "" : ", ") + name(v);
            }
            throw Failure(Failure::Lost,
                          "block " + std::to_string(lba) + " reads as " + name(got) + ", and may hold " + may);
        }
        if (!holds(block, lba, match)) {
            throw Failure(Failure::Lost,
                          "block " + std::to_string(lba) + " begins as " + name(match) + " and goes on otherwise");
        }
        h.reads++;
        if (verifying) {
            seen[lba] = match;
            before[lba] = f.allowed[i];
        }
        if (f.calm[i] && !h.oracle->inFlight(lba)) {
            h.oracle->settle(lba, match);
        }
    }
}

} // namespace torture
