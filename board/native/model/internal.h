/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the model's own files share.
 */
#pragma once

#include <cstdio>
#include <string>

#include "model/nand.h"

/** Field f of a register's value. */
#define F(reg, f, v) (((v) >> reg##_##f##_SHIFT) & reg##_##f##_MASK)

namespace model {

constexpr uint32_t kDramBit = 0x80000000u;

[[noreturn]] inline void violation(const std::string &what) {
    throw Violation(what);
}

inline std::string hex(uint32_t v) {
    char s[16];
    snprintf(s, sizeof s, "%08x", v);
    return s;
}

inline uint32_t log2of(uint32_t v) {
    uint32_t n = 0;
    while ((1u << n) < v) {
        n++;
    }
    return n;
}

} // namespace model
