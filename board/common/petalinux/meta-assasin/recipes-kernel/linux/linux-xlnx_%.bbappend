# SPDX-License-Identifier: BSD-3-Clause
# What the board agent needs of the kernel.
FILESEXTRAPATHS:prepend:@SOC@ := "${THISDIR}/${BPN}:"

SRC_URI:append:@SOC@ = " file://assasin.cfg"
KERNEL_FEATURES:append:@SOC@ = " assasin.cfg"

# The window onto the chip is a device of the generic UIO driver (its option: recipes-apps/assasin-agent).
KERNEL_MODULE_AUTOLOAD:append:@SOC@ = " uio_pdrv_genirq"
