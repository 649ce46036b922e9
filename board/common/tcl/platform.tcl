# SPDX-License-Identifier: BSD-3-Clause
# The block design `platform`: processing system, clocks, and the AXI interconnect between it, the XDMA IP and the chip.
#   host      XDMA's AXI4 master and the processing system -> the chip's AXI4 slave (firmware memory, staging, DRAM)
#   registers XDMA's AXI4-Lite master (BAR0) and the processing system -> the chip's registers; the chip -> XDMA's registers
#   memory    the chip's DRAM port, and the store of emulated NAND -> DRAM of the processing system

# An external AXI interface. protocol: AXI4 or AXI4LITE; clock: name of the clock port.
proc external_axi {name mode protocol addr_bits data_bits id_bits clock} {
    create_bd_intf_port -mode $mode -vlnv xilinx.com:interface:aximm_rtl:1.0 $name
    set properties [list \
        CONFIG.PROTOCOL $protocol \
        CONFIG.ADDR_WIDTH $addr_bits \
        CONFIG.DATA_WIDTH $data_bits \
        CONFIG.HAS_CACHE {0} \
        CONFIG.HAS_LOCK {0} \
        CONFIG.HAS_PROT {0} \
        CONFIG.HAS_QOS {0} \
        CONFIG.HAS_REGION {0} \
    ]
    if {$protocol eq "AXI4"} {
        lappend properties CONFIG.HAS_BURST {1}
    }
    if {$mode eq "Slave"} {
        lappend properties CONFIG.ID_WIDTH $id_bits
    }
    set_property -dict $properties [get_bd_intf_ports $name]
    global clock_interfaces
    lappend clock_interfaces($clock) $name
}

# A SmartConnect on the given clocks: its clock pins are aclk, aclk1, ...
proc interconnect {name slaves masters clocks resetn} {
    create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect:1.0 $name
    set_property -dict [list \
        CONFIG.NUM_SI $slaves \
        CONFIG.NUM_MI $masters \
        CONFIG.NUM_CLKS [llength $clocks] \
    ] [get_bd_cells $name]
    set suffix ""
    set index 0
    foreach clock $clocks {
        connect_bd_net [get_bd_ports $clock] [get_bd_pins $name/aclk$suffix]
        incr index
        set suffix $index
    }
    connect_bd_net [get_bd_ports $resetn] [get_bd_pins $name/aresetn]
}

proc attach {port pin} {
    connect_bd_intf_net [get_bd_intf_ports $port] [get_bd_intf_pins $pin]
}

proc make_clocks {} {
    global settings
    create_bd_port -dir I -type clk -freq_hz [expr {$settings(axi_mhz) * 1000000}] xdma_clk
    create_bd_port -dir I -type rst xdma_resetn
    create_bd_port -dir O -type clk core_clk
    create_bd_port -dir O -type rst core_resetn
    create_bd_cell -type ip -vlnv xilinx.com:ip:clk_wiz:6.0 clocks
    set properties [list \
        CONFIG.PRIM_IN_FREQ $settings(ps_mhz) \
        CONFIG.PRIM_SOURCE {No_buffer} \
        CONFIG.RESET_TYPE {ACTIVE_LOW} \
        CONFIG.CLKOUT1_REQUESTED_OUT_FREQ $settings(core_mhz) \
    ]
    if {!$settings(emulated)} {
        lappend properties \
            CONFIG.CLKOUT2_USED {true} \
            CONFIG.CLKOUT2_REQUESTED_OUT_FREQ $settings(phy_mhz)
    }
    set_property -dict $properties [get_bd_cells clocks]
    connect_bd_net [get_bd_pins $settings(ps_clock)] [get_bd_pins clocks/clk_in1]
    connect_bd_net [get_bd_pins $settings(ps_resetn)] [get_bd_pins clocks/resetn]
    connect_bd_net [get_bd_pins clocks/clk_out1] [get_bd_ports core_clk]
    if {!$settings(emulated)} {
        create_bd_port -dir O -type clk phy_clk
        connect_bd_net [get_bd_pins clocks/clk_out2] [get_bd_ports phy_clk]
    }
    create_bd_cell -type ip -vlnv xilinx.com:ip:proc_sys_reset:5.0 core_reset
    connect_bd_net [get_bd_pins clocks/clk_out1] [get_bd_pins core_reset/slowest_sync_clk]
    connect_bd_net [get_bd_pins clocks/locked] [get_bd_pins core_reset/dcm_locked]
    connect_bd_net [get_bd_pins $settings(ps_resetn)] [get_bd_pins core_reset/ext_reset_in]
    connect_bd_net [get_bd_pins core_reset/peripheral_aresetn] [get_bd_ports core_resetn]
}

