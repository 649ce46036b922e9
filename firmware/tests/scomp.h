/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Helpers of the tests of stream functions: ELF files for the model's kernels, requests, results.
 */
#pragma once

#include "tests/harness.h"

namespace scomp {

using namespace harness;

struct Segment {
    uint32_t vaddr;
    std::vector<uint8_t> data;
    uint32_t memsz;
};

/** An ELF32 file; `align` of segment data in the file. */
inline std::vector<uint8_t> elf(const std::vector<Segment> &segments, uint32_t entry = 0, uint32_t align = 64) {
    std::vector<uint8_t> f(52 + 32 * segments.size());
    auto put = [&](size_t at, uint32_t v, int n) {
        for (int i = 0; i < n; i++) {
            f[at + i] = static_cast<uint8_t>(v >> (8 * i));
        }
    };
    put(0, 0x464c457f, 4);
    put(4, 0x00010101, 4);
    put(16, 2, 2);
    put(18, 243, 2);
    put(20, 1, 4);
    put(24, entry, 4);
    put(28, 52, 4);
    put(40, 52, 2);
    put(42, 32, 2);
    put(44, static_cast<uint32_t>(segments.size()), 2);
    for (size_t i = 0; i < segments.size(); i++) {
        while (f.size() % 64 != align % 64) {
            f.push_back(0xcc);
        }
        size_t p = 52 + 32 * i;
        put(p, 1, 4);
        put(p + 4, static_cast<uint32_t>(f.size()), 4);
        put(p + 8, segments[i].vaddr, 4);
        put(p + 16, static_cast<uint32_t>(segments[i].data.size()), 4);
        put(p + 20, segments[i].memsz, 4);
        f.insert(f.end(), segments[i].data.begin(), segments[i].data.end());
    }
    return f;
}

inline std::vector<uint8_t> kernelElf(uint32_t kernel, uint32_t align = 64) {
    std::vector<uint8_t> code(32, 0x13);
    std::memcpy(code.data(), &kernel, 4);
    std::vector<uint8_t> data(45);
    for (size_t i = 0; i < data.size(); i++) {
        data[i] = static_cast<uint8_t>(i + 1);
    }
    return elf({{0, code, 32}, {ASSASIN_CORE_SPAD_BASE + SCOMP_SPAD_DATA, data, 0x7000}}, 0, align);
}

/** Load a function, which jobs of the same owner name `slot`. */
inline model::Completion load(Drive &d, uint16_t slot, const std::vector<uint8_t> &file) {
    Buffer b = d.buffer(static_cast<uint32_t>(file.size()), 0, true);
    d.put(b, file.data());
    Sqe s = Drive::sqe(0xc1);
    Drive::setPrp(s, b);
    s[11] = static_cast<uint32_t>(file.size());
    auto c = d.exec(0, s);
    if (c.status == kOk) {
        d.owner.functions[slot] = static_cast<uint16_t>(c.dw0);
    }
    return c;
}

/** `request` with the names that the drive has given where it has the owner's own. */
inline std::vector<uint8_t> named(const Drive &d, std::vector<uint8_t> request) {
    scomp_request r;
    std::memcpy(&r, request.data(), std::min(sizeof r, request.size()));
    auto name = [&](uint16_t func) {
        auto it = d.owner.functions.find(func);
        return it != d.owner.functions.end() ? it->second : func;
    };
    auto put = [&](size_t at, uint16_t func) {
        func = name(func);
        if (at + 2 <= request.size()) {
            std::memcpy(&request[at], &func, 2);
        }
    };
    if (r.nodes == 0) {
        put(offsetof(scomp_request, func), r.func);
    }
    for (uint32_t n = 0; n < r.nodes; n++) {
        size_t at = sizeof r + (r.args_bytes + 7) / 8 * 8 + n * sizeof(scomp_node);
        scomp_node node;
        if (at + sizeof node <= request.size()) {
            std::memcpy(&node, &request[at], sizeof node);
            put(at, node.func);
        }
    }
    return request;
}

struct Extent {
    uint64_t lba;
    uint32_t count;
};
struct Stream {
    std::vector<Extent> extents;
    uint64_t bytes;
};
struct Piece {
    std::vector<Stream> streams;
    std::vector<std::vector<Extent>> outs = {}; /**< with Job.outTable: blocks of every output, or none */
};

struct Job {
    uint16_t func = 0;
    uint8_t out = 1;
    uint8_t sLog2 = 0xff;
    std::vector<uint8_t> args;
    uint32_t maxCores = 0, watchdog = 0;
    std::vector<Piece> pieces;
    std::vector<scomp_node> nodes;
    std::vector<scomp_edge> edges;
    uint32_t flags = 0;
    uint16_t version = SCOMP_VERSION;
};

inline std::vector<uint8_t> encode(const Job &j) {
    scomp_request r{};
    r.magic = SCOMP_MAGIC;
    r.version = j.version;
    r.flags = j.flags;
    r.nodes = static_cast<uint8_t>(j.nodes.size());
    r.edges = static_cast<uint8_t>(j.edges.size());
    r.func = j.func;
    r.streams_in = static_cast<uint8_t>(j.pieces[0].streams.size());
    r.streams_out = j.out;
    r.s_log2 = j.sLog2;
    r.pieces = static_cast<uint32_t>(j.pieces.size());
    r.args_bytes = static_cast<uint32_t>(j.args.size());
    r.max_cores = j.maxCores;
    r.watchdog_kcycles = j.watchdog;
    std::vector<scomp_stream> streams;
    std::vector<scomp_extent> extents;
    auto add = [&](const std::vector<Extent> &list, uint64_t bytes) {
        uint32_t first = list.empty() ? 0 : static_cast<uint32_t>(extents.size());
        streams.push_back({first, static_cast<uint32_t>(list.size()), bytes});
        for (const Extent &e : list) {
            extents.push_back({e.lba, e.count, 0});
        }
    };
    for (const Piece &p : j.pieces) {
        for (const Stream &s : p.streams) {
            add(s.extents, s.bytes);
        }
    }
    if (j.flags & SCOMP_FLAG_OUT_TABLE) {
        for (const Piece &p : j.pieces) {
            CHECK_EQ(p.outs.size(), j.out);
            for (const auto &o : p.outs) {
                add(o, 0);
            }
        }
    }
    r.extents = static_cast<uint32_t>(extents.size());
    std::vector<uint8_t> v(reinterpret_cast<uint8_t *>(&r), reinterpret_cast<uint8_t *>(&r) + sizeof r);
    v.insert(v.end(), j.args.begin(), j.args.end());
    auto pad = [&] {
        while (v.size() % 8 != 0) {
            v.push_back(0);
        }
    };
    pad();
    for (const scomp_node &n : j.nodes) {
        v.insert(v.end(), reinterpret_cast<const uint8_t *>(&n), reinterpret_cast<const uint8_t *>(&n) + sizeof n);
    }
    for (const scomp_edge &e : j.edges) {
        v.insert(v.end(), reinterpret_cast<const uint8_t *>(&e), reinterpret_cast<const uint8_t *>(&e) + sizeof e);
    }
    pad();
    v.insert(v.end(), reinterpret_cast<uint8_t *>(streams.data()),
             reinterpret_cast<uint8_t *>(streams.data() + streams.size()));
    v.insert(v.end(), reinterpret_cast<uint8_t *>(extents.data()),
             reinterpret_cast<uint8_t *>(extents.data() + extents.size()));
    return v;
}

inline uint16_t submitExec(Drive &d, uint32_t handle, const std::vector<uint8_t> &request, uint32_t q = 1) {
    Buffer b = d.buffer(static_cast<uint32_t>(request.size()));
    d.put(b, named(d, request).data());
    Sqe s = Drive::sqe(0xc1, 1);
    Drive::setPrp(s, b);
    s[10] = handle;
    s[12] = static_cast<uint32_t>(request.size());
    return d.submit(q, s);
}

struct PieceResult {
    std::map<uint32_t, std::vector<uint8_t>> out;
    std::vector<std::pair<scomp_chunk, scomp_report>> nodes;
    bool ended = false;
    scomp_chunk last{};
    scomp_report report{};
};

/** Add the chunks of `n` bytes to the results. */
inline void parse(const std::vector<uint8_t> &data, uint32_t n, std::map<uint32_t, PieceResult> &results) {
    for (uint32_t at = 0; at < n;) {
        scomp_chunk h;
        std::memcpy(&h, &data[at], sizeof h);
        CHECK_EQ(h.magic, SCOMP_CHUNK_MAGIC);
        CHECK(at + sizeof h + h.bytes <= n);
        PieceResult &r = results[h.piece];
        CHECK(!r.ended);
        if (h.flags != 0) {
            CHECK_EQ(h.bytes, sizeof(scomp_report));
            scomp_report report;
            std::memcpy(&report, &data[at + sizeof h], sizeof report);
            if (h.flags == SCOMP_CHUNK_FLAG_NODE) {
                CHECK_EQ(report.node, r.nodes.size());
                r.nodes.push_back({h, report});
            } else {
                CHECK_EQ(h.flags, SCOMP_CHUNK_FLAG_LAST);
                r.report = report;
                r.ended = true;
                r.last = h;
            }
        } else {
            CHECK(r.nodes.empty());
            auto &o = r.out[h.stream];
            CHECK_EQ(h.position, o.size());
            o.insert(o.end(), &data[at + sizeof h], &data[at + sizeof h] + h.bytes);
        }
        at += static_cast<uint32_t>(sizeof h) + (h.bytes + 63) / 64 * 64;
    }
}

inline Sqe readSqe(const Buffer &b, uint32_t handle) {
    Sqe s = Drive::sqe(0xc2, 1);
    Drive::setPrp(s, b);
    s[10] = handle;
    s[12] = b.bytes;
    return s;
}

/** Read results until the last chunk. */
inline std::map<uint32_t, PieceResult> collect(Drive &d, uint32_t handle, uint32_t bytes = 65536, uint32_t q = 2) {
    std::map<uint32_t, PieceResult> results;
    for (bool more = true; more;) {
        Buffer b = d.buffer(bytes);
        auto c = d.exec(q, readSqe(b, handle));
        CHECK_EQ(c.status, kOk);
        more = (c.dw0 >> 31) == 0;
        uint32_t n = c.dw0 & 0x7fffffff;
        CHECK(n <= bytes && n > 0);
        parse(d.get(b), n, results);
    }
    return results;
}

inline Sqe feedSqe(const Buffer &b, uint16_t handle, uint32_t piece, uint32_t stream) {
    Sqe s = Drive::sqe(SCOMP_OPCODE_IO_FEED, 1);
    Drive::setPrp(s, b);
    s[10] = handle;
    s[11] = piece | stream << 16;
    s[12] = b.bytes;
    return s;
}

inline Sqe abortSqe(uint32_t handle) {
    Sqe s = Drive::sqe(0xc0, 1);
    s[10] = handle;
    return s;
}

/** What the host gives, by piece and stream. */
using Feeds = std::map<std::pair<uint32_t, uint32_t>, std::vector<uint8_t>>;

/** A request under way: feeds and reads go on while `poll` is called. */
class Session {
  public:
    Session(Drive &drive, const Job &j, Feeds f, uint16_t h = 9, uint32_t readBytes = 65536)
        : d(drive), feeds(std::move(f)), handle(h), bytes(readBytes) {
        exec = d.submit(1, [&] {
            auto v = named(drive, encode(j));
            Buffer b = d.buffer(static_cast<uint32_t>(v.size()), 0, drive.dev.rng() % 2);
            d.put(b, v.data());
            Sqe s = Drive::sqe(0xc1, 1);
            Drive::setPrp(s, b);
            s[10] = handle;
            s[12] = static_cast<uint32_t>(v.size());
            return s;
        }());
    }
    std::map<uint32_t, PieceResult> results;
    model::Completion done{};
    uint64_t fed = 0; /**< bytes that the drive has taken */
    uint32_t maxFeed = 131072;

