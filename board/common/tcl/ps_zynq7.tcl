# SPDX-License-Identifier: BSD-3-Clause
# Processing system of the Zynq-7000 (PG082).

proc make_processing_system {} {
    global settings
    create_bd_cell -type ip -vlnv xilinx.com:ip:processing_system7:5.5 ps
    set properties [list \
        CONFIG.PCW_USE_M_AXI_GP0 {1} \
        CONFIG.PCW_USE_M_AXI_GP1 {1} \
        CONFIG.PCW_USE_S_AXI_HP0 {1} \
        CONFIG.PCW_S_AXI_HP0_DATA_WIDTH {64} \
        CONFIG.PCW_USE_S_AXI_HP1 [expr {[llength $settings(stores)] > 0}] \
        CONFIG.PCW_EN_CLK0_PORT {1} \
        CONFIG.PCW_EN_RST0_PORT {1} \
        CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ $settings(ps_mhz) \
    ]
    foreach {name value} $settings(ps_config) {
        lappend properties CONFIG.$name $value
    }
    set_property -dict $properties [get_bd_cells ps]
    create_bd_intf_port -mode Master -vlnv xilinx.com:interface:ddrx_rtl:1.0 DDR
    create_bd_intf_port -mode Master -vlnv xilinx.com:display_processing_system7:fixedio_rtl:1.0 FIXED_IO
    attach DDR ps/DDR
    attach FIXED_IO ps/FIXED_IO
}
