// SPDX-License-Identifier: BSD-3-Clause
#include "UncoreBench.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

uint32_t uncorebench::seed() {
    static const uint32_t value = [] {
        const char *text = std::getenv("UNCORE_SEED");
        return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 0)) : std::random_device{}();
    }();
    return value;
}

int main(int argc, char **argv) {
    ::testing::InitGoogleTest(&argc, argv);
    std::printf("UNCORE_SEED=%u\n", uncorebench::seed());
    return RUN_ALL_TESTS();
}
