# SPDX-License-Identifier: BSD-3-Clause
# The board's own nodes: multiplexers, and what is generated from the board file. Only in Linux's tree: those of the boot loaders lack the labels.
FILESEXTRAPATHS:prepend:@SOC@ := "${THISDIR}/files:"

SRC_URI:append:@SOC@ = " file://assasin.dtsi file://board.dtsi file://sensors.dtsi"
# nooelint: oelint.vars.mispell.unknown - of the vendor's recipe
EXTRA_DT_INCLUDE_FILES:append:@SOC@:linux = " assasin.dtsi board.dtsi sensors.dtsi"
# Overlays name nodes of the base tree.
# nooelint: oelint.vars.mispell.unknown - of devicetree.bbclass
DTC_BFLAGS:append:@SOC@ = " -@"
