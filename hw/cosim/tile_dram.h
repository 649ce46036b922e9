// SPDX-License-Identifier: BSD-3-Clause
// DRAM behind a tile's AXI4 port, with random latency. Writes take effect when they are answered, and reads see memory
// at a random time between request and data: as loose as AXI4 allows between channels.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <vector>

#include "assasin_contract.h"

namespace cosim {

/// @tparam Top a Verilated module with the port `io_dram`.
template <class Top> class TileDram {
  public:
    TileDram(Top &t, std::mt19937_64 &r) : bytes(ASSASIN_DRAM_TILES_SIZE), top(t), rng(r) {
        for (auto &b : bytes)
            b = static_cast<uint8_t>(rng());
        top.io_dram_b_bits_id = top.io_dram_r_bits_id = 0;
        top.io_dram_b_bits_resp = top.io_dram_r_bits_resp = 0;
    }

    std::vector<uint8_t> bytes;  ///< of the tile with hartId 0
    unsigned hesitation = 20;    ///< percent of cycles in which a channel does nothing
    unsigned read_latency = 60;  ///< cycles
    unsigned write_latency = 20; ///< cycles
    unsigned jitter = 30;        ///< cycles, added at random to both
    uint64_t read_bytes = 0, written_bytes = 0;

    bool idle() const {
        return reads.empty() && writes.empty() && answers.empty();
    }

    /// Before the clock edge of cycle `now`.
    void drive(uint64_t now) {
        top.io_dram_ar_ready = reads.size() < 32 && !hesitates();
        top.io_dram_aw_ready = writes.size() < 8 && !hesitates();
        top.io_dram_w_ready = !writes.empty() && !hesitates();
        for (Read &r : reads)
            if (!r.seen && r.sees <= now)
                look(r);
        top.io_dram_r_valid = !reads.empty() && reads.front().at <= now && (!hesitates() || reads.front().offered);
        if (top.io_dram_r_valid) {
            Read &r = reads.front();
            if (!r.seen)
                look(r);
            r.offered = true;
            top.io_dram_r_bits_data = r.data[r.next];
            top.io_dram_r_bits_last = r.next + 1 == r.data.size();
        }
        if (!top.io_dram_b_valid && !answers.empty() && answers.front().at <= now && !hesitates()) {
            const Write &w = answers.front();
            for (size_t i = 0; i < w.data.size(); i++)
                for (unsigned k = 0; k < 8; k++)
                    if (w.strobes[i] >> k & 1)
                        bytes[w.addr + 8 * i + k] = static_cast<uint8_t>(w.data[i] >> (8 * k));
            answers.pop_front();
            top.io_dram_b_valid = 1;
        } else {
            top.io_dram_b_valid = 0;
        }
    }

    /// After evaluation, before the edge.
    void sample(uint64_t now) {
        if (top.io_dram_w_valid && top.io_dram_w_ready) {
            Write &w = writes.front();
            w.data.push_back(top.io_dram_w_bits_data);
            w.strobes.push_back(top.io_dram_w_bits_strb);
            written_bytes += 8;
            if (top.io_dram_w_bits_last) {
                if (w.data.size() != w.beats)
                    fail("last beat of a write at the wrong place");
                w.at = now + write_latency + delay();
                answers.push_back(w);
                writes.pop_front();
            }
        }
        if (top.io_dram_aw_valid && top.io_dram_aw_ready)
            writes.push_back({check(top.io_dram_aw_bits_addr, top.io_dram_aw_bits_len, top.io_dram_aw_bits_size),
                              top.io_dram_aw_bits_len + 1u,
                              0,
                              {},
                              {}});
        if (top.io_dram_r_valid && top.io_dram_r_ready) {
            Read &r = reads.front();
            r.offered = false;
            read_bytes += 8;
            if (++r.next == r.data.size())
                reads.pop_front();
        }
        if (top.io_dram_ar_valid && top.io_dram_ar_ready) {
            Read r{};
            r.addr = check(top.io_dram_ar_bits_addr, top.io_dram_ar_bits_len, top.io_dram_ar_bits_size);
            r.at = now + read_latency + delay();
            r.sees = now + rng() % (r.at - now + 1);
            r.data.resize(top.io_dram_ar_bits_len + 1u);
            reads.push_back(r);
        }
    }

  private:
    struct Read {
        uint32_t addr;
        uint64_t at, sees;
        bool seen, offered;
        size_t next;
        std::vector<uint64_t> data;
    };
    struct Write {
        uint32_t addr;
        unsigned beats;
        uint64_t at;
        std::vector<uint64_t> data;
        std::vector<uint8_t> strobes;
    };

    [[noreturn]] static void fail(const char *what) {
        std::fprintf(stderr, "DRAM: %s\n", what);
        std::abort();
    }
    bool hesitates() {
        return hesitation && rng() % 100 < hesitation;
    }
    unsigned delay() {
        return jitter ? static_cast<unsigned>(rng() % jitter) : 0;
    }
    void look(Read &r) {
        for (size_t i = 0; i < r.data.size(); i++) {
            r.data[i] = 0;
            for (unsigned k = 0; k < 8; k++)
                r.data[i] |= static_cast<uint64_t>(bytes[r.addr + 8 * i + k]) << (8 * k);
        }
        r.seen = true;
    }
    uint32_t check(uint32_t addr, unsigned len, unsigned size) {
        const uint32_t offset = addr - ASSASIN_DRAM_TILES_BASE;
        if (offset >= bytes.size() || addr % 8 || size != 3 || (addr & 63) + 8 * (len + 1) > 64)
            fail("burst outside the tile's part or across lines");
        return offset;
    }

    Top &top;
    std::mt19937_64 &rng;
    std::deque<Read> reads;
    std::deque<Write> writes, answers;
};

} // namespace cosim