proc make_interfaces {} {
    global settings
    set bits $settings(address_bits)
    external_axi S_AXI_HOST Slave AXI4 64 $settings(axi_bits) 4 xdma_clk
    external_axi S_AXIL_HOST Slave AXI4LITE 32 32 0 xdma_clk
    external_axi S_AXIL_REGS Slave AXI4LITE 32 32 0 core_clk
    external_axi S_AXI_DRAM Slave AXI4 $bits 64 $settings(dram_id_bits) core_clk
    external_axi M_AXI_CHIP Master AXI4 $bits 64 0 core_clk
    external_axi M_AXIL_BAR0 Master AXI4LITE $bits 32 0 core_clk
    external_axi M_AXIL_XDMA Master AXI4LITE 32 32 0 xdma_clk
    foreach store $settings(stores) {
        external_axi $store Slave AXI4 $bits 64 0 core_clk
    }
    global clock_interfaces
    foreach clock {core_clk xdma_clk} {
        set_property CONFIG.ASSOCIATED_BUSIF [join $clock_interfaces($clock) :] [get_bd_ports $clock]
    }
}

proc make_interconnect {} {
    global settings
    # Host and processing system to the chip.
    interconnect to_chip 2 1 {core_clk xdma_clk} core_resetn
    attach S_AXI_HOST to_chip/S00_AXI
    connect_bd_intf_net [get_bd_intf_pins $settings(ps_memory_master)] [get_bd_intf_pins to_chip/S01_AXI]
    attach M_AXI_CHIP to_chip/M00_AXI
    interconnect to_bar0 2 1 {core_clk xdma_clk} core_resetn
    attach S_AXIL_HOST to_bar0/S00_AXI
    connect_bd_intf_net [get_bd_intf_pins $settings(ps_regs_master)] [get_bd_intf_pins to_bar0/S01_AXI]
    attach M_AXIL_BAR0 to_bar0/M00_AXI
    # The chip to the IP's registers.
    interconnect to_xdma 1 1 {core_clk xdma_clk} core_resetn
    attach S_AXIL_REGS to_xdma/S00_AXI
    attach M_AXIL_XDMA to_xdma/M00_AXI
    # The chip, and emulated NAND, to DRAM.
    interconnect to_dram 1 1 {core_clk} core_resetn
    attach S_AXI_DRAM to_dram/S00_AXI
    connect_bd_intf_net [get_bd_intf_pins to_dram/M00_AXI] [get_bd_intf_pins $settings(ps_dram_slave)]
    if {[llength $settings(stores)] > 0} {
        interconnect to_store [llength $settings(stores)] 1 {core_clk} core_resetn
        set index 0
        foreach store $settings(stores) {
            attach $store to_store/[format S%02d_AXI $index]
            incr index
        }
        connect_bd_intf_net [get_bd_intf_pins to_store/M00_AXI] [get_bd_intf_pins $settings(ps_store_slave)]
    }
    foreach pin $settings(ps_axi_clocks) {
        connect_bd_net [get_bd_ports core_clk] [get_bd_pins $pin]
    }
}

# Every master gets exactly what it may reach; all else is answered with DECERR.
proc make_addresses {} {
    global settings
    proc place {master segment offset range} {
        assign_bd_address -offset $offset -range $range -target_address_space [get_bd_addr_spaces $master] \
            [get_bd_addr_segs $segment] -force
    }
    place S_AXI_HOST M_AXI_CHIP/Reg 0x00000000 4G
    place S_AXIL_HOST M_AXIL_BAR0/Reg 0x00000000 4M
    place S_AXIL_REGS M_AXIL_XDMA/Reg 0x00000000 64K
    place $settings(ps_data_space) M_AXI_CHIP/Reg $settings(memory_base) 1M
    place $settings(ps_data_space) M_AXIL_BAR0/Reg $settings(regs_base) 4M
    foreach {segment offset range} $settings(dram_segments) {
        place S_AXI_DRAM $segment $offset $range
    }
    foreach store $settings(stores) {
        foreach {segment offset range} $settings(store_segments) {
            place $store $segment $offset $range
        }
    }
}

proc make_platform {} {
    global settings clock_interfaces
    array unset clock_interfaces
    create_bd_design platform
    source [file join $settings(tcl) ps_$settings(kind).tcl]
    make_processing_system
    make_clocks
    make_interfaces
    make_interconnect
    make_addresses
    validate_bd_design
    save_bd_design
    set design [get_files platform.bd]
    generate_target all $design
    add_files -norecurse -fileset sources_1 [make_wrapper -top $design]
}