    /** True when all has ended. */
    bool poll() {
        if (!ended) {
            if (auto c = d.take(1, exec)) {
                done = *c;
                ended = true;
                refused = done.status != kOk;
            }
        }
        for (auto it = flying.begin(); it != flying.end();) {
            auto c = d.take(1, it->cid);
            if (!c) {
                ++it;
                continue;
            }
            /* The handle may go before the feeds do, when the request ends early. */
            CHECK(c->status == kOk || c->status == kBadHandle);
            CHECK(c->dw0 <= it->buffer.bytes);
            fed += c->dw0;
            inFlight[it->key]--;
            if (c->dw0 < it->buffer.bytes) {
                feeds.erase(it->key);
            }
            it = flying.erase(it);
        }
        for (auto &[key, data] : feeds) {
            size_t &at = given[key];
            while (!refused && at < data.size() && inFlight[key] < 2 && flying.size() < 20) {
                uint32_t n = static_cast<uint32_t>(std::min<size_t>(1 + d.dev.rng() % maxFeed, data.size() - at));
                Buffer b = d.buffer(n, d.dev.rng() % 2 * (d.dev.rng() % 1024) * 4, d.dev.rng() % 4 == 0);
                d.put(b, &data[at]);
                flying.push_back({d.submit(1, feedSqe(b, handle, key.first, key.second)), key, b});
                inFlight[key]++;
                at += n;
            }
        }
        if (!reading && !last && !refused) {
            buffer = d.buffer(bytes);
            reader = d.submit(2, readSqe(buffer, handle));
            reading = true;
        }
        if (reading) {
            if (auto c = d.take(2, reader)) {
                reading = false;
                if (c->status == kOk) {
                    last = c->dw0 >> 31;
                    parse(d.get(buffer), c->dw0 & 0x7fffffff, results);
                } else {
                    CHECK_EQ(c->status, kBadHandle);
                    last = ended && refused;
                }
            }
        }
        return ended && (refused || last) && !reading && flying.empty();
    }
    void run(uint64_t limit = 20'000'000) {
        d.run([&] { return poll(); }, limit);
    }

