// SPDX-License-Identifier: BSD-3-Clause
// Random stream programs on the StreamCore against StreamModel: all widths and alignments, pages delivered late,
// interleaved and out of order, ends of stream with and without an epilogue, distances legal and not, random
// partitions, random drains. Usage: stream_cosim SEED PROGRAMS
#include <chrono>
#include <cinttypes>
#include <cstring>

#include "rv_asm.h"
#include "stream_model.h"

using namespace cosim;
using namespace rv;

namespace {

// x1..x9 random data; the rest have a purpose.
enum : unsigned { kTmp = 20, kTmp2 = 21, kMask = 22, kEpilogues = 30, kLimit = 31 };

uint8_t hash_byte(uint64_t seed, unsigned s, uint32_t pos) {
    uint64_t h = (seed ^ (uint64_t{s} << 40) ^ (pos >> 2)) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    return static_cast<uint8_t>(h >> (32 + 8 * (pos & 3)));
}

// Everything that happens to one stream outside the core, with the cycle in which it happened.
struct Stream {
    uint32_t end;                 // input length
    bool end_written = false;     // IEND_VALID was set ...
    uint64_t end_cycle = 0;       // ... not before this cycle, certainly in effect four later
    std::vector<uint64_t> marked; // per page: cycle in which its last beat was sent, 0 = not yet
    std::vector<bool> started;    // per page
    uint32_t sent_high = 0;       // pages below this have been begun or sent
    size_t arrived = 0;           // this page is the first that has not been sent whole
    size_t tail_hint = 0;

    uint32_t drained = 0;                              // bytes covered by pushed drains
    std::vector<std::pair<uint64_t, uint32_t>> drains; // cycle done (0 = not yet), length
};

struct Sender {
    unsigned stream;
    uint32_t pos, bytes, at;
};

// Slack, cycles: how long an event may take until the core must see it (16 scan cycles and a few registers).
constexpr uint64_t kTailSlack = 28, kSlack = 8;
// The core looks at one stream's Tail at a time, two cycles for every page that it passes. The page that had been
// missing lets a Tail pass all that came before it; a ring of the smallest pages has 128, which is over within the
// window.
constexpr uint64_t kPassCycles = 2, kPassWindow = 512;

class Run {
  public:
    explicit Run(uint64_t s) : seed(s), rng(s), bench(s) {
    }

    bool go(uint64_t &compared, StreamModel *totals);

  private:
    uint32_t rnd(uint32_t n) {
        return static_cast<uint32_t>(rng() % n);
    }
    bool chance(unsigned percent) {
        return rnd(100) < percent;
    }

    std::vector<Word> make_program();
    StreamBounds bounds(unsigned s, uint64_t now);
    uint64_t tail_slack(uint64_t marked) const;
    void delivered(const Packet &packet);
    void feed();
    void mark_end(unsigned s);
    void collect();
    void drain(const StreamModel &model, bool all);
    bool check_output(const StreamModel &model);

