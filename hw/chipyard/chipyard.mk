# SPDX-License-Identifier: BSD-3-Clause
# Included by Chipyard's common.mk. The drive has no Verilog and no C++ of its own in a Chipyard build.
