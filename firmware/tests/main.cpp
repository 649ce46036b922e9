// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/harness.h"

/** Runs the tests whose name contains argv[1] (all without), with seed argv[2] (1 without). */
int main(int argc, char **argv) {
    std::string filter = argc > 1 ? argv[1] : "";
    uint32_t seed = argc > 2 ? static_cast<uint32_t>(strtoul(argv[2], nullptr, 0)) : 1;
    unsigned passed = 0, failed = 0;
    for (const auto &t : harness::tests()) {
        if (std::string(t.name).find(filter) == std::string::npos) {
            continue;
        }
        try {
            t.run(seed);
            passed++;
            printf("pass %s\n", t.name);
        } catch (const std::exception &e) {
            failed++;
            printf("FAIL %s (seed %u): %s\n", t.name, seed, e.what());
        }
        fflush(stdout);
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
