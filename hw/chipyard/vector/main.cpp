// SPDX-License-Identifier: BSD-3-Clause
// Clock and reset for chipyard.harness.TestHarness with VectorBench: runs until the program ends it, or so many cycles.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "VTestHarness.h"
#include "verilated.h"

int main(int argc, char **argv) {
    const uint64_t limit = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 2000000;
    VerilatedContext context;
    context.commandArgs(argc, argv);
    VTestHarness top{&context};
    for (uint64_t cycle = 0; cycle < limit && !context.gotFinish(); cycle++) {
        top.reset = cycle < 200;
        for (const int level : {0, 1}) {
            top.clock = static_cast<uint8_t>(level);
            top.eval();
        }
    }
    if (context.gotFinish()) {
        return 0;
    }
    std::fprintf(stderr, "no end after %llu cycles\n", static_cast<unsigned long long>(limit));
    return 1;
}
