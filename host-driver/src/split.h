/* SPDX-License-Identifier: BSD-3-Clause */
/** \file Checks on extents that jobs and task decomposition share. */
#ifndef ASSASIN_SRC_SPLIT_H
#define ASSASIN_SRC_SPLIT_H

#include <assasin/assasin.h>

/** \return 0; -EEXIST when two extents have a block in common, the least such start in `lba`; -ENOMEM. */
int extents_overlap(const struct assasin_extent *extents, uint32_t count, uint64_t *lba);

#endif
