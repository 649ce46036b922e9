// SPDX-License-Identifier: BSD-3-Clause
// The pipeline with vector settings and no vector unit behind its port: random programs with vset*, vector CSRs and
// mstatus.VS against spike. Usage: vset_cosim SEED PROGRAMS FOLDER
#include "check.h"
#include "isa_program.h"
#include "lockstep.h"
#include "program_bench.h"

using namespace cosim;

namespace {

/// Answers every vector instruction with an illegal-instruction trap.
class NoUnit : public ProgramBench {
  public:
    NoUnit(uint64_t seed, const std::vector<uint32_t> &program) : ProgramBench(seed, program) {
    }
    uint64_t vectors = 0; ///< instructions that trapped here

  protected:
    void drive() override {
        top.io_vector_erased = 1;
        top.io_vector_commit_done = held;
        top.io_vector_commit_trap = held;
        top.io_vector_commit_cause = 2;
        top.io_vector_commit_tval = insn;
    }
    void sample() override {
        if (held && top.io_vector_commit_valid) {
            held = false;
            vectors++;
        }
        if (top.io_vector_advance) {
            held = true;
            insn = top.io_vector_offer_insn;
        }
    }

  private:
    bool held = false;
    uint32_t insn = 0;
};

uint64_t run_program(uint64_t seed, const std::string &folder) {
    std::mt19937_64 rng(seed);
    ProgramOptions options;
    options.vector = true;
    options.body = 5500;
    options.rounds = 4;
    const Program program = random_program(rng, options);
    Spike spike(folder, program.words, kVectorIsa);
    NoUnit bench(seed, program.words);
    bench.fast = seed % 3 == 0;
    uint64_t compared = 0, latest = 0;
    for (;;) {
        bench.tick();
        if (bench.cycle - latest > 1000) {
            std::printf("seed %" PRIu64 ": core stuck after %" PRIu64 " instructions\n", seed, compared);
            return 0;
        }
        while (!bench.commits.empty()) {
            const Commit ours = bench.commits.front();
            bench.commits.pop_front();
            latest = ours.cycle;
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
                return bench.overlaps ? 0 : compared;
        }
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
    for (unsigned i = 0; i < programs; i++) {
        const uint64_t compared = run_program(seed + i, argv[3]);
        total += compared;
        compared ? passed++ : failed++;
    }
    std::printf("vset_cosim: seed %" PRIu64 ", %" PRIu64 " instructions compared\n", seed, total);
    std::printf("vset_cosim: %u passed, %u failed\n", passed, failed);
    return failed != 0;
}
