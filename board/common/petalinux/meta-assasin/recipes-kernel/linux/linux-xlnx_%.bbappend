# SPDX-License-Identifier: BSD-3-Clause
# What the board agent needs of the kernel.
FILESEXTRAPATHS:prepend:@SOC@ := "${THISDIR}/${BPN}:"

SRC_URI:append:@SOC@ = " file://assasin.cfg"
KERNEL_FEATURES:append:@SOC@ = " assasin.cfg"

# The window onto the chip is a device of the generic UIO driver, which binds to what it is told to alone.
KERNEL_MODULE_AUTOLOAD:append:@SOC@ = " uio_pdrv_genirq"
KERNEL_MODULE_PROBECONF:append:@SOC@ = " uio_pdrv_genirq"
module_conf_uio_pdrv_genirq = "options uio_pdrv_genirq of_id=generic-uio"
