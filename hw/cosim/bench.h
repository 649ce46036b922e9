// SPDX-License-Identifier: BSD-3-Clause
// Drives one Verilated StreamCore: clock, register bus, crossbar packets in, drain packets out, retired instructions.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "VStreamCore.h"
#include "assasin_contract.h"
#include "commit.h"
#ifdef TILE_DRAM
#include "tile_dram.h"
#endif

namespace cosim {

/// One crossbar packet to the core.
struct Packet {
    uint32_t addr;
    std::vector<uint8_t> bytes; ///< 1 to 64
    bool to_stream = false;
    unsigned stream = 0;
    bool mark = false;
};

/// What the drain sent.
struct OutPacket {
    uint32_t addr;
    std::vector<uint8_t> bytes;
    uint64_t cycle; ///< of its last beat
    unsigned dst = kDram;
    bool to_stream = false;
    unsigned stream = 0;
    bool mark = false;

    static constexpr unsigned kDram = 16; ///< crossbar destination of the DRAM writer
};

class Bench {
  public:
    /// Bytes of a packet's last beat that do not belong to it.
    static constexpr uint8_t kFiller = 0xA5;

    explicit Bench(uint64_t seed) : rng(seed) {
        top.reset = 1;
        top.io_hartId = 0;
        top.io_regs_req_valid = 0;
        top.io_in_valid = 0;
        top.io_out_ready = 0;
        for (int i = 0; i < 4; i++)
            tick();
        top.reset = 0;
        tick();
    }

    /// One clock cycle.
    void tick() {
        drive_in();
#ifdef TILE_DRAM
        dram.drive(cycle);
#endif
        top.io_out_ready = out_percent >= 100 || static_cast<int>(rng() % 100) < out_percent;
        top.clock = 0;
        top.eval();
        sample();
#ifdef TILE_DRAM
        dram.sample(cycle);
#endif
        top.clock = 1;
        top.eval();
        cycle++;
    }

    void run(uint64_t cycles) {
        while (cycles--)
            tick();
    }

    /// Register access; takes the cycles it takes.
    uint32_t read(uint32_t offset) {
        return access(offset, false, 0);
    }
    void write(uint32_t offset, uint32_t value) {
        access(offset, true, value);
    }

    /// Sends all queued packets and lets the last one arrive.
    void flush() {
        while (!queue.empty())
            tick();
        run(2);
    }

    /// Memory contents through the crossbar, 64 bytes a packet.
    void load(uint32_t base, const void *data, size_t size) {
        const auto *p = static_cast<const uint8_t *>(data);
        for (size_t at = 0; at < size; at += 64) {
            Packet packet;
            packet.addr = base + static_cast<uint32_t>(at);
            packet.bytes.assign(p + at, p + std::min(size, at + 64));
            queue.push_back(packet);
        }
        flush();
    }
    void load_program(const std::vector<uint32_t> &words) {
        load(ASSASIN_XB_IMEM_BASE, words.data(), words.size() * 4);
    }

    void partition(unsigned s_log2, unsigned page_log2) {
        write(CORE_PARTITION, s_log2 << CORE_PARTITION_S_LOG2_SHIFT | page_log2 << CORE_PARTITION_PAGE_LOG2_SHIFT);
        run(2);
    }
    void start(uint32_t entry) {
        write(CORE_ENTRY, entry);
        write(CORE_CTRL, 1);
    }
    unsigned state() {
        return read(CORE_STATUS) & CORE_STATUS_STATE_MASK;
    }

    /// Runs until the core is not RUNNING; false after `limit` cycles.
    bool wait_stop(uint64_t limit) {
        for (uint64_t i = 0; i < limit; i += 16) {
            run(16);
            if (state() != CORE_STATE_RUNNING)
                return true;
        }
        return false;
    }

    VStreamCore top;
    std::mt19937_64 rng;
#ifdef TILE_DRAM
    static constexpr bool kMayWait = true; ///< the crossbar input, on DRAM
    TileDram<VStreamCore> dram{top, rng};
#else
    static constexpr bool kMayWait = false;
#endif
    uint64_t cycle = 0;
    std::deque<Commit> commits;
    bool keep_commits = true;
    std::deque<Packet> queue; ///< waiting to be sent
    int in_percent = 100;     ///< chance that a beat is sent in a cycle
    int out_percent = 100;    ///< chance that `out` is ready
    std::vector<OutPacket> sent;
    bool cores_listen = false;                        ///< drains may go to cores
    std::function<void(const Packet &)> on_delivered; ///< the last beat of a packet is on the port in this cycle

