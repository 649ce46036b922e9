/* SPDX-License-Identifier: BSD-3-Clause */
#include "platform/work.h"

uint32_t work_pending;
