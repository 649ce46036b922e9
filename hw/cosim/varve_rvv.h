// SPDX-License-Identifier: BSD-3-Clause
// The RVV instructions that kernels of varve.h need beside VarVE, executed on the model's registers, so that the
// machine code of whole kernels runs. vsetvli, vsetivli, vsetvl; vle, vse, vl<nr>re, vs<nr>r; integer arithmetic,
// compares, merges, moves, reductions, mask logic, vcpop, vfirst, vid, vcompress, vzext, vsext, vmv<nr>r. Tail and
// inactive elements stay undisturbed. Not here, and an illegal instruction: widening, narrowing, fixed point, division,
// permutation, strided, indexed and segmented accesses, and vstart other than 0.
#pragma once

#include "varve_model.h"

namespace varve {

/// Executes one word of OP-V, LOAD-FP or STORE-FP. NotMine: not one of those above.
Outcome rvv_step(Model &m, World &world, uint32_t insn, uint64_t rs1, uint64_t rs2);

} // namespace varve