    uint64_t seed;
    std::mt19937_64 rng;
    Bench bench;
    unsigned s_log2 = 0, page_log2 = 0, streams = 1;
    uint32_t ring = 0, page = 0;
    bool has_epilogue = true;
    std::vector<Stream> world;
    std::vector<Sender> senders;
    std::deque<uint64_t> passable; // per page of any stream, newest last: cycle since which its Tail can pass it
    struct Job {
        unsigned stream;
        size_t index;
        uint32_t pos, bytes, dst;
    };
    std::deque<Job> jobs;
    std::vector<Job> all_jobs;
    size_t sent_seen = 0;
    uint32_t dram_next = 0x80000000;
    unsigned feed_percent = 50, drain_percent = 5;
};

std::vector<Word> Run::make_program() {
    std::vector<Word> code;
    const auto emit = [&](Word w) { code.push_back(w); };
    const auto reg = [&] { return 1 + rnd(9); };
    // 0: jump to main; 4: trap handler (skips the instruction); then the epilogue.
    emit(0);
    emit(csrr(kTmp, kMcause));
    emit(csrr(kTmp, kMtval));
    emit(csrr(kTmp, kMepc));
    emit(addi(kTmp, kTmp, 4));
    emit(csrw(kMepc, kTmp));
    emit(mret);
    const int32_t epilogue = static_cast<int32_t>(code.size()) * 4;
    emit(addi(kEpilogues, kEpilogues, 1));
    emit(bne(kEpilogues, kLimit, 12));
    emit(csrw(kMtvec, 0));
    emit(ecall);
    const size_t back = code.size();
    emit(0);
    code[0] = jal(0, static_cast<int32_t>(code.size()) * 4);
    emit(addi(kTmp, 0, 4));
    emit(csrw(kMtvec, kTmp));
    emit(addi(kTmp, 0, epilogue));
    if (has_epilogue)
        emit(csrw(ASSASIN_CSR_SEPILOGUE, kTmp));
    emit(addi(kLimit, 0, static_cast<int32_t>(10 + rnd(60))));
    emit(lui(kMask, page));
    emit(addi(kMask, kMask, -1));
    if (page < 4096)
        emit(addi(kMask, 0, static_cast<int32_t>(page) - 1));
    const size_t main = code.size();
    code[back] = jal(0, static_cast<int32_t>(main - back) * 4);

    static const unsigned widths[] = {0, 1, 2, 4, 5};
    const unsigned items = 20 + rnd(300);
    const unsigned load_weight = 20 + rnd(60), store_weight = 10 + rnd(40);
    const unsigned favourite = rnd(streams);
    for (unsigned i = 0; i < items; i++) {
        const unsigned s = chance(50) ? favourite : rnd(streams);
        const unsigned pick = rnd(load_weight + store_weight + 30);
        if (pick < load_weight) {
            const unsigned run = chance(20) ? 1 + rnd(8) : 1;
            for (unsigned k = 0; k < run; k++)
                emit(stream_load(widths[rnd(5)], chance(15) ? 0 : reg(), s));
        } else if (pick < load_weight + store_weight) {
            const unsigned run = chance(20) ? 1 + rnd(8) : 1;
            for (unsigned k = 0; k < run; k++)
                emit(stream_store(rnd(3), reg(), s));
        } else {
            switch (rnd(10)) {
            case 0:
                emit(op(rnd(8), 0, reg(), reg(), reg()));
                break;
            case 1:
                emit(op_imm(0, reg(), reg(), static_cast<int32_t>(rnd(4096)) - 2048));
                break;
            case 2:
                emit(b_type(rnd(2), reg(), reg(), 8));
                break;
            case 3: // pointers
                emit(csrr(reg(), ASSASIN_CSR_IHEAD + 8 * rnd(5) + s));
                break;
            case 4:
                emit(csrr(reg(), ASSASIN_CSR_STREAMCFG));
                break;
            case 5:
            case 6: { // input between the Head's page and the Tail
                emit(csrr(kTmp, ASSASIN_CSR_IHEAD + s));
                emit(csrr(kTmp2, ASSASIN_CSR_ITAIL + s));
                emit(sub(kTmp2, kTmp2, kTmp));
                emit(op_imm(7, kTmp, kTmp, static_cast<int32_t>(rnd(512))));
                emit(add(kTmp2, kTmp2, kTmp));
                emit(stream_readi(widths[rnd(5)], reg(), s, kTmp2));
                break;
            }
            case 7: // any distance
                emit(addi(kTmp, 0, static_cast<int32_t>(rnd(4096)) - 2048));
                if (chance(50))
                    emit(op_imm(1, kTmp, kTmp, static_cast<int32_t>(rnd(8))));
                emit(chance(50) ? stream_readi(widths[rnd(5)], reg(), s, kTmp)
                                : stream_reado(widths[rnd(5)], reg(), s, kTmp));
                break;
            case 8: // around the ring
                emit(lui(kTmp, ring));
                emit(addi(kTmp, kTmp, static_cast<int32_t>(rnd(7)) - 3));
                emit(chance(50) ? stream_readi(widths[rnd(5)], reg(), s, kTmp)
                                : stream_reado(widths[rnd(5)], reg(), s, kTmp));
                break;
            default: // what has just been stored
                emit(stream_store(rnd(3), reg(), s));
                emit(addi(kTmp, 0, static_cast<int32_t>(1 + rnd(16))));
                emit(stream_reado(widths[rnd(5)], reg(), s, kTmp));
                break;
            }
        }
    }
    // The last branch may skip one instruction, which must not be the closing jump.
    emit(addi(0, 0, 0));
    // A stream that does not exist traps and is skipped.
    if (streams < 8)
        emit(stream_load(4, 1, streams));
    emit(jal(0, static_cast<int32_t>(main - code.size()) * 4));
    return code;
}

// Within how many cycles a Tail passes a page sent whole in cycle `marked`, when all before it have been passed.
uint64_t Run::tail_slack(uint64_t marked) const {
    uint64_t others = 0;
    for (auto pass = passable.rbegin(); pass != passable.rend() && *pass + kPassWindow > marked; ++pass)
        others++;
    return kTailSlack + kPassCycles * others;
}

void Run::delivered(const Packet &packet) {
    if (!packet.mark)
        return;
    Stream &w = world[packet.stream];
    w.marked[packet.addr >> page_log2] = bench.cycle;
    for (; w.arrived < w.marked.size() && w.marked[w.arrived]; w.arrived++)
        passable.push_back(bench.cycle);
}

StreamBounds Run::bounds(unsigned s, uint64_t now) {
    StreamBounds b{};
    if (s >= world.size()) {
        b.otail_low = b.otail_high = ring;
        return b;
    }
    Stream &w = world[s];
    size_t q = w.tail_hint;
    while (q < w.marked.size() && w.marked[q] &&
           w.marked[q] + tail_slack(w.marked[q]) + kTailSlack * (q - w.tail_hint) <= now)
        q++;
    w.tail_hint = q;
    b.tail_low = static_cast<uint32_t>(q) * page;
    while (q < w.marked.size() && w.marked[q] && w.marked[q] < now)
        q++;
    b.tail_high = static_cast<uint32_t>(q) * page;
    b.end = w.end;
    b.end_known_high = w.end_written;
    b.end_known_low = w.end_written && w.end_cycle + kSlack <= now;
    b.otail_low = b.otail_high = ring;
    for (const auto &[cycle, bytes] : w.drains) {
        if (!cycle || cycle > now)
            break;
        b.otail_high += bytes;
        if (cycle + kSlack <= now)
            b.otail_low += bytes;
    }
    b.sent_high = w.sent_high;
    return b;
}

void Run::mark_end(unsigned s) {
    if (world[s].end_written)
        return;
    bench.write(CORE_IEND + 4 * s, world[s].end);
    world[s].end_written = true;
    bench.write(CORE_IEND_VALID, bench.read(CORE_IEND_VALID) | 1u << s);
    world[s].end_cycle = bench.cycle;
}

// Begins pages that the core has room for, in random order, and sends packets of the pages begun.
void Run::feed() {
    const uint8_t room[8] = {bench.top.io_room_0, bench.top.io_room_1, bench.top.io_room_2, bench.top.io_room_3,
                             bench.top.io_room_4, bench.top.io_room_5, bench.top.io_room_6, bench.top.io_room_7};
    if (senders.size() < 4 && chance(feed_percent)) {
        const unsigned s = rnd(streams);
        Stream &w = world[s];
        std::vector<uint32_t> open;
        for (uint32_t q = static_cast<uint32_t>(w.tail_hint); q < w.marked.size(); q++) {
            const uint8_t ahead = static_cast<uint8_t>(room[s] - q);
            if (ahead < 1 || ahead > 128)
                break;
            if (!w.started[q])
                open.push_back(q);
        }
        if (!open.empty()) {
            const uint32_t q = open[chance(50) ? 0 : rnd(static_cast<uint32_t>(open.size()))];
            const bool last = q + 1 == w.marked.size();
            // The end is known before the page with the end in it is sent, as the firmware does it.
            if (last)
                mark_end(s);
            w.started[q] = true;
            w.sent_high = std::max(w.sent_high, (q + 1) * page);
            senders.push_back({s, q * page, last ? w.end - q * page : page, 0});
        }
    }
    if (!senders.empty() && bench.queue.size() < 2) {
        const size_t i = rnd(static_cast<uint32_t>(senders.size()));
        Sender &d = senders[i];
        Packet p;
        p.addr = d.pos + d.at;
        p.to_stream = true;
        p.stream = d.stream;
        for (uint32_t k = d.at; k < std::min(d.bytes, d.at + 64); k++)
            p.bytes.push_back(hash_byte(seed, d.stream, d.pos + k));
        d.at += 64;
        p.mark = d.at >= d.bytes;
        if (p.mark)
            senders.erase(senders.begin() + static_cast<long>(i));
        bench.queue.push_back(p);
    }
}

// Drains that have finished: a job is done with its last byte.
void Run::collect() {
    for (; sent_seen < bench.sent.size(); sent_seen++) {
        if (bench.sent[sent_seen].bytes.empty() || !bench.sent[sent_seen].cycle)
            break;
        if (jobs.empty())
            break;
        Job &j = jobs.front();
        const OutPacket &p = bench.sent[sent_seen];
        if (p.addr + p.bytes.size() == j.dst + j.bytes) {
            world[j.stream].drains[j.index].first = p.cycle;
            jobs.pop_front();
        }
    }
}

void Run::drain(const StreamModel &model, bool all) {
    collect();
    if (jobs.size() >= 4 || !(all || chance(drain_percent)))
        return;
    const unsigned s = rnd(streams);
    Stream &w = world[s];
    uint32_t bytes = model.ohead[s] - w.drained;
    if (!all) {
        bytes &= ~7u;
        if (chance(70))
            bytes = std::min(bytes, page);
        else if (bytes > 8)
            bytes = (1 + rnd(bytes / 8)) * 8;
        // A pointer nearly full would otherwise stand still for long.
        if (bytes < page && ring - bytes > 64 && chance(80))
            return;
    }
    if (!bytes)
        return;
    const Job j{s, w.drains.size(), w.drained, bytes, dram_next};
    w.drains.emplace_back(0, bytes);
    w.drained += bytes;
    dram_next += (bytes + 63) & ~63u;
    jobs.push_back(j);
    all_jobs.push_back(j);
    bench.write(CORE_DRAIN_POS, j.pos);
    bench.write(CORE_DRAIN_DST, j.dst);
    bench.write(CORE_DRAIN_PUSH, s << CORE_DRAIN_PUSH_STREAM_ID_SHIFT | bytes);
}

bool Run::check_output(const StreamModel &model) {
    std::map<uint32_t, uint8_t> dram;
    for (const OutPacket &p : bench.sent)
        for (size_t i = 0; i < p.bytes.size(); i++)
            dram[p.addr + static_cast<uint32_t>(i)] = p.bytes[i];
    size_t total = 0;
    for (const Job &j : all_jobs) {
        total += j.bytes;
        for (uint32_t i = 0; i < j.bytes; i++) {
            const auto found = dram.find(j.dst + i);
            if (found == dram.end() || found->second != model.output[j.stream][j.pos + i]) {
                std::printf("seed %" PRIu64 ": drained byte %u of stream %u is wrong\n", seed, j.pos + i, j.stream);
                return false;
            }
        }
    }
    if (total != dram.size()) {
        std::printf("seed %" PRIu64 ": %zu bytes drained, %zu asked for\n", seed, dram.size(), total);
        return false;
    }
    return true;
}

bool Run::go(uint64_t &compared, StreamModel *totals) {
    s_log2 = rnd(4);
    streams = 1u << s_log2;
    ring = 65536u >> s_log2;
    const unsigned ring_log2 = 16 - s_log2;
    // At least two pages a ring: with one, a load across the end of the page waits for a page that has no room.
    page_log2 = chance(50) ? std::min(12u, ring_log2 - 1) : 9 + rnd(ring_log2 - 9);
    page = 1u << page_log2;
    has_epilogue = chance(80);
    bench.in_percent = chance(50) ? 100 : static_cast<int>(20 + rnd(80));
    bench.out_percent = chance(50) ? 100 : static_cast<int>(10 + rnd(90));
    feed_percent = chance(60) ? 100 : 1 + rnd(20);
    drain_percent = 1 + rnd(50);

    bench.partition(s_log2, page_log2);
    const std::vector<Word> program = make_program();
    bench.load_program(program);
    for (unsigned s = 0; s < streams; s++) {
        Stream w;
        w.end = chance(10) ? rnd(8) : rnd(std::min(3 * ring, 100000u));
        w.marked.resize((w.end + page - 1) / page);
        w.started.resize(w.marked.size());
        world.push_back(w);
    }
    for (unsigned s = 0; s < streams; s++)
        if (chance(50) || world[s].end == 0)
            mark_end(s);
    bench.on_delivered = [&](const Packet &p) { delivered(p); };

    StreamModel model(s_log2, page_log2, program, 0);
    // Past the end the last beat holds what the bench fills up with.
    model.input = [&](unsigned s, uint32_t pos) {
        return pos < world[s].end ? hash_byte(seed, s, pos) : Bench::kFiller;
    };
    uint64_t now = 0;
    model.bounds = [&](unsigned s) { return bounds(s, now); };

    bench.start(0);
    uint64_t latest = bench.cycle;
    while (!model.stopped) {
        feed();
        drain(model, false);
        bench.tick();
        collect();
        while (!bench.commits.empty()) {
            const Commit c = bench.commits.front();
            bench.commits.pop_front();
            now = c.cycle;
            const std::string error = model.check(c);
            if (!error.empty()) {
                std::printf("seed %" PRIu64 ", instruction %" PRIu64 ", cycle %" PRIu64 ", pc %08x: %s\n", seed,
                            compared, c.cycle, c.pc, error.c_str());
                return false;
            }
            compared++;
            latest = c.cycle;
        }
        now = bench.cycle;
        if (bench.cycle - latest > 100 && bench.cycle > 200 + kSlack) {
            now = bench.cycle - 60;
            if (model.ready()) {
                std::printf("seed %" PRIu64 ", instruction %" PRIu64 ": stalled at pc %08x for no reason\n", seed,
                            compared, model.pc);
                return false;
            }
            model.count.waits++;
        }
        if (bench.cycle > 20000000) {
            std::printf("seed %" PRIu64 ": the program does not end\n", seed);
            return false;
        }
    }
    bench.run(20);
    bool good = bench.state() == model.state;
    if (!good)
        std::printf("seed %" PRIu64 ": state %u, expected %u\n", seed, bench.state(), model.state);
    for (unsigned s = 0; s < streams; s++)
        if (bench.read(CORE_IHEAD + 4 * s) != model.ihead[s] || bench.read(CORE_OHEAD + 4 * s) != model.ohead[s]) {
            std::printf("seed %" PRIu64 ": Heads of stream %u differ\n", seed, s);
            good = false;
        }
    // The rest of the output.
    for (int i = 0; i < 2000; i++) {
        drain(model, true);
        bench.run(4);
    }
    while (bench.top.io_running)
        bench.run(1);
    good &= check_output(model);
    for (unsigned s = 0; s < streams; s++)
        if (bench.read(CORE_OTAIL + 4 * s) != world[s].drained + ring) {
            std::printf("seed %" PRIu64 ": OTAIL of stream %u differs\n", seed, s);
            good = false;
        }
    totals->count.loads += model.count.loads;
    totals->count.unaligned += model.count.unaligned;
    totals->count.stores += model.count.stores;
    totals->count.read_i += model.count.read_i;
    totals->count.read_o += model.count.read_o;
    totals->count.range_traps += model.count.range_traps;
    totals->count.ends += model.count.ends;
    return good;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s SEED PROGRAMS\n", argv[0]);
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 0);
    const unsigned programs = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 0));
    unsigned passed = 0, failed = 0;
    uint64_t compared = 0;
    StreamModel totals(0, 9, {}, 0);
    const auto begin = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < programs; i++) {
        Run run(seed + i);
        run.go(compared, &totals) ? passed++ : failed++;
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const auto &n = totals.count;
    std::printf("stream_cosim: seed %" PRIu64 ", %" PRIu64 " instructions in %.1f s: %" PRIu64 " loads (%" PRIu64
                " unaligned), %" PRIu64 " stores, %" PRIu64 " ReadIStream, %" PRIu64 " ReadOStream, %" PRIu64
                " range traps, %" PRIu64 " ends of stream\n",
                seed, compared, seconds, n.loads, n.unaligned, n.stores, n.read_i, n.read_o, n.range_traps, n.ends);
    std::printf("stream_cosim: %u passed, %u failed\n", passed, failed);
    return failed != 0;
}
