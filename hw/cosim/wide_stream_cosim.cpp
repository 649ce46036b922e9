// SPDX-License-Identifier: BSD-3-Clause
// The data memories of a tile whose vector unit has VarVE (StreamMemory with DLEN STREAM_DLEN) against a model in
// bytes. In every cycle all sides do at random what they may: pages are delivered in any order, the core executes
// stream instructions, loads and stores, the unit reads, consumes, writes and accesses the scratchpad, pages are
// drained. Usage: wide_stream_cosim SEED ROUNDS
#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "VStreamMemory.h"
#include "assasin_contract.h"

namespace {

constexpr unsigned kBytes = STREAM_DLEN / 8 + 1; ///< of an access of the unit
constexpr uint32_t kBuffer = 65536;
constexpr int kUnknown = -1;
constexpr unsigned kNobody = ~0u;
/// Cycles in which a Tail passes a page, when all of them have arrived.
constexpr uint64_t kTailCycles = 2 * (128 + 2 * 8) + 8;

using Group = std::array<uint8_t, kBytes>;

template <typename Port> uint8_t byte_of(const Port &port, unsigned i) {
    if constexpr (std::is_integral_v<Port>)
        return static_cast<uint8_t>(port >> 8 * i);
    else
        return static_cast<uint8_t>(port[i / 4] >> 8 * (i % 4));
}

template <typename Port> void set_bit(Port &port, unsigned i, bool value) {
    if constexpr (std::is_integral_v<Port>) {
        port = static_cast<Port>((port & ~(Port{1} << i)) | Port{value} << i);
    } else {
        const uint32_t bit = 1u << i % 32;
        port[i / 32] = value ? port[i / 32] | bit : port[i / 32] & ~bit;
    }
}

template <typename Port> void set_byte(Port &port, unsigned i, uint8_t value) {
    for (unsigned k = 0; k < 8; k++)
        set_bit(port, 8 * i + k, value >> k & 1);
}

/// A memory of which a byte may be written in the cycle in which it is read: the read then gives either value.
class Memory {
  public:
    /// In this cycle.
    void write(uint32_t at, uint8_t value) {
        next.emplace_back(at, value);
    }
    void clock() {
        for (const auto &[at, value] : last)
            old[at] = value;
        last.swap(next);
        next.clear();
        for (const auto &[at, value] : last)
            bytes[at] = value;
    }
    /// A read in the cycle before may give `value`.
    bool holds(uint32_t at, uint8_t value) const {
        return old[at] == kUnknown || old[at] == value || bytes[at] == value;
    }

  private:
    using Writes = std::vector<std::pair<uint32_t, uint8_t>>;
    std::vector<int> old = std::vector<int>(kBuffer, kUnknown), bytes = old;
    Writes last, next;
};

enum Kind { kNone, kLoad, kStore, kReadI, kReadO };

/// A stream instruction in EX or MEM.
struct Insn {
    Kind kind = kNone;
    unsigned stream = 0, size = 0;
    uint32_t operand = 0;
    unsigned stay = 0;  ///< cycles in MEM
    unsigned could = 0; ///< StreamLoad: cycles one after another in which nothing was in its way
    bool asked = false; ///< distance: its data has been asked for
    uint32_t limit = 0; ///< distance: what it is from
    bool bad = false;   ///< distance: not legal
};

struct Input {
    uint32_t end = 0, head = 0, tail = 0;
    bool known = false, unit = false;
    std::vector<bool> started, whole;
    uint32_t arrived = 0;   ///< pages before this have arrived whole ...
    uint64_t last_mark = 0; ///< ... the last of them in this cycle
};

struct Output {
    std::vector<uint8_t> bytes;
    uint32_t drained = 0, tail = 0; ///< covered by drains; OTAIL
    bool unit = false;
    uint32_t head() const {
        return static_cast<uint32_t>(bytes.size());
    }
};

struct Counts {
    uint64_t cycles = 0, pages = 0, loads = 0, ends = 0, stores = 0, reads = 0, unit_reads = 0, consumed = 0,
             unit_writes = 0, written = 0, drained = 0, accesses = 0;

