# SPDX-License-Identifier: BSD-3-Clause
# What the board agent needs of the kernel.
FILESEXTRAPATHS:prepend := "${THISDIR}/${BPN}:"

SRC_URI += "file://assasin.cfg"
KERNEL_FEATURES:append = " assasin.cfg"

# The window onto the chip is a device of the generic UIO driver, which binds to what it is told to alone.
KERNEL_MODULE_AUTOLOAD += "uio_pdrv_genirq"
KERNEL_MODULE_PROBECONF += "uio_pdrv_genirq"
module_conf_uio_pdrv_genirq = "options uio_pdrv_genirq of_id=generic-uio"
