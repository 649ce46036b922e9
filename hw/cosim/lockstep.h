// SPDX-License-Identifier: BSD-3-Clause
// Compares one retired instruction with the reference's.
#pragma once

#include <cinttypes>
#include <cstdio>

#include "commit.h"
#include "spike.h"

namespace cosim {

inline bool same(const Commit &ours, const SpikeCommit &theirs, uint64_t seed, uint64_t index) {
    if (ours.pc == theirs.pc && ours.insn == theirs.insn && ours.wen == theirs.wen &&
        (!ours.wen || (ours.rd == theirs.rd && ours.wdata == theirs.wdata)))
        return true;
    std::printf("seed %" PRIu64 ", instruction %" PRIu64 ", cycle %" PRIu64
                ": core pc %08x insn %08x x%u=%08x(%d), reference pc %08x insn %08x x%u=%08" PRIx64 "(%d)\n",
                seed, index, ours.cycle, ours.pc, ours.insn, ours.rd, ours.wdata, ours.wen, theirs.pc, theirs.insn,
                theirs.rd, theirs.wdata, theirs.wen);
    return false;
}

} // namespace cosim