    void operator+=(const Counts &c) {
        cycles += c.cycles;
        pages += c.pages;
        loads += c.loads;
        ends += c.ends;
        stores += c.stores;
        reads += c.reads;
        unit_reads += c.unit_reads;
        consumed += c.consumed;
        unit_writes += c.unit_writes;
        written += c.written;
        drained += c.drained;
        accesses += c.accesses;
    }
};

class Run {
  public:
    explicit Run(uint64_t s) : seed(s), rng(s) {
    }
    bool go(unsigned cycles, Counts &totals);

  private:
    uint32_t rnd(uint32_t n) {
        return static_cast<uint32_t>(rng() % n);
    }
    bool chance(unsigned percent) {
        return rnd(100) < percent;
    }
    void wrong(const char *what, uint64_t got, uint64_t expected) {
        if (!failed)
            std::printf("FAILED seed %" PRIu64 " cycle %" PRIu64 ": %s is 0x%" PRIx64 ", expected 0x%" PRIx64 "\n",
                        seed, cycle, what, got, expected);
        failed = true;
    }
    void equal(const char *what, uint64_t got, uint64_t expected) {
        if (got != expected)
            wrong(what, got, expected);
    }

    uint8_t hash(unsigned s, uint32_t pos) const {
        uint64_t h = (seed ^ uint64_t{s} << 40 ^ pos) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
        return static_cast<uint8_t>(h * 0xbf58476d1ce4e5b9u >> 56);
    }
    uint32_t at(unsigned s, uint32_t pos) const {
        return s * ring | (pos & (ring - 1));
    }
    uint32_t limit(unsigned s) const {
        const Input &w = in[s];
        return w.known ? std::min(w.end, w.tail) : w.tail;
    }

    void reset();
    void tick();
    void raw();
    void ends();
    void step();
    void own();
    void deliver();
    void look();
    void drive_unit();
    void drive_drain();
    void drive_scratchpad();
    void drive_core();
    void sample_core();
    void sample_unit();
    void sample_drain();
    void sample_scratchpad();
    Insn make();

    uint64_t seed;
    std::mt19937_64 rng;
    VStreamMemory top;
    uint64_t cycle = 0;
    bool failed = false, closing = false;
    unsigned streams = 1, page_log2 = 9;
    uint32_t ring = kBuffer, page = 512;
    std::vector<Input> in;
    std::vector<Output> out;
    Memory input, output, spad;
    Counts count;

    // How busy each side is, percent.
    unsigned feeds = 50, issues = 50, unit_reads = 50, unit_consumes = 20, unit_writes = 50, drains = 50, accesses = 20;

    Insn ex, mem;
    bool advance = false, drop = false, unit_read_before = false;
    unsigned learns = kNobody; ///< the input stream whose end becomes known

    struct Sender {
        unsigned stream;
        uint32_t pos, stop;
    };
    std::vector<Sender> senders;

