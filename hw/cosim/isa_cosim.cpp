// SPDX-License-Identifier: BSD-3-Clause
// Instruction-by-instruction co-simulation of the StreamCore against spike on random programs.
// Usage: isa_cosim SEED PROGRAMS FOLDER
#include <chrono>
#include <cinttypes>

#include "bench.h"
#include "isa_program.h"
#include "lockstep.h"
#include "spike.h"

using namespace cosim;

namespace {

// Returns the instructions compared, 0 on a mismatch.
uint64_t run_program(uint64_t seed, const std::string &folder) {
    std::mt19937_64 rng(seed);
    ProgramOptions options;
    options.extensions = true;
    const Program program = random_program(rng, options);
    if (program.words.size() * 4 > kImemBytes) {
        std::printf("seed %" PRIu64 ": program of %zu words does not fit\n", seed, program.words.size());
        return 0;
    }
    Spike spike(folder, program.words, kExtendedIsa);
    Bench bench(seed);
    const std::vector<uint8_t> zeros(kSpadBytes);
    bench.load(ASSASIN_XB_SPAD_BASE, zeros.data(), zeros.size());
    bench.load_program(program.words);
    bench.start(kImemBase);

    uint64_t compared = 0, idle = 0;
    for (;;) {
        while (bench.commits.empty() && idle < 1000) {
            bench.tick();
            idle++;
        }
        if (bench.commits.empty()) {
            std::printf("seed %" PRIu64 ": core stuck after %" PRIu64 " instructions, state %u, pc %08x\n", seed,
                        compared, bench.state(), bench.read(CORE_PC));
            return 0;
        }
        idle = 0;
        const Commit ours = bench.commits.front();
        bench.commits.pop_front();
        if (ours.trap)
            continue;
        SpikeCommit theirs{};
        if (!spike.next(theirs)) {
            std::printf("seed %" PRIu64 ": reference ended after %" PRIu64 " instructions\n", seed, compared);
            return 0;
        }
        if (!same(ours, theirs, seed, compared))
            return 0;
        compared++;
        if (ours.pc == program.end_pc)
            return compared;
    }
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s SEED PROGRAMS FOLDER\n", argv[0]);
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 0);
    const unsigned programs = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 0));
    unsigned passed = 0, failed = 0;
    uint64_t total = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < programs; i++) {
        const uint64_t compared = run_program(seed + i, argv[3]);
        total += compared;
        compared ? passed++ : failed++;
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("isa_cosim: seed %" PRIu64 ", %" PRIu64 " instructions compared in %.1f s\n", seed, total, seconds);
    std::printf("isa_cosim: %u passed, %u failed\n", passed, failed);
    return failed != 0;
}
