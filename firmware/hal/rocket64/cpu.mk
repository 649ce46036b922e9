# SPDX-License-Identifier: BSD-3-Clause
# An RV64 Rocket tile in a Chipyard SoC (FW_CPU=rocket64): the files of hal/rocket.
HAL  := hal/rocket
ARCH := -march=rv64imac -mabi=lp64 -misa-spec=2.2 -mcmodel=medany
HAL_SRCS := hal/rocket/trap.c