    struct Answer {
        bool valid = false;
        unsigned stream = 0;
        uint32_t pos = 0;
        uint32_t first = 0, past = 0; ///< the bytes from `first` on up to `past` are the stream's
    };
    Answer unit_answer, drain_answer;
    struct Job {
        unsigned stream;
        uint32_t pos, bytes, at;
    };
    std::deque<Job> jobs, done;
    unsigned drain_waits = 0;
    bool load_answer = false, store_done = false, core_answer = false;
    uint32_t load_addr = 0, core_addr = 0;
};

void Run::reset() {
    top.reset = 1;
    top.clock = 0;
    top.eval();
    for (int i = 0; i < 4; i++) {
        top.clock = 1;
        top.eval();
        top.clock = 0;
        top.eval();
    }
    top.reset = 0;
    const unsigned s_log2 = rnd(4), ring_log2 = 16 - s_log2;
    streams = 1u << s_log2;
    ring = 1u << ring_log2;
    // Two pages a ring at least: with one, an access across the end of the page waits for a page that has no room.
    page_log2 = chance(50) ? 9 + rnd(2) : 9 + rnd(ring_log2 - 9);
    page = 1u << page_log2;
    top.io_partition_sLog2 = static_cast<uint8_t>(s_log2);
    top.io_partition_pageLog2 = static_cast<uint8_t>(page_log2);
    top.io_partition_ringMask = static_cast<uint16_t>(ring - 1);
    top.io_partition_pageMask = static_cast<uint16_t>(page - 1);
    top.io_partition_pages = static_cast<uint8_t>(ring / page);
    top.io_pointers_clear = 1;
    in.resize(streams);
    out.resize(streams);
    for (Input &w : in) {
        w.end = chance(10) ? rnd(8) : rnd(6 * ring);
        w.started.resize((w.end + page - 1) / page);
        w.whole.resize(w.started.size());
    }
    for (Output &w : out)
        w.tail = ring;
    tick();
    top.io_pointers_clear = 0;
}

// The whole input buffer by the crossbar's window, so that every byte of it is known.
void Run::raw() {
    for (uint32_t i = 0; i < kBuffer; i += 8) {
        const uint64_t data = rng();
        top.io_beat_valid = 1;
        top.io_beat_bits_addr = i;
        top.io_beat_bits_toStream = 0;
        top.io_beat_bits_toSpad = 0;
        top.io_beat_bits_data = data;
        for (unsigned k = 0; k < 8; k++)
            input.write(i + k, static_cast<uint8_t>(data >> 8 * k));
        tick();
    }
    top.io_beat_valid = 0;
}

// Streams change hands while nothing is under way.
void Run::ends() {
    for (unsigned i = 0; i < streams; i++) {
        top.io_pointers_writeEnd_valid = 1;
        top.io_pointers_writeEnd_bits_stream = static_cast<uint8_t>(i);
        top.io_pointers_writeEnd_bits_value = in[i].end;
        tick();
    }
    top.io_pointers_writeEnd_valid = 0;
}

// A stream changes hands while no instruction on it is under way.
void Run::own() {
    const unsigned s = rnd(streams);
    if (!chance(2) || (ex.kind && ex.stream == s) || (mem.kind && mem.stream == s))
        return;
    in[s].unit = chance(60);
    out[s].unit = chance(60);
}

void Run::deliver() {
    top.io_pointers_writeEndValid_valid = 0;
    top.io_beat_valid = 0;
    const uint8_t room[8] = {top.io_pointers_room_0, top.io_pointers_room_1, top.io_pointers_room_2,
                             top.io_pointers_room_3, top.io_pointers_room_4, top.io_pointers_room_5,
                             top.io_pointers_room_6, top.io_pointers_room_7};
    const unsigned s = rnd(streams);
    Input &w = in[s];
    if (senders.size() < 4 && chance(feeds)) {
        std::vector<uint32_t> open;
        for (uint32_t q = w.tail >> page_log2; q < w.started.size(); q++) {
            const uint8_t ahead = static_cast<uint8_t>(room[s] - q);
            if (ahead < 1 || ahead > 128)
                break;
            if (q >= (w.head >> page_log2) + ring / page)
                wrong("a page for which there is no room", q, w.head >> page_log2);
            if (!w.started[q])
                open.push_back(q);
        }
        if (!open.empty()) {
            const uint32_t q = open[chance(50) ? 0 : rnd(static_cast<uint32_t>(open.size()))];
            // The end is known before the page that holds it is sent, as the firmware does it.
            if (q + 1 < w.started.size() || w.known) {
                w.started[q] = true;
                senders.push_back({s, q * page, std::min(q * page + page, w.end)});
            }
        }
    }
    learns = kNobody;
    if (!w.known && chance(w.end < page ? 20 : 1)) {
        learns = s;
        unsigned all = 1u << s;
        for (unsigned i = 0; i < streams; i++)
            all |= static_cast<unsigned>(in[i].known) << i;
        top.io_pointers_writeEndValid_valid = 1;
        top.io_pointers_writeEndValid_bits = static_cast<uint8_t>(all);
    }
    if (senders.empty() || !chance(feeds))
        return;
    const size_t i = rnd(static_cast<uint32_t>(senders.size()));
    Sender &d = senders[i];
    uint64_t data = 0;
    for (uint32_t k = 0; k < 8; k++) {
        const uint8_t byte = d.pos + k < d.stop ? hash(d.stream, d.pos + k) : static_cast<uint8_t>(rng());
        data |= static_cast<uint64_t>(byte) << 8 * k;
        input.write(at(d.stream, d.pos + k), byte);
    }
    const uint32_t bytes = std::min(8u, d.stop - d.pos);
    const bool last = d.pos + 8 >= d.stop;
    top.io_beat_valid = 1;
    top.io_beat_bits_addr = d.pos;
    top.io_beat_bits_toStream = 1;
    top.io_beat_bits_stream = static_cast<uint8_t>(d.stream);
    top.io_beat_bits_data = data;
    top.io_beat_bits_bytes = static_cast<uint8_t>(bytes);
    top.io_beat_bits_last = last || d.pos % 64 == 56;
    top.io_beat_bits_mark = last;
    d.pos += 8;
    if (last) {
        Input &owner = in[d.stream];
        owner.whole[(d.pos - 1) >> page_log2] = true;
        while (owner.arrived < owner.whole.size() && owner.whole[owner.arrived]) {
            owner.arrived++;
            owner.last_mark = cycle;
        }
        senders.erase(senders.begin() + static_cast<long>(i));
        count.pages++;
    }
}

// All pointers, through the unit's ports: a stream a cycle.
void Run::look() {
    const unsigned s = top.io_vectorStreams_input_stream, t = top.io_vectorStreams_output_stream;
    Input &w = in[s];
    equal("IHEAD", top.io_vectorStreams_input_head, w.head);
    equal("IEND_VALID", top.io_vectorStreams_input_known, w.known);
    if (w.known)
        equal("IEND", top.io_vectorStreams_input_end, w.end);
    const uint32_t tail = top.io_vectorStreams_input_tail;
    if (tail < w.tail || tail % page || tail > w.arrived * page ||
        (tail < w.arrived * page && w.last_mark + kTailCycles < cycle))
        wrong("ITAIL", tail, w.arrived * page);
    w.tail = tail;
    equal("OHEAD", top.io_vectorStreams_output_head, out[t].head());
    equal("OTAIL", top.io_vectorStreams_output_tail, out[t].tail);
}

void Run::drive_unit() {
    top.io_vectorStreams_input_stream = static_cast<uint8_t>(rnd(streams));
    top.io_vectorStreams_output_stream = static_cast<uint8_t>(rnd(streams));
    unsigned s = rnd(streams);
    top.io_vectorStreams_read_valid = chance(unit_reads);
    top.io_vectorStreams_read_bits_stream = static_cast<uint8_t>(s);
    const uint32_t there = in[s].tail - in[s].head;
    top.io_vectorStreams_read_bits_pos = chance(80) ? in[s].head + rnd(there + 1) : static_cast<uint32_t>(rng());

    s = rnd(streams);
    Input &w = in[s];
    const bool consumes = w.unit && chance(unit_consumes) && limit(s) > w.head;
    const uint32_t most = consumes ? limit(s) - w.head : 0;
    const uint32_t by = std::min(most, chance(90) ? rnd(4 * kBytes) : rnd(most + 1));
    top.io_vectorStreams_consume_valid = consumes;
    top.io_vectorStreams_consume_bits_stream = static_cast<uint8_t>(s);
    top.io_vectorStreams_consume_bits_head = w.head + by;

    s = rnd(streams);
    Output &o = out[s];
    const bool writes = o.unit && !closing && chance(unit_writes);
    const uint32_t room = o.tail - o.head();
    const uint32_t n = std::min(room, chance(50) ? kBytes - 1 : rnd(kBytes + 1));
    top.io_vectorStreams_write_valid = writes;
    top.io_vectorStreams_write_bits_stream = static_cast<uint8_t>(s);
    top.io_vectorStreams_write_bits_pos = o.head();
    top.io_vectorStreams_write_bits_head = o.head() + n;
    for (unsigned i = 0; i < kBytes; i++) {
        set_byte(top.io_vectorStreams_write_bits_data, i, static_cast<uint8_t>(rng()));
        set_bit(top.io_vectorStreams_write_bits_mask, i, i < n);
    }
}

void Run::sample_unit() {
    const Answer &was = unit_answer;
    for (unsigned i = 0; i < kBytes && was.valid; i++) {
        const uint8_t got = byte_of(top.io_vectorStreams_readAnswer, i);
        const uint32_t pos = was.pos + i;
        if (!input.holds(at(was.stream, pos), got))
            wrong("a byte of the input buffer at its position", pos, got);
        if (pos >= was.first && pos < was.past)
            equal("a byte of a stream", got, hash(was.stream, pos));
    }
    const unsigned stream = top.io_vectorStreams_read_bits_stream;
    unit_answer = {top.io_vectorStreams_read_valid != 0, stream, top.io_vectorStreams_read_bits_pos, in[stream].head,
                   limit(stream)};
    count.unit_reads += unit_answer.valid;
    if (top.io_vectorStreams_consume_valid) {
        Input &w = in[top.io_vectorStreams_consume_bits_stream];
        count.consumed += top.io_vectorStreams_consume_bits_head - w.head;
        w.head = top.io_vectorStreams_consume_bits_head;
    }
    if (top.io_vectorStreams_write_valid) {
        const unsigned s = top.io_vectorStreams_write_bits_stream;
        Output &w = out[s];
        const uint32_t n = top.io_vectorStreams_write_bits_head - w.head();
        for (unsigned i = 0; i < n; i++) {
            const uint8_t byte = byte_of(top.io_vectorStreams_write_bits_data, i);
            output.write(at(s, w.head()), byte);
            w.bytes.push_back(byte);
        }
        count.unit_writes++;
        count.written += n;
    }
}

void Run::drive_drain() {
    const unsigned s = rnd(streams);
    Output &w = out[s];
    top.io_pointers_cover_valid = 0;
    uint32_t bytes = w.head() - w.drained;
    if (!closing)
        bytes &= ~7u;
    if (jobs.size() < 4 && bytes && (closing || (chance(drains) && (bytes >= page || chance(5))))) {
        bytes = std::min(bytes, page);
        top.io_pointers_cover_valid = 1;
        top.io_pointers_cover_bits_stream = static_cast<uint8_t>(s);
        top.io_pointers_cover_bits_bytes = bytes;
        jobs.push_back({s, w.drained, bytes, 0});
        w.drained += bytes;
    }
    const bool reads =
        !jobs.empty() && jobs.front().at < jobs.front().bytes && (closing || drain_waits || chance(drains));
    top.io_drain_req_valid = reads;
    if (reads) {
        top.io_drain_req_bits_stream = static_cast<uint8_t>(jobs.front().stream);
        top.io_drain_req_bits_pos = jobs.front().pos + jobs.front().at;
    }
    top.io_pointers_free_valid = !done.empty();
    if (!done.empty()) {
        top.io_pointers_free_bits_stream = static_cast<uint8_t>(done.front().stream);
        top.io_pointers_free_bits_bytes = done.front().bytes;
    }
}

void Run::sample_drain() {
    if (drain_answer.valid) {
        const Output &w = out[drain_answer.stream];
        for (uint32_t i = 0; i < 8 && drain_answer.pos + i < drain_answer.past; i++)
            equal("a drained byte", byte_of(top.io_drain_data, i), w.bytes[drain_answer.pos + i]);
    }
    drain_answer.valid = top.io_drain_req_valid && top.io_drain_req_ready;
    if (top.io_drain_req_valid && !top.io_drain_req_ready && ++drain_waits > 1)
        wrong("cycles that a drain waits", drain_waits, 1);
    if (top.io_pointers_free_valid && top.io_pointers_free_ready) {
        out[done.front().stream].tail += done.front().bytes;
        done.pop_front();
    }
    if (!drain_answer.valid)
        return;
    drain_waits = 0;
    Job &job = jobs.front();
    drain_answer.stream = job.stream;
    drain_answer.pos = job.pos + job.at;
    drain_answer.past = job.pos + job.bytes;
    job.at += 8;
    count.drained += 8;
    if (job.at >= job.bytes) {
        done.push_back(job);
        jobs.pop_front();
    }
}

// Bytes of the scratchpad: the unit's loads and stores beside the core's.
void Run::drive_scratchpad() {
    const uint32_t base = rnd(4) * (kBuffer / 4) + rnd(256);
    top.io_vector_load_valid = chance(accesses);
    top.io_vector_load_bits_addr = ASSASIN_CORE_SPAD_BASE + std::min(base, kBuffer - kBytes);
    top.io_vector_load_bits_bytes = kBytes;
    top.io_vector_store_valid = chance(accesses);
    top.io_vector_store_bits_addr = ASSASIN_CORE_SPAD_BASE + std::min(base + rnd(8), kBuffer - kBytes);
    for (unsigned i = 0; i < kBytes; i++) {
        set_byte(top.io_vector_store_bits_data, i, static_cast<uint8_t>(rng()));
        set_bit(top.io_vector_store_bits_mask, i, chance(80));
    }
    const unsigned size = rnd(3);
    const uint32_t addr = (rnd(4) * (kBuffer / 4) + rnd(256)) >> size << size;
    top.io_dmem_req_valid = chance(accesses);
    top.io_dmem_req_bits_addr = ASSASIN_CORE_SPAD_BASE + addr;
    top.io_dmem_req_bits_write = chance(50);
    top.io_dmem_req_bits_size = static_cast<uint8_t>(size);
    top.io_dmem_req_bits_mask = static_cast<uint8_t>((1u << (1u << size)) - 1) << (addr & 3) & 15;
    top.io_dmem_req_bits_wdata = static_cast<uint32_t>(rng());
}

void Run::sample_scratchpad() {
    equal("the load's answer", top.io_vector_loadAnswer_valid, load_answer);
    equal("the store's end", top.io_vector_storeDone, store_done);
    for (unsigned i = 0; i < kBytes && load_answer; i++) {
        const uint8_t got = byte_of(top.io_vector_loadAnswer_bits, i);
        if (!spad.holds(load_addr + i, got))
            wrong("a byte of the scratchpad at its address", load_addr + i, got);
    }
    for (unsigned i = 0; i < 4 && core_answer; i++) {
        const uint8_t got = byte_of(top.io_dmem_resp_bits_rdata, i);
        if (!spad.holds(core_addr + i, got))
            wrong("a byte of the scratchpad, for the core, at its address", core_addr + i, got);
    }
    load_answer = top.io_vector_load_valid && top.io_vector_load_ready;
    store_done = top.io_vector_store_valid && top.io_vector_store_ready;
    load_addr = top.io_vector_load_bits_addr - ASSASIN_CORE_SPAD_BASE;
    if (store_done)
        for (unsigned i = 0; i < kBytes; i++)
            if (byte_of(top.io_vector_store_bits_mask, i / 8) >> i % 8 & 1)
                spad.write(top.io_vector_store_bits_addr - ASSASIN_CORE_SPAD_BASE + i,
                           byte_of(top.io_vector_store_bits_data, i));
    core_answer = top.io_dmem_req_valid && !top.io_dmem_req_bits_write;
    core_addr = (top.io_dmem_req_bits_addr - ASSASIN_CORE_SPAD_BASE) & ~3u;
    if (top.io_dmem_req_valid && top.io_dmem_req_bits_write)
        for (unsigned i = 0; i < 4; i++)
            if (top.io_dmem_req_bits_mask >> i & 1)
                spad.write(core_addr + i, byte_of(top.io_dmem_req_bits_wdata, i));
    count.accesses += load_answer + store_done + top.io_dmem_req_valid;
}

Insn Run::make() {
    Insn i;
    i.kind = static_cast<Kind>(1 + rnd(4));
    i.stream = rnd(streams);
    i.size = rnd(3);
    // Mostly one that need not wait.
    for (unsigned k = 0; k < 8 && chance(90); k++) {
        const unsigned s = i.stream;
        if (i.kind == kLoad ? !in[s].unit && in[s].tail - in[s].head >= 4
                            : !out[s].unit && out[s].tail - out[s].head() >= 4)
            break;
        i.stream = rnd(streams);
    }
    i.operand = static_cast<uint32_t>(rng());
    if ((i.kind == kLoad && in[i.stream].unit) || (i.kind == kStore && (out[i.stream].unit || closing)))
        i.kind = kNone;
    if (i.kind == kReadI || i.kind == kReadO) {
        const uint32_t pos = i.kind == kReadI ? limit(i.stream) : out[i.stream].head();
        const unsigned pick = rnd(4);
        i.operand = pick == 0 ? rnd(8) : pick == 1 ? ring - 4 + rnd(8) : rnd(std::min(pos, ring) + 2);
    }
    return i;
}

void Run::drive_core() {
    if (!ex.kind && chance(issues))
        ex = make();
    top.io_stream_exStream = static_cast<uint8_t>(ex.kind ? ex.stream : rnd(streams));
    top.io_stream_exLoad = ex.kind == kLoad;
    top.io_stream_op_load = mem.kind == kLoad;
    top.io_stream_op_store = mem.kind == kStore;
    top.io_stream_op_readI = mem.kind == kReadI;
    top.io_stream_op_readO = mem.kind == kReadO;
    top.io_stream_stream = static_cast<uint8_t>(mem.stream);
    top.io_stream_size = static_cast<uint8_t>(mem.size);
    top.io_stream_operand = mem.operand;
    top.io_stream_advance = 0;
    top.io_pointers_inPeek_stream = static_cast<uint8_t>(mem.stream);
    top.io_pointers_outPeek_stream = static_cast<uint8_t>(mem.stream);
    top.eval();
    // A trap, a wait that a debugger ends: the instruction goes without an effect.
    drop = chance(closing ? 50 : 1);
    advance = !top.io_stream_stall && !chance(20);
    top.io_stream_advance = advance;
}

void Run::sample_core() {
    const unsigned s = mem.stream, width = 1u << mem.size;
    const bool stall = top.io_stream_stall;
    Input &from = in[s];
    Output &to = out[s];
    const uint32_t tail = top.io_pointers_inPeek_tail; // not past a known end
    from.tail = std::max(from.tail, tail);
    equal("IHEAD for the registers", top.io_pointers_inPeek_head, from.head);
    equal("OHEAD for the registers", top.io_pointers_outPeek_head, to.head());
    equal("OTAIL for the registers", top.io_pointers_outPeek_tail, to.tail);
    mem.stay++;
    if (mem.kind == kLoad) {
        const bool ends = from.known && from.end - from.head < width, present = tail - from.head >= width;
        const bool reads = top.io_vectorStreams_read_valid, consumes = top.io_vectorStreams_consume_valid;
        // Without the unit a StreamLoad waits for nothing but its data, and then a cycle.
        mem.could = present && !reads && !consumes ? mem.could + 1 : 0;
        if (stall && (ends || mem.could > 1 || (mem.stay == 1 && present && !unit_read_before && !consumes)))
            wrong("the stall of a StreamLoad", stall, 0);
        if (!stall) {
            equal("the end of the stream", top.io_stream_end, ends);
            if (!ends && !present)
                wrong("a StreamLoad past the Tail", from.head, tail);
            for (unsigned i = 0; i < width && !ends; i++)
                equal("a loaded byte", byte_of(top.io_stream_rdata, i), hash(s, from.head + i));
            from.head += ends ? 0 : width;
            drop |= ends; // the end of a stream jumps
            count.loads++;
            count.ends += ends;
        }
    } else if (mem.kind == kStore) {
        equal("the stall of a StreamStore", stall, to.tail - to.head() < width || top.io_vectorStreams_write_valid);
        for (unsigned i = 0; i < width && !stall; i++) {
            const uint8_t byte = byte_of(mem.operand, i);
            output.write(at(s, to.head()), byte);
            to.bytes.push_back(byte);
        }
        count.stores += !stall;
    } else if (mem.kind == kReadI || mem.kind == kReadO) {
        const bool input_side = mem.kind == kReadI;
        if (mem.stay == 1) {
            mem.limit = input_side ? tail : to.head();
            mem.bad = mem.operand < width || mem.operand > ring || mem.operand > mem.limit;
        }
        equal("the stall of a distance", stall, mem.stay == 1 || !(mem.bad || mem.asked));
        mem.asked |= mem.stay > 1 && !(input_side && top.io_vectorStreams_read_valid);
        if (!stall) {
            equal("the range", top.io_stream_rangeError, mem.bad);
            for (unsigned i = 0; i < width && !mem.bad; i++) {
                const uint32_t pos = mem.limit - mem.operand + i;
                const uint8_t got = byte_of(top.io_stream_rdata, i);
                if (!(input_side ? input : output).holds(at(s, pos), got))
                    wrong("a byte at a distance at its position", pos, got);
                // The unit may have written a ring further.
                if (!input_side && pos + ring >= to.head())
                    equal("a byte of the output at a distance", got, to.bytes[pos]);
            }
            count.reads++;
        }
    } else {
        equal("the stall of nothing", stall, 0);
    }
    unit_read_before = top.io_vectorStreams_read_valid;
    if (!stall || (drop && (mem.kind == kLoad || mem.kind == kStore)))
        mem = Insn{};
    if (advance) {
        mem = drop ? Insn{} : ex;
        ex = Insn{};
    }
}

void Run::tick() {
    top.eval();
    top.clock = 1;
    top.eval();
    top.clock = 0;
    input.clock();
    output.clock();
    spad.clock();
    cycle++;
}

void Run::step() {
    own();
    deliver();
    drive_unit();
    drive_drain();
    drive_scratchpad();
    drive_core();
    top.eval();
    look();
    sample_core();
    sample_unit();
    sample_drain();
    sample_scratchpad();
    if (learns != kNobody)
        in[learns].known = true;
    tick();
}

bool Run::go(unsigned cycles, Counts &totals) {
    static constexpr unsigned kLevels[] = {2, 20, 50, 100};
    for (unsigned *level : {&feeds, &issues, &unit_reads, &unit_consumes, &unit_writes, &drains, &accesses})
        *level = kLevels[rnd(4)];
    reset();
    raw();
    ends();
    top.io_run = 1;
    for (unsigned i = 0; i < cycles && !failed; i++)
        step();
    // All that was written is drained.
    closing = true;
    const auto drained = [&] {
        return jobs.empty() && done.empty() && !drain_answer.valid && ex.kind == kNone && mem.kind == kNone &&
               std::all_of(out.begin(), out.end(), [](const Output &w) { return w.drained == w.head(); });
    };
    issues = 0;
    // At full rate the unit's reads keep ReadIStream from its data for ever.
    unit_reads = std::min(unit_reads, 50u);
    for (unsigned i = 0; i < 200000 && !failed && !drained(); i++) {
        step();
    }
    for (unsigned i = 0; i < 10 && !failed; i++)
        step();
    if (!drained())
        wrong("what is left to drain", jobs.size(), 0);
    for (const Output &w : out)
        equal("OTAIL at the end", w.tail, w.head() + ring);
    equal("streams with a page to drain", top.io_pointers_outReady, 0);
    count.cycles = cycle;
    totals += count;
    return !failed;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s SEED ROUNDS\n", argv[0]);
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 0), rounds = std::strtoull(argv[2], nullptr, 0);
    unsigned passed = 0, failed = 0;
    Counts n;
    for (uint64_t i = 0; i < rounds; i++)
        std::make_unique<Run>(seed + i)->go(20000, n) ? passed++ : failed++;
    std::printf("wide_stream_cosim: seed %" PRIu64 ", DLEN %d, %" PRIu64 " cycles: %" PRIu64 " pages, %" PRIu64
                " StreamLoads (%" PRIu64 " ends), %" PRIu64 " StreamStores, %" PRIu64 " distances; unit: %" PRIu64
                " reads, %" PRIu64 " bytes consumed, %" PRIu64 " writes (%" PRIu64 " bytes); %" PRIu64
                " bytes drained, %" PRIu64 " scratchpad accesses\n",
                seed, STREAM_DLEN, n.cycles, n.pages, n.loads, n.ends, n.stores, n.reads, n.unit_reads, n.consumed,
                n.unit_writes, n.written, n.drained, n.accesses);
    std::printf("wide_stream_cosim: %u passed, %u failed\n", passed, failed);
    return failed != 0;
}