  private:
    void drive_in() {
        if (queue.empty() || (!in_waits && in_percent < 100 && static_cast<int>(rng() % 100) >= in_percent)) {
            top.io_in_valid = 0;
            return;
        }
        const Packet &p = queue.front();
        const size_t beats = (p.bytes.size() + 7) / 8;
        uint64_t data = 0;
        for (size_t i = 0; i < 8; i++) {
            // Bytes past the packet's length are junk that must not reach a byte-exact memory.
            const size_t at = in_beat * 8 + i;
            const uint8_t byte = at < p.bytes.size() ? p.bytes[at] : kFiller;
            data |= static_cast<uint64_t>(byte) << (8 * i);
        }
        top.io_in_valid = 1;
        top.io_in_bits_data = data;
        top.io_in_bits_last = in_beat + 1 == beats;
        top.io_in_bits_dst = 0;
        top.io_in_bits_addr = p.addr;
        top.io_in_bits_bytes = static_cast<uint8_t>(p.bytes.size());
        top.io_in_bits_toStream = p.to_stream;
        top.io_in_bits_stream = static_cast<uint8_t>(p.stream);
        top.io_in_bits_mark = p.mark;
    }

    // A beat that is not taken stays.
    void take_in() {
        in_waits = top.io_in_valid && !top.io_in_ready;
        if (in_waits && !kMayWait)
            fail("crossbar input not ready");
        if (!top.io_in_valid || in_waits)
            return;
        const Packet &p = queue.front();
        if (++in_beat == (p.bytes.size() + 7) / 8) {
            in_beat = 0;
            if (on_delivered)
                on_delivered(p);
            queue.pop_front();
        }
    }

    void sample() {
        take_in();
        if (top.io_trace_valid && keep_commits)
            commits.push_back({cycle, top.io_trace_pc, top.io_trace_insn, top.io_trace_wen != 0, top.io_trace_rd,
                               top.io_trace_wdata, top.io_trace_trap != 0, top.io_trace_cause, top.io_trace_tval,
                               top.io_trace_streamEnd != 0});
        if (top.io_out_valid && top.io_out_ready)
            take_out();
        if (out_open && !top.io_out_valid)
            fail("drain packet interrupted");
    }

    void take_out() {
        if (!out_open) {
            sent.push_back({top.io_out_bits_addr,
                            {},
                            0,
                            top.io_out_bits_dst,
                            top.io_out_bits_toStream != 0,
                            top.io_out_bits_stream,
                            top.io_out_bits_mark != 0});
            out_open = true;
            const bool to_dram = top.io_out_bits_dst == OutPacket::kDram;
            if (top.io_out_bits_addr % (to_dram ? 64 : 8) || (to_dram && top.io_out_bits_toStream) ||
                (!to_dram && !cores_listen) || top.io_out_bits_bytes < 1 || top.io_out_bits_bytes > 64)
                fail("malformed drain packet");
        }
        OutPacket &p = sent.back();
        for (int i = 0; i < 8 && p.bytes.size() < top.io_out_bits_bytes; i++)
            p.bytes.push_back(static_cast<uint8_t>(top.io_out_bits_data >> (8 * i)));
        if (top.io_out_bits_last) {
            if (p.bytes.size() != top.io_out_bits_bytes || p.addr != top.io_out_bits_addr)
                fail("drain packet length");
            p.cycle = cycle;
            out_open = false;
        }
    }

    uint32_t access(uint32_t offset, bool write, uint32_t value) {
        top.io_regs_req_valid = 1;
        top.io_regs_req_bits_addr = static_cast<uint16_t>(offset);
        top.io_regs_req_bits_write = write;
        top.io_regs_req_bits_wdata = value;
        do
            tick();
        while (!top.io_regs_req_ready);
        top.io_regs_req_valid = 0;
        for (int i = 0; i < 8; i++) {
            top.clock = 0;
            top.eval();
            const bool answered = top.io_regs_resp_valid;
            const uint32_t data = top.io_regs_resp_bits;
            tick();
            if (answered)
                return data;
        }
        fail("register access not answered");
    }

    [[noreturn]] void fail(const char *what) {
        std::fprintf(stderr, "cycle %llu: %s\n", static_cast<unsigned long long>(cycle), what);
        std::abort();
    }

    size_t in_beat = 0;
    bool in_waits = false;
    bool out_open = false;
};

} // namespace cosim
