// SPDX-License-Identifier: BSD-3-Clause
// Directed tests of one StreamCore: traps, CSRs, registers, crossbar windows, streams, drains, and the cost of
// instructions.
#include <chrono>
#include <cstring>
#include <functional>
#include <vector>

#include "bench.h"
#include "check.h"
#include "rv_asm.h"

using namespace cosim;
using namespace rv;

namespace {

Checks checks;
constexpr uint32_t kSpad = 0x10000000;
constexpr uint32_t kTrapped = CORE_STATE_TRAPPED, kExited = CORE_STATE_EXITED, kHung = CORE_STATE_HUNG;

void li(std::vector<Word> &code, unsigned rd, uint32_t value) {
    const int32_t low = static_cast<int32_t>(value << 20) >> 20;
    code.push_back(lui(rd, value - static_cast<uint32_t>(low)));
    code.push_back(addi(rd, rd, low));
}

uint32_t cause(Bench &b) {
    return b.read(CORE_STATUS) >> CORE_STATUS_CAUSE_SHIFT & CORE_STATUS_CAUSE_MASK;
}

void run_program(Bench &b, const std::vector<Word> &code, uint32_t entry = 0) {
    b.write(CORE_CTRL, 0);
    b.load_program(code);
    b.commits.clear();
    b.start(entry);
    checks.is_true("stops", b.wait_stop(200000));
}

struct Trap {
    const char *name;
    std::vector<Word> code;
    uint32_t cause, pc, tval;
};

void test_traps() {
    checks.test = "traps";
    const std::vector<Trap> traps = {
        {"illegal zero", {nop, 0}, 2, 4, 0},
        {"illegal", {nop, 0xffffffff}, 2, 4, 0xffffffff},
        {"ebreak", {ebreak}, 3, 0, 0},
        {"lh misaligned", {lui(5, kSpad), load(1, 6, 5, 1)}, 4, 4, kSpad + 1},
        {"lw misaligned", {lui(5, kSpad), load(2, 6, 5, 2)}, 4, 4, kSpad + 2},
        {"sh misaligned", {lui(5, kSpad), store(1, 6, 5, 3)}, 6, 4, kSpad + 3},
        {"sw misaligned", {lui(5, kSpad), store(2, 6, 5, 1)}, 6, 4, kSpad + 1},
        {"load below", {lui(5, kSpad), load(4, 6, 5, -1)}, 5, 4, kSpad - 1},
        {"load above", {lui(5, kSpad + 0x10000), load(4, 6, 5, 0)}, 5, 4, kSpad + 0x10000},
        {"load from instructions", {lw(6, 0, 0)}, 5, 0, 0},
        {"store above", {lui(5, kSpad + 0x10000), sw(6, 5, 0)}, 7, 4, kSpad + 0x10000},
        {"store to instructions", {sw(6, 0, 4), nop, nop}, 7, 0, 4},
        {"misaligned before fault", {load(2, 6, 0, 1)}, 4, 0, 1},
        {"fetch outside", {lui(5, 0x8000), jalr(1, 5, 0)}, 1, 0x8000, 0x8000},
        {"fetch far outside", {lui(5, 0x80000000), jalr(1, 5, 8)}, 1, 0x80000008, 0x80000008},
        {"jal misaligned", {jal(1, 6)}, 0, 0, 6},
        {"jalr misaligned", {addi(5, 0, 2), jalr(1, 5, 0)}, 0, 4, 2},
        {"jalr drops bit 0", {addi(5, 0, 9), jalr(0, 5, 0), ebreak, ebreak}, 3, 8, 8},
        {"branch misaligned", {beq(0, 0, 6)}, 0, 0, 6},
        {"branch backward misaligned", {nop, nop, nop, nop, beq(0, 0, -6)}, 0, 16, 10},
        {"untaken branch may be misaligned", {bne(0, 0, 6), ebreak}, 3, 4, 4},
        {"CSR absent", {csrr(5, 0x7c0)}, 2, 0, csrr(5, 0x7c0)},
        {"CSR read-only", {csrw(0xcc0, 5)}, 2, 0, csrw(0xcc0, 5)},
        {"time is absent", {csrr(5, 0xc01)}, 2, 0, csrr(5, 0xc01)},
        {"load stream 1 of 1", {stream_load(4, 5, 1)}, 2, 0, stream_load(4, 5, 1)},
        {"store stream 8", {stream_store(0, 5, 8)}, 2, 0, stream_store(0, 5, 8)},
        {"stream width 3", {stream_load(3, 5, 0)}, 2, 0, stream_load(3, 5, 0)},
        {"stream store width 4", {stream_store(4, 5, 0)}, 2, 0, stream_store(4, 5, 0)},
        {"stream load with rs2", {stream_load(4, 5, 0) | 1 << 20}, 2, 0, stream_load(4, 5, 0) | 1 << 20},
        {"stream store with rd", {stream_store(0, 5, 0) | 1 << 7}, 2, 0, stream_store(0, 5, 0) | 1 << 7},
        {"stream funct7 4", {stream_load(4, 5, 0) | 4u << 25}, 2, 0, stream_load(4, 5, 0) | 4u << 25},
        {"readi before start", {addi(5, 0, 1), stream_readi(0, 6, 0, 5)}, 24, 4, 1},
        {"readi distance 0", {stream_readi(0, 6, 0, 0)}, 24, 0, 0},
        {"reado before start", {addi(5, 0, 4), stream_store(1, 5, 0), stream_reado(2, 6, 0, 5)}, 24, 8, 4},
        {"reado shorter than width", {addi(5, 0, 1), stream_store(2, 5, 0), stream_reado(1, 6, 0, 5)}, 24, 8, 1},
    };
    for (const Trap &t : traps) {
        checks.test = t.name;
        Bench b(1);
        b.partition(0, 12);
        std::vector<Word> code = t.code;
        // What follows must have no effect.
        code.push_back(addi(10, 0, 77));
        code.push_back(ecall);
        run_program(b, code);
        checks.equal("state", b.state(), kTrapped);
        checks.equal("cause", cause(b), t.cause);
        checks.equal("pc", b.read(CORE_PC), t.pc);
        checks.equal("tval", b.read(CORE_TVAL), t.tval);
        checks.equal("event", b.read(CORE_EVENT), 1);
        checks.equal("event line", b.top.io_event, 1);
        b.write(CORE_EVENT, 1);
        checks.equal("event cleared", b.read(CORE_EVENT), 0);
    }
}

void test_exit_and_restart() {
    checks.test = "exit and restart";
    Bench b(2);
    b.partition(0, 12);
    checks.equal("idle", b.state(), CORE_STATE_IDLE);
    std::vector<Word> code;
    for (unsigned r = 1; r < 32; r++)
        code.push_back(addi(r, 0, static_cast<int32_t>(r * 3)));
    code.push_back(csrw(kMscratch, 5));
    code.push_back(csrw(ASSASIN_CSR_SEPILOGUE, 5));
    code.push_back(ecall);
    const uint32_t second = static_cast<uint32_t>(code.size()) * 4;
    // Sum of all registers and cleared CSRs: 0 if they were cleared.
    for (unsigned r = 1; r < 32; r++)
        if (r != 10)
            code.push_back(add(10, 10, r));
    for (unsigned address : {unsigned(kMscratch), unsigned(ASSASIN_CSR_SEPILOGUE), unsigned(kMtvec), unsigned(kMepc)}) {
        code.push_back(csrr(5, address));
        code.push_back(add(10, 10, 5));
    }
    code.push_back(ecall);
    run_program(b, code);
    checks.equal("state", b.state(), kExited);
    checks.equal("exit code", b.read(CORE_EXIT_CODE), 30);
    checks.equal("pc", b.read(CORE_PC), second - 4);
    const uint32_t instret = b.read(CORE_INSTRET_LO);
    checks.equal("instructions (ECALL does not retire)", instret, 33);
    b.write(CORE_CTRL, 0);
    checks.equal("idle", b.state(), CORE_STATE_IDLE);
    b.start(second | 3);
    checks.is_true("stops", b.wait_stop(1000));
    checks.equal("exit code after restart", b.read(CORE_EXIT_CODE), 0);
    checks.equal("counters go on", b.read(CORE_INSTRET_LO), instret + 30 + 8);
    b.write(CORE_CTRL, 2);
    checks.equal("CLEAR clears counters", b.read(CORE_INSTRET_LO) | b.read(CORE_CYCLES_LO), 0);

    // RUN = 0 stops an endless loop at once.
    b.load_program({addi(5, 5, 1), jal(0, -4)});
    b.start(0);
    b.run(100);
    checks.equal("runs", b.state(), CORE_STATE_RUNNING);
    b.write(CORE_CTRL, 0);
    b.commits.clear();
    b.run(50);
    checks.is_true("nothing retires any more", b.commits.size() <= 2);
    checks.equal("no STOPPED event from RUN = 0", b.read(CORE_EVENT) & 1, 1); // that of the earlier exits
}

// Runs code that leaves its answer in a0.
uint32_t answer(const std::vector<Word> &code, uint32_t hart = 0) {
    Bench b(3);
    b.top.io_hartId = hart;
    b.partition(1, 12);
    std::vector<Word> all = code;
    all.push_back(ecall);
    run_program(b, all);
    checks.equal("state", b.state(), kExited);
    return b.read(CORE_EXIT_CODE);
}

void test_csrs() {
    checks.test = "CSRs";
    checks.equal("misa", answer({csrr(10, kMisa)}), 0x40001100);
    checks.equal("misa ignores writes", answer({csrw(kMisa, 0), csrr(10, kMisa)}), 0x40001100);
    checks.equal("mstatus", answer({csrr(10, kMstatus)}), 0x1800);
    checks.equal("mstatus fields", answer({addi(5, 0, -1), csrw(kMstatus, 5), csrr(10, kMstatus)}), 0x1888);
    checks.equal("mie fields", answer({addi(5, 0, -1), csrw(kMie, 5), csrr(10, kMie)}), 0x888);
    checks.equal("mip", answer({addi(5, 0, -1), csrw(kMip, 5), csrr(10, kMip)}), 0);
    checks.equal("mtvec mode is direct",
                 answer({addi(5, 0, 15), csrrw(0, kMtvec, 5), csrr(10, kMtvec), csrw(kMtvec, 0)}), 12);
    checks.equal("mepc is word aligned", answer({addi(5, 0, -1), csrw(kMepc, 5), csrr(10, kMepc)}), 0xfffffffc);
    checks.equal("mhartid", answer({csrr(10, kMhartid)}, 5), 5);
    checks.equal("mscratch set and clear",
                 answer({addi(5, 0, 0x7f), csrw(kMscratch, 5), csr(7, 0, kMscratch, 3), csr(6, 10, kMscratch, 0)}),
                 0x7c);
    checks.equal("csrrw reads the old value", answer({csr(5, 0, kMscratch, 9), csrrw(10, kMscratch, 0)}), 9);
    checks.equal("identification reads 0",
                 answer({csrr(5, 0xf11), csrr(6, 0xf12), csrr(7, 0xf13), add(10, 5, 6), add(10, 10, 7)}), 0);
    checks.equal(
        "event counters read 0",
        answer({csrw(0xb03, 10), csrr(5, 0xb03), csrr(6, 0xb9f), csrr(7, 0x323), add(10, 5, 6), add(10, 10, 7)}), 0);
    checks.equal("no triggers", answer({csrw(0x7a0, 10), csrr(5, 0x7a0), csrr(6, 0x7a1), add(10, 5, 6)}), 0);
    checks.equal("minstret counts what came before", answer({csrw(kMinstret, 0), nop, nop, csrr(10, kMinstret)}), 2);
    checks.equal("minstret after a write", answer({addi(5, 0, 100), csrw(kMinstret, 5), csrr(10, kMinstret)}), 100);
    checks.equal("mcycle counts",
                 answer({csrw(kMcycle, 0), csrr(5, kMcycle), nop, nop, csrr(6, kCycle), sub(10, 6, 5)}), 3);
    checks.equal("mcycle carries",
                 answer({addi(5, 0, -1), csrw(kMcycleh, 0), csrw(kMcycle, 5), nop, nop, csrr(10, 0xc80)}), 1);
    checks.equal("STREAMCFG of 2 streams", answer({csrr(10, ASSASIN_CSR_STREAMCFG)}), 15 << 8 | 2);
    checks.equal("IEND unknown", answer({csrr(10, ASSASIN_CSR_IEND + 1)}), 0xffffffff);
    checks.equal("OTAIL starts at the ring", answer({csrr(10, ASSASIN_CSR_OTAIL)}), 0x8000);
    checks.equal("SEPILOGUE",
                 answer({addi(5, 0, 0x123), csrw(ASSASIN_CSR_SEPILOGUE, 5), csrr(10, ASSASIN_CSR_SEPILOGUE)}), 0x120);
    checks.equal("WFI and fences do nothing", answer({wfi, fence_i, 0x0ff0000f, addi(10, 0, 1)}), 1);

    // A handler sees cause, value and PC, and MRET restores the interrupt enable.
    checks.test = "trap handler";
    const std::vector<Word> code = {
        addi(5, 0, 40),
        csrw(kMtvec, 5),
        csr(6, 0, kMstatus, 8), // MIE
        ecall,                  // 12
        csrr(11, kMstatus),
        add(10, 10, 11),
        csrw(kMtvec, 0),
        ecall,
        nop,
        nop,
        // 40:
        csrr(10, kMcause),
        csrr(6, kMepc),
        add(10, 10, 6),
        csrr(7, kMstatus),
        add(10, 10, 7),
        addi(6, 6, 4),
        csrw(kMepc, 6),
        mret,
    };
    checks.equal("sum", answer(code), 11 + 12 + 0x1880 + 0x1888);
}

void test_windows() {
    checks.test = "crossbar windows";
    Bench b(4);
    b.partition(0, 12);
    std::vector<uint8_t> data(64);
    for (size_t i = 0; i < data.size(); i++)
        data[i] = static_cast<uint8_t>(i + 1);
    b.load(ASSASIN_XB_SPAD_BASE, data.data(), 64);
    const uint8_t three[3] = {0xaa, 0xbb, 0xcc};
    b.load(ASSASIN_XB_SPAD_BASE + 16, three, 3);
    std::vector<Word> code = {lui(5, kSpad), lw(10, 5, 16), lw(6, 5, 20), add(10, 10, 6), ecall};
    run_program(b, code);
    checks.equal("a partial beat writes only its bytes", b.read(CORE_EXIT_CODE), 0x14ccbbaa + 0x18171615u);
    // While RUN is 1 both windows are closed.
    std::vector<Word> junk(16, ebreak);
    b.load(ASSASIN_XB_IMEM_BASE, junk.data(), 64);
    b.load(ASSASIN_XB_SPAD_BASE, junk.data(), 64);
    b.write(CORE_CTRL, 0);
    b.start(0);
    checks.is_true("stops", b.wait_stop(1000));
    checks.equal("exit code again", b.read(CORE_EXIT_CODE), 0x14ccbbaa + 0x18171615u);
    // Raw window of the input buffer: bytes appear in the stream once the firmware moves the Tail.
    b.write(CORE_CTRL, 0);
    b.load(ASSASIN_XB_ISB_BASE, data.data(), 64);
    b.write(CORE_ITAIL, 64);
    run_program(b, {stream_load(4, 5, 0), stream_load(2, 10, 0), ecall});
    checks.equal("doorbell", b.read(CORE_EXIT_CODE), 0x05040302);
    checks.equal("IHEAD", b.read(CORE_IHEAD), 5);
}

// A page of stream `s` at `pos`, byte = hash of position.
uint8_t stream_byte(unsigned s, uint32_t pos) {
    return static_cast<uint8_t>((pos * 2654435761u >> 13) + s * 37);
}
void send_page(Bench &b, unsigned s, uint32_t pos, uint32_t bytes) {
    for (uint32_t at = 0; at < bytes; at += 64) {
        Packet p;
        p.addr = pos + at;
        p.to_stream = true;
        p.stream = s;
        p.mark = at + 64 >= bytes;
        for (uint32_t i = at; i < std::min(bytes, at + 64); i++)
            p.bytes.push_back(stream_byte(s, pos + i));
        b.queue.push_back(p);
    }
}

void test_marks() {
    checks.test = "slot marks";
    Bench b(5);
    for (unsigned s_log2 = 0; s_log2 < 4; s_log2++) {
        const uint32_t ring = 65536u >> s_log2, page = 1024, pages = ring / page;
        b.partition(s_log2, 10);
        for (unsigned s = 0; s < 1u << s_log2; s++) {
            const uint8_t room[8] = {b.top.io_room_0, b.top.io_room_1, b.top.io_room_2, b.top.io_room_3,
                                     b.top.io_room_4, b.top.io_room_5, b.top.io_room_6, b.top.io_room_7};
            checks.equal("room after the partition", room[s], pages % 256);
            // Last page first: the Tail stays until the first one is in.
            for (uint32_t q = pages; q-- > 1;)
                send_page(b, s, q * page, page);
            b.flush();
            b.run(40);
            checks.equal("ITAIL before the first page", b.read(CORE_ITAIL + 4 * s), 0);
            send_page(b, s, 0, page);
            b.flush();
            b.run(40 * pages);
            checks.equal("ITAIL with all pages", b.read(CORE_ITAIL + 4 * s), ring);
            b.write(CORE_IEND + 4 * s, ring - 100);
            b.write(CORE_IEND_VALID, b.read(CORE_IEND_VALID) | 1u << s);
            checks.equal("ITAIL does not pass the end", b.read(CORE_ITAIL + 4 * s), ring - 100);
        }
    }
    b.write(CORE_CTRL, 2);
    checks.equal("CLEAR: ITAIL", b.read(CORE_ITAIL), 0);
    checks.equal("CLEAR: IEND_VALID", b.read(CORE_IEND_VALID), 0);
    send_page(b, 0, 1024, 1024);
    b.flush();
    b.run(100);
    checks.equal("no mark survives a CLEAR", b.read(CORE_ITAIL), 0);
}

void test_end_of_stream() {
    checks.test = "end of stream";
    Bench b(6);
    b.partition(0, 9);
    b.write(CORE_IEND, 7);
    b.write(CORE_IEND_VALID, 1);
    send_page(b, 0, 0, 7);
    b.flush();
    // Without an epilogue: hangs at the word that is not whole any more.
    std::vector<Word> code = {stream_load(2, 5, 0), addi(6, 0, 1), stream_load(2, 6, 0), addi(6, 0, 2), ecall};
    run_program(b, code);
    checks.equal("state", b.state(), kHung);
    checks.equal("pc", b.read(CORE_PC), 8);
    checks.equal("IHEAD", b.read(CORE_IHEAD), 4);
    // With one: rd is not written, smaller loads still work.
    code = {addi(5, 0, 24),  csrw(ASSASIN_CSR_SEPILOGUE, 5),
            addi(10, 0, 5),  stream_load(2, 10, 0),
            addi(10, 0, 99), ecall,
            addi(10, 10, 1), stream_load(5, 6, 0),
            add(10, 10, 6),  ecall};
    run_program(b, code);
    checks.equal("state", b.state(), kExited);
    checks.equal("exit code", b.read(CORE_EXIT_CODE), 6u + stream_byte(0, 4) + (stream_byte(0, 5) << 8));
    // The end becomes known while the core waits.
    b.write(CORE_CTRL, 2);
    b.load_program(
        {addi(5, 0, 16), csrw(ASSASIN_CSR_SEPILOGUE, 5), stream_load(4, 5, 0), ebreak, addi(10, 0, 3), ecall});
    b.start(0);
    b.run(100);
    checks.equal("waits for input", b.read(CORE_STATUS) & 0xff, CORE_STATE_RUNNING | 1u << CORE_STATUS_WAIT_IN_SHIFT);
    b.write(CORE_IEND_VALID, 1);
    checks.is_true("stops", b.wait_stop(100));
    checks.equal("exit code", b.read(CORE_EXIT_CODE), 3);
    checks.is_true("waiting was counted", b.read(CORE_WAIT_IN_CYCLES_LO) > 50);
}

void test_drain() {
    checks.test = "drain";
    Bench b(7);
    b.partition(1, 10); // two streams of 32 KiB
    // Fills stream 1 with 32 KiB + 2 KiB of counting words.
    std::vector<Word> code;
    li(code, 6, (32768 + 2048) / 4);
    code.insert(code.end(), {stream_store(2, 5, 1), addi(5, 5, 1), bne(5, 6, -8), addi(10, 0, 0), ecall});
    b.load_program(code);
    b.start(0);
    b.run(40000);
    checks.equal("waits for room on stream 1", b.read(CORE_STATUS) & 0xff,
                 CORE_STATE_RUNNING | 1u << CORE_STATUS_WAIT_OUT_SHIFT | 1u << CORE_STATUS_STREAM_ID_SHIFT);
    checks.equal("OHEAD", b.read(CORE_OHEAD + 4), 32768);
    checks.equal("OUT_READY", b.read(CORE_OUT_READY), 2);
    checks.equal("EVENT", b.read(CORE_EVENT), 4);
    checks.equal("queue", b.read(CORE_DRAIN_STATE), 4);
    b.out_percent = 60;
    const auto push = [&](unsigned s, uint32_t pos, uint32_t dst, uint32_t bytes) {
        b.write(CORE_DRAIN_POS, pos);
        b.write(CORE_DRAIN_DST, dst);
        b.write(CORE_DRAIN_PUSH, s << CORE_DRAIN_PUSH_STREAM_ID_SHIFT | bytes);
    };
    push(1, 0, 0x80000000, 32768 - 1024);
    checks.equal("still a page", b.read(CORE_OUT_READY) | (b.run(20), b.read(CORE_OUT_READY)), 2);
    push(1, 32768 - 1024, 0x80010000, 1024);
    checks.equal("all covered", b.read(CORE_OUT_READY), 0);
    while ((b.read(CORE_DRAIN_STATE) >> 16) < 2)
        b.run(10);
    checks.equal("DRAINED", b.read(CORE_EVENT) & 2, 2);
    checks.is_true("the core ends", b.wait_stop(40000));
    checks.equal("OTAIL", b.read(CORE_OTAIL + 4), 65536);
    checks.equal("OTAIL of the other stream", b.read(CORE_OTAIL), 32768);
    push(1, 32768, 0x80020000, 2041);
    while (b.top.io_running)
        b.run(1);
    checks.equal("OTAIL moves by the length", b.read(CORE_OTAIL + 4), 65536 + 2041);
    // What arrived: counting words.
    std::map<uint32_t, uint8_t> dram;
    for (const OutPacket &p : b.sent)
        for (size_t i = 0; i < p.bytes.size(); i++)
            dram[p.addr + static_cast<uint32_t>(i)] = p.bytes[i];
    checks.equal("bytes sent", dram.size(), 32768 + 2041);
    unsigned wrong = 0;
    for (const auto &[addr, byte] : dram) {
        const uint32_t pos = addr >= 0x80020000   ? addr - 0x80020000 + 32768
                             : addr >= 0x80010000 ? addr - 0x80010000 + 32768 - 1024
                                                  : addr - 0x80000000;
        wrong += byte != static_cast<uint8_t>(pos / 4 >> 8 * (pos % 4));
    }
    checks.equal("wrong bytes", wrong, 0);

    checks.test = "drain cancelled by CLEAR";
    b.write(CORE_CTRL, 2);
    push(0, 0, 0x80000000, 32768);
    push(0, 0, 0x80000000, 32768);
    b.run(100);
    b.write(CORE_CTRL, 2);
    b.run(200);
    checks.equal("nothing runs", b.top.io_running, 0);
    checks.equal("none done", b.read(CORE_DRAIN_STATE), 4);
    checks.equal("OTAIL", b.read(CORE_OTAIL), 32768);
}

void test_drain_to_core() {
    checks.test = "drain to a core";
    Bench b(9);
    b.cores_listen = true;
    b.out_percent = 70;
    b.partition(1, 10);
    // Two and a half pages of counting words to output stream 1, then the sum of what comes on input stream 1.
    constexpr unsigned words = 640;
    std::vector<Word> code;
    li(code, 6, words);
    code.insert(code.end(), {stream_store(2, 5, 1), addi(5, 5, 1), bne(5, 6, -8)});
    code.insert(code.end(), {stream_load(2, 8, 1), add(10, 10, 8), addi(5, 5, -1), bne(5, 0, -12), ecall});
    b.load_program(code);
    b.start(0);
    unsigned done = 0;
    const auto push = [&](uint32_t pos, uint32_t dst, uint32_t at, uint32_t bytes) {
        b.write(CORE_DRAIN_POS, pos);
        b.write(CORE_DRAIN_DST, dst);
        b.write(CORE_DRAIN_DST_POS, at);
        b.write(CORE_DRAIN_PUSH, 1u << CORE_DRAIN_PUSH_STREAM_ID_SHIFT | bytes | 1u << CORE_DRAIN_PUSH_TO_CORE_SHIFT);
        done++;
    };
    const auto wait = [&] {
        while ((b.read(CORE_DRAIN_STATE) >> 16) != done)
            b.run(1);
    };
    b.run(4000);
    checks.equal("OHEAD", b.read(CORE_OHEAD + 4), 4 * words);
    const uint32_t to_stream =
        1u << CORE_DRAIN_DST_STREAM_SHIFT | 3u << CORE_DRAIN_DST_CORE_SHIFT | 1u << CORE_DRAIN_DST_STREAM_ID_SHIFT;
    push(0, to_stream, 0xFFFFFC00, 1024); // positions wrap
    push(1024, to_stream, 0, 1024);
    push(2048, to_stream, 1024, 512);
    wait();
    uint32_t next = 0xFFFFFC00;
    unsigned wrong = 0, marks = 0;
    for (const OutPacket &p : b.sent) {
        wrong += p.dst != 3 || !p.to_stream || p.stream != 1 || p.addr != next || p.bytes.size() != 64;
        next += static_cast<uint32_t>(p.bytes.size());
        marks += p.mark;
        wrong += p.mark != (next % 1024 == 0 || next == 1024 + 512);
    }
    checks.equal("wrong packets", wrong, 0);
    checks.equal("marks", marks, 3);
    checks.equal("bytes", b.sent.size() * 64, 4 * words);
    checks.equal("OTAIL", b.read(CORE_OTAIL + 4), 32768 + 4 * words);

    // What came out is taken as input, the way another core's crossbar port would see it.
    for (const OutPacket &p : b.sent)
        b.queue.push_back({p.addr + 1024, p.bytes, p.to_stream, p.stream, p.mark});
    b.flush();
    b.write(CORE_IEND + 4, 4 * words);
    b.write(CORE_IEND_VALID, 2);
    checks.is_true("the core ends", b.wait_stop(10000));
    checks.equal("sum", b.read(CORE_EXIT_CODE), words * (words - 1) / 2);

    checks.test = "drain to a core's memory";
    b.sent.clear();
    push(8, 2u << CORE_DRAIN_DST_CORE_SHIFT | 0x10018, 0, 100);
    wait();
    checks.equal("packets", b.sent.size(), 2);
    checks.is_true("first", b.sent[0].dst == 2 && !b.sent[0].to_stream && !b.sent[0].mark &&
                                b.sent[0].addr == 0x10018 && b.sent[0].bytes.size() == 64 && b.sent[0].bytes[0] == 2);
    checks.is_true("last",
                   b.sent[1].dst == 2 && !b.sent[1].mark && b.sent[1].addr == 0x10058 && b.sent[1].bytes.size() == 36);

    checks.test = "drain to a core that does not exist";
    b.sent.clear();
    push(8, 1u << CORE_DRAIN_DST_STREAM_SHIFT | 9u << CORE_DRAIN_DST_CORE_SHIFT, 0, 1000);
    wait();
    checks.equal("packets", b.sent.size(), 0);
    checks.equal("OTAIL", b.read(CORE_OTAIL + 4), 32768 + 4 * words + 1100);
}

void test_registers() {
    checks.test = "registers";
    Bench b(8);
    b.write(CORE_PARTITION, 3 | 12 << CORE_PARTITION_PAGE_LOG2_SHIFT);
    checks.equal("PARTITION", b.read(CORE_PARTITION), 3 | 12 << CORE_PARTITION_PAGE_LOG2_SHIFT);
    b.write(CORE_PARTITION, 3 | 16 << CORE_PARTITION_PAGE_LOG2_SHIFT);
    checks.equal("page at most the ring", b.read(CORE_PARTITION), 3 | 13 << CORE_PARTITION_PAGE_LOG2_SHIFT);
    b.write(CORE_PARTITION, 0);
    checks.equal("page at least 512", b.read(CORE_PARTITION), 9 << CORE_PARTITION_PAGE_LOG2_SHIFT);
    checks.equal("EVENT_ENABLE resets to 7", b.read(CORE_EVENT_ENABLE), 7);
    b.write(CORE_EVENT_ENABLE, 2);
    checks.equal("EVENT_ENABLE", b.read(CORE_EVENT_ENABLE), 2);
    b.write(CORE_ENTRY, 0x1234);
    checks.equal("ENTRY", b.read(CORE_ENTRY), 0x1234);
    for (unsigned s = 0; s < 8; s++) {
        b.write(CORE_ITAIL + 4 * s, 0x100 + s);
        b.write(CORE_OTAIL + 4 * s, 0x20000 + s);
        b.write(CORE_IEND + 4 * s, 0x1000000 + s);
    }
    for (unsigned s = 0; s < 8; s++) {
        checks.equal("IHEAD", b.read(CORE_IHEAD + 4 * s), 0);
        checks.equal("ITAIL", b.read(CORE_ITAIL + 4 * s), 0x100 + s);
        checks.equal("OHEAD", b.read(CORE_OHEAD + 4 * s), 0);
        checks.equal("OTAIL", b.read(CORE_OTAIL + 4 * s), 0x20000 + s);
        checks.equal("IEND", b.read(CORE_IEND + 4 * s), 0x1000000 + s);
    }
    checks.equal("an unknown register reads 0", b.read(0x3c) | b.read(0x120) | b.read(0xffc), 0);
    b.load_program({jal(0, 0)});
    b.start(0);
    b.write(CORE_PARTITION, 1 | 12 << CORE_PARTITION_PAGE_LOG2_SHIFT);
    checks.equal("PARTITION is fixed while running", b.read(CORE_PARTITION), 9 << CORE_PARTITION_PAGE_LOG2_SHIFT);
    b.write(CORE_CTRL, 3);
    checks.equal("CLEAR is ignored while running", b.read(CORE_ITAIL + 4), 0x101);
    b.write(CORE_CTRL, 2);
    checks.equal("CLEAR with RUN = 0", b.read(CORE_ITAIL + 4), 0);
}

// Cycles between the commits of the first and the second instruction at `pc`.
uint64_t cycles_between(const Bench &b, uint32_t first_pc, uint32_t last_pc) {
    uint64_t first = 0, last = 0;
    for (const Commit &c : b.commits) {
        if (c.pc == first_pc && !first)
            first = c.cycle;
        if (c.pc == last_pc)
            last = c.cycle;
    }
    return last - first;
}

void test_costs() {
    checks.test = "instruction cost";
    Bench b(9);
    b.partition(0, 12);
    // A run of instructions after a landmark: cycles from the landmark to the one behind the run.
    const auto cost = [&](const std::vector<Word> &run) {
        std::vector<Word> code = {lui(5, kSpad), addi(6, 0, 7), nop, nop, nop};
        code.insert(code.end(), run.begin(), run.end());
        code.insert(code.end(), {nop, nop, ecall});
        run_program(b, code);
        return cycles_between(b, 16, 20 + 4 * static_cast<uint32_t>(run.size())) - 1;
    };
    const auto loop = [&](const std::vector<Word> &body) { // 64 times; cycles of one round
        std::vector<Word> code = {addi(31, 0, 64), lui(5, kSpad), addi(6, 0, 7), nop};
        code.insert(code.end(), body.begin(), body.end());
        const int32_t bytes = static_cast<int32_t>(body.size()) * 4;
        code.insert(code.end(), {addi(31, 31, -1), bne(31, 0, -bytes - 4), ecall});
        run_program(b, code);
        return (cycles_between(b, 16, 16 + static_cast<uint32_t>(bytes)) - (body.size())) / 63.0 + 0.0;
    };
    struct Cost {
        const char *name;
        std::vector<Word> run;
        uint64_t cycles;
    };
    const std::vector<Cost> costs = {
        {"ALU chain of 4", {addi(7, 6, 1), addi(7, 7, 1), addi(7, 7, 1), addi(7, 7, 1)}, 4},
        {"4 loads", {lw(7, 5, 0), lw(8, 5, 4), lw(9, 5, 8), lw(10, 5, 12)}, 4},
        {"load, use", {lw(7, 5, 0), addi(7, 7, 1)}, 3},
        {"load, other, use", {lw(7, 5, 0), nop, addi(7, 7, 1)}, 3},
        {"store, load", {sw(6, 5, 0), lw(7, 5, 0)}, 2},
        {"JAL", {jal(1, 4)}, 1},
        {"JALR", {auipc(7, 0), jalr(1, 7, 8)}, 3},
        {"forward branch, not taken", {bne(0, 0, 8)}, 1},
        {"forward branch, taken", {beq(0, 0, 4)}, 2},
        {"4 multiplications", {mul(7, 6, 6), mul(8, 6, 6), mul(9, 6, 6), mul(10, 6, 6)}, 4},
        {"multiplication, use", {mul(7, 6, 6), add(7, 7, 7)}, 3},
        {"division of a byte", {divu(7, 6, 6)}, 11},
        {"division of 32 bits", {op(4, 1, 7, 5, 6)}, 35},
        {"CSR read, use", {csrr(7, kMscratch), add(7, 7, 7)}, 4},
    };
    for (const Cost &c : costs) {
        const uint64_t got = cost(c.run);
        checks.equal(c.name, got, c.cycles);
        std::printf("  %-28s %3" PRIu64 " cycles\n", c.name, got);
    }
    std::printf("  %-28s %5.1f cycles a round\n", "loop: 2 ALU, addi, bne", loop({nop, nop}));

    checks.test = "stream rate";
    for (unsigned f3 : {4u, 5u, 2u}) {
        b.write(CORE_CTRL, 2);
        for (uint32_t page = 0; page < 16; page++)
            send_page(b, 0, page * 4096, 4096);
        b.flush();
        b.run(100);
        run_program(b, {stream_load(4, 7, 0), ecall}); // an odd position
        std::vector<Word> code = {nop};
        for (int i = 0; i < 1000; i++)
            code.push_back(stream_load(f3, f3 == 4 ? 0 : 7, 0));
        code.push_back(ecall);
        run_program(b, code);
        checks.equal("1000 StreamLoads back to back", cycles_between(b, 0, 4000), 1000);
        unsigned wrong = 0;
        uint32_t pos = 1;
        for (const Commit &c : b.commits)
            if (c.wen) {
                const unsigned width = f3 == 2 ? 4 : 2;
                uint32_t expected = 0;
                for (unsigned i = 0; i < width; i++)
                    expected |= static_cast<uint32_t>(stream_byte(0, pos + i)) << 8 * i;
                wrong += c.wdata != expected;
                pos += width;
            }
        checks.equal("wrong data", wrong, 0);
    }
    const auto stream_cost = [&](const std::vector<Word> &run) {
        b.write(CORE_CTRL, 2);
        send_page(b, 0, 0, 4096);
        b.flush();
        b.run(100);
        return cost(run);
    };
    checks.equal("StreamLoad, use", stream_cost({stream_load(4, 7, 0), add(7, 7, 7)}), 3);
    checks.equal(
        "4 StreamStores",
        stream_cost({stream_store(2, 6, 0), stream_store(0, 6, 0), stream_store(2, 6, 0), stream_store(1, 6, 0)}), 4);
    checks.equal(
        "copy loop body",
        stream_cost({stream_load(2, 7, 0), stream_load(2, 8, 0), stream_store(2, 7, 0), stream_store(2, 8, 0)}), 4);
    checks.equal("ReadIStream", stream_cost({stream_readi(4, 7, 0, 6)}), 3);
    checks.equal("ReadOStream", stream_cost({stream_store(2, 6, 0), stream_store(2, 6, 0), stream_reado(4, 7, 0, 6)}),
                 5);
}

// Simulation speed of one core that streams, single thread.
void report_speed() {
    Bench b(10);
    b.keep_commits = false;
    b.partition(0, 12);
    std::vector<Word> code;
    for (int i = 0; i < 32; i++)
        code.push_back(stream_load(4, 0, 0));
    code.push_back(jal(0, -128));
    b.load_program(code);
    b.start(0);
    const uint64_t cycles = 400000;
    uint32_t next = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < cycles; i++) {
        if (b.queue.empty() && static_cast<int8_t>(b.top.io_room_0 - (next >> 12)) > 0) {
            send_page(b, 0, next, 4096);
            next += 4096;
        }
        b.tick();
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("  one StreamCore, streaming: %.0f kHz, %.3f bytes a cycle\n",
                static_cast<double>(cycles) / seconds / 1e3, b.read(CORE_IHEAD) / static_cast<double>(cycles));
}

} // namespace

int main() {
    test_traps();
    test_exit_and_restart();
    test_csrs();
    test_windows();
    test_marks();
    test_end_of_stream();
    test_drain();
    test_drain_to_core();
    test_registers();
    test_costs();
    report_speed();
    return checks.report("core_tests");
}
