# SPDX-License-Identifier: BSD-3-Clause
# The drive's own processor (FW_CPU=core).
HAL  := hal/core
ARCH := -march=rv32im -mabi=ilp32 -misa-spec=2.2
