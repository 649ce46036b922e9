// SPDX-License-Identifier: BSD-3-Clause
// Counts checks; a failed one prints what was expected and the run goes on.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>

namespace cosim {

struct Checks {
    const char *test = "";
    unsigned passed = 0, failed = 0;

    void equal(const char *what, uint64_t got, uint64_t expected) {
        if (got == expected) {
            passed++;
            return;
        }
        failed++;
        std::printf("FAILED %s: %s is 0x%" PRIx64 ", expected 0x%" PRIx64 "\n", test, what, got, expected);
    }
    void is_true(const char *what, bool value) {
        equal(what, value, true);
    }

    /// Prints the totals; the process's exit code.
    int report(const char *program) const {
        std::printf("%s: %u passed, %u failed\n", program, passed, failed);
        return failed != 0;
    }
};

} // namespace cosim