  private:
    struct Flying {
        uint16_t cid;
        std::pair<uint32_t, uint32_t> key;
        Buffer buffer;
    };
    Drive &d;
    Feeds feeds;
    std::map<std::pair<uint32_t, uint32_t>, size_t> given;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> inFlight;
    std::vector<Flying> flying;
    uint16_t handle, exec, reader = 0;
    uint32_t bytes;
    Buffer buffer{};
    bool ended = false, last = false, reading = false, refused = false;
};

inline void fill(Drive &d, uint32_t lba, uint32_t blocks) {
    for (uint32_t i = 0; i < blocks; i += 32) {
        uint32_t n = std::min(32u, blocks - i);
        CHECK_EQ(d.write(lba + i, pattern(lba + i, 1, n)).status, kOk);
    }
}

inline std::pair<uint32_t, uint32_t> countSum(const std::vector<uint8_t> &v, size_t n) {
    uint32_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += v[i];
    }
    return {static_cast<uint32_t>(n), sum};
}

inline uint32_t word(const std::vector<uint8_t> &v, size_t at) {
    CHECK(v.size() >= at + 4);
    uint32_t w;
    std::memcpy(&w, &v[at], 4);
    return w;
}

/** Run a job and return its results and number of failed pieces. */
inline std::map<uint32_t, PieceResult> runJob(Drive &d, const Job &j, uint32_t *failed = nullptr, uint16_t handle = 9) {
    uint16_t cid = submitExec(d, handle, encode(j));
    auto r = collect(d, handle);
    auto c = d.wait(1, cid);
    CHECK_EQ(c.status, kOk);
    if (failed != nullptr) {
        *failed = c.dw0;
    }
    CHECK_EQ(r.size(), j.pieces.size());
    for (auto &[piece, result] : r) {
        CHECK(result.ended);
    }
    return r;
}

} // namespace scomp
