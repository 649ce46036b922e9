/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the time of a read of one block goes; see stage_end. */
#include "nvme/nvme.h"

uint64_t stage_cycles[STAGES];
uint64_t stage_reads;
