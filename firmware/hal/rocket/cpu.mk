# SPDX-License-Identifier: BSD-3-Clause
# An RV32 Rocket tile in a Chipyard SoC (FW_CPU=rocket). medany: the image lies above 2 GiB.
HAL  := hal/rocket
ARCH := -march=rv32imac -mabi=ilp32 -misa-spec=2.2 -mcmodel=medany
HAL_SRCS := hal/rocket/trap.c
