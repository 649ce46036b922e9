// SPDX-License-Identifier: BSD-3-Clause
// The tile of AssasinV: the vector unit on the scratchpad beside scalar accesses. Usage: vector_tile SEED ROUNDS
#include <algorithm>
#include <array>

#include "bench.h"
#include "check.h"
#include "rv_asm.h"

using namespace cosim;
using namespace rv;

namespace {

constexpr uint32_t kBase = ASSASIN_CORE_SPAD_BASE, kBytes = 0x10000, kVectorBytes = 32;
constexpr unsigned kE8M1 = 0, kE8M8 = 3, kVectorState = 0x600; ///< vtype; mstatus.VS

Checks checks;

// Words that only this bench needs. `width`: 0 for bytes.
constexpr Word vle8(unsigned vd, unsigned rs1) {
    return 0x02000007u | rs1 << 15 | vd << 7;
}
constexpr Word vse8(unsigned vs3, unsigned rs1) {
    return 0x02000027u | rs1 << 15 | vs3 << 7;
}
constexpr Word vmv_v_i(unsigned vd, int value) {
    return 0x5e003057u | (static_cast<Word>(value) & 31) << 15 | vd << 7;
}
constexpr Word vor_vv(unsigned vd, unsigned vs2, unsigned vs1) {
    return 0x2a000057u | vs2 << 20 | vs1 << 15 | vd << 7;
}

void li(std::vector<Word> &code, unsigned rd, uint32_t value) {
    const int32_t low = static_cast<int32_t>(value << 20) >> 20;
    code.push_back(lui(rd, value - static_cast<uint32_t>(low)));
    code.push_back(addi(rd, rd, low));
}

std::vector<Word> begin(unsigned vtype, uint32_t elements) {
    std::vector<Word> code;
    li(code, 5, kVectorState);
    code.push_back(csrrs(0, 0x300, 5));
    li(code, 6, elements);
    code.push_back(vsetvli(0, 6, vtype));
    return code;
}

bool run_program(Bench &b, const std::vector<Word> &code) {
    b.write(CORE_CTRL, 0);
    b.load_program(code);
    b.commits.clear();
    b.start(0);
    return b.wait_stop(200000);
}

void fault(const char *name, uint32_t address, Word access, uint32_t cause, uint32_t tval) {
    Bench b(1);
    std::vector<Word> code = begin(kE8M1, kVectorBytes);
    li(code, 7, address);
    code.push_back(access);
    checks.test = name;
    checks.is_true("stops", run_program(b, code));
    checks.equal("state", b.state(), CORE_STATE_TRAPPED);
    checks.equal("cause", b.read(CORE_STATUS) >> CORE_STATUS_CAUSE_SHIFT & CORE_STATUS_CAUSE_MASK, cause);
    checks.equal("tval", b.read(CORE_TVAL), tval);
}

void test_faults() {
    fault("load across the end", kBase + kBytes - 5, vle8(1, 7), 5, kBase + kBytes);
    fault("store across the end", kBase + kBytes - 9, vse8(1, 7), 7, kBase + kBytes);
    fault("load below", kBase - 1, vle8(1, 7), 5, kBase - 1);
    fault("load at the end of addresses", 0xfffffff8u, vle8(1, 7), 5, 0xfffffff8u);
    fault("load of the input buffer", ASSASIN_CORE_ISB_BASE, vle8(1, 7), 5, ASSASIN_CORE_ISB_BASE);
}

// A program sees nothing of the registers that the one before it left, also when it starts at once.
void test_erased() {
    checks.test = "registers of another program";
    Bench b(2);
    std::vector<Word> code = begin(kE8M1, kVectorBytes);
    for (unsigned v = 0; v < 32; v++)
        code.push_back(vmv_v_i(v, -1));
    code.push_back(ecall);
    checks.is_true("the first stops", run_program(b, code));
    checks.equal("the first", b.state(), CORE_STATE_EXITED);
    code = begin(kE8M1, kVectorBytes);
    for (unsigned v = 1; v < 32; v++)
        code.push_back(vor_vv(0, 0, v));
    li(code, 7, kBase);
    code.insert(code.end(), {vse8(0, 7), addi(10, 0, 0)});
    for (unsigned i = 0; i < kVectorBytes / 4; i++) {
        code.push_back(lw(11, 7, static_cast<int>(4 * i)));
        code.push_back(op(6, 0, 10, 10, 11));
    }
    code.push_back(ecall);
    checks.is_true("the second stops", run_program(b, code));
    checks.equal("the second", b.state(), CORE_STATE_EXITED);
    checks.equal("bits that were left", b.read(CORE_EXIT_CODE), 0);
}

// The unit's counters in the tile's registers.
void test_counters() {
    checks.test = "counters";
    Bench b(3);
    std::vector<Word> code = begin(kE8M1, kVectorBytes);
    li(code, 7, kBase);
    for (unsigned i = 0; i < 20; i++)
        code.push_back(vle8(i, 7));
    for (unsigned i = 0; i < 5; i++)
        code.push_back(vor_vv(24, 1, 2));
    for (unsigned i = 0; i < 3; i++)
        code.push_back(vse8(24, 7));
    // Waits for the stores: what happens behind the end is not counted.
    code.insert(code.end(), {lw(12, 7, 0), ecall});
    checks.is_true("stops", run_program(b, code));
    checks.equal("instructions", b.read(CORE_VECTOR_ISSUED_LO), 28);
    checks.equal("loads", b.read(CORE_VECTOR_LOAD_BEATS_LO), 20);
    checks.equal("operations", b.read(CORE_VECTOR_EXECUTE_BEATS_LO), 5);
    checks.equal("stores", b.read(CORE_VECTOR_STORE_BEATS_LO), 3);
    uint32_t sum = 0;
    for (uint32_t at = CORE_VECTOR_ISSUED_LO; at <= CORE_VECTOR_WAIT_UNIT_LO; at += 8)
        sum += b.read(at);
    checks.equal("the cycles of all reasons", sum, b.read(CORE_CYCLES_LO));
    b.write(CORE_CTRL, 0);
    b.write(CORE_CTRL, 1u << CORE_CTRL_CLEAR_SHIFT);
    for (uint32_t at = CORE_VECTOR_ISSUED_LO; at <= CORE_VECTOR_PACK_BEATS_HI; at += 4)
        checks.equal("cleared", b.read(at), 0);
}

// Loads and stores of vectors and words, anywhere in a few hundred bytes so that they meet.
void random_accesses(uint64_t seed) {
    checks.test = "random accesses";
    std::mt19937_64 rng(seed);
    const auto roll = [&rng](uint32_t n) { return static_cast<uint32_t>(rng() % n); };
    Bench b(seed);
    const bool large = roll(2);
    const uint32_t most = large ? 8 * kVectorBytes : kVectorBytes, elements = 1 + roll(most);
    const uint32_t window = 4 * most, first = kBase + roll(kBytes - window - most) / 4 * 4;
    std::vector<uint8_t> memory(window + most, 0);
    std::array<std::vector<uint8_t>, 4> registers;
    registers.fill(std::vector<uint8_t>(most, 0));
    std::vector<Word> code = begin(large ? kE8M8 : kE8M1, elements);
    li(code, 7, first);
    for (uint32_t i = 0; i < memory.size(); i += 4)
        code.push_back(sw(0, 7, static_cast<int>(i)));
    std::vector<uint32_t> loaded;
    for (unsigned i = 0; i < 150; i++) {
        const uint32_t word = roll(window / 4) * 4, byte = roll(window);
        const unsigned v = roll(4);
        switch (roll(4)) {
        case 0: {
            const uint32_t value = static_cast<uint32_t>(rng());
            li(code, 9, value);
            code.push_back(sw(9, 7, static_cast<int>(word)));
            for (unsigned k = 0; k < 4; k++)
                memory[word + k] = static_cast<uint8_t>(value >> 8 * k);
            break;
        }
        case 1:
            code.push_back(lw(12, 7, static_cast<int>(word)));
            loaded.push_back(memory[word] | memory[word + 1] << 8 | memory[word + 2] << 16 |
                             static_cast<uint32_t>(memory[word + 3]) << 24);
            break;
        case 2:
            code.insert(code.end(), {addi(8, 7, static_cast<int>(byte)), vle8(8 * v, 8)});
            std::copy_n(memory.begin() + byte, elements, registers[v].begin());
            break;
        default:
            code.insert(code.end(), {addi(8, 7, static_cast<int>(byte)), vse8(8 * v, 8)});
            std::copy_n(registers[v].begin(), elements, memory.begin() + byte);
        }
    }
    for (uint32_t i = 0; i < memory.size(); i += 4) {
        code.push_back(lw(12, 7, static_cast<int>(i)));
        loaded.push_back(memory[i] | memory[i + 1] << 8 | memory[i + 2] << 16 |
                         static_cast<uint32_t>(memory[i + 3]) << 24);
    }
    code.push_back(ecall);
    checks.is_true("stops", run_program(b, code));
    checks.equal("state", b.state(), CORE_STATE_EXITED);
    size_t at = 0;
    unsigned wrong = 0;
    for (const Commit &c : b.commits)
        if (c.wen && c.rd == 12)
            wrong += at >= loaded.size() || c.wdata != loaded[at++];
    checks.equal("words loaded", at, loaded.size());
    checks.equal("wrong words", wrong, 0);
    if (wrong)
        std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s SEED ROUNDS\n", argv[0]);
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 0), rounds = std::strtoull(argv[2], nullptr, 0);
    test_faults();
    test_erased();
    test_counters();
    for (uint64_t i = 0; i < rounds; i++)
        random_accesses(seed + i);
    return checks.report("vector_tile");
}
