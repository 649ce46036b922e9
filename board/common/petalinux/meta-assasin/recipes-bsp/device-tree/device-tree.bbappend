# SPDX-License-Identifier: BSD-3-Clause
# The board's own nodes: multiplexers, and what is generated from the board file.
FILESEXTRAPATHS:prepend := "${THISDIR}/files:"

SRC_URI:append = " file://assasin.dtsi file://board.dtsi file://sensors.dtsi"
EXTRA_DT_INCLUDE_FILES:append = " assasin.dtsi board.dtsi sensors.dtsi"
# Overlays name nodes of the base tree.
DTC_FLAGS:append = " -@"
