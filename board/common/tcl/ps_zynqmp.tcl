# SPDX-License-Identifier: BSD-3-Clause
# Processing system of the Zynq UltraScale+ (PG201).

proc make_processing_system {} {
    global settings
    create_bd_cell -type ip -vlnv xilinx.com:ip:zynq_ultra_ps_e:3.5 ps
    if {$settings(board_part) ne ""} {
        apply_bd_automation -rule xilinx.com:bd_rule:zynq_ultra_ps_e -config {apply_board_preset "1"} [get_bd_cells ps]
    }
    set properties [list \
        CONFIG.PSU__USE__M_AXI_GP0 {1} \
        CONFIG.PSU__USE__M_AXI_GP1 {1} \
        CONFIG.PSU__USE__M_AXI_GP2 {0} \
        CONFIG.PSU__MAXIGP0__DATA_WIDTH {64} \
        CONFIG.PSU__MAXIGP1__DATA_WIDTH {32} \
        CONFIG.PSU__USE__S_AXI_GP2 {1} \
        CONFIG.PSU__SAXIGP2__DATA_WIDTH {64} \
        CONFIG.PSU__USE__S_AXI_GP3 [expr {[llength $settings(stores)] > 0}] \
        CONFIG.PSU__FPGA_PL0_ENABLE {1} \
        CONFIG.PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ $settings(ps_mhz) \
    ]
    if {[llength $settings(stores)] > 0} {
        lappend properties CONFIG.PSU__SAXIGP3__DATA_WIDTH {64}
    }
    foreach {name value} $settings(ps_config) {
        lappend properties CONFIG.$name $value
    }
    set_property -dict $properties [get_bd_cells ps]
}
