# SPDX-License-Identifier: BSD-3-Clause
# The XDMA IP (PG195) as chip, firmware and host software expect it, the same on every board:
#   BAR0, 4 MiB: AXI4-Lite master (NVMe registers, CTRL, DEBUG, controller memory buffer); BAR2, 64 KiB: the IP's registers, with the
#   MSI-X table at 0x8000 and the pending bits at 0x8FE0
#   both are 64-bit BARs and not prefetchable, so that each takes two: NVMe has BAR0 and BAR1 for its registers
#   channel 0 each way takes descriptor lists, channel 1 is in descriptor bypass for the chip, with status ports
#   AXI4-Lite slave: the firmware's way to the IP's registers
#   16 user interrupts on 32 MSI-X vectors; class 010802, an NVMe controller

proc make_xdma {} {
    global settings
    create_ip -name xdma -vendor xilinx.com -library ip -version 4.1 -module_name xdma_0
    set speeds [dict create 1 2.5_GT/s 2 5.0_GT/s 3 8.0_GT/s 4 16.0_GT/s]
    set_property -dict [list \
        CONFIG.mode_selection {Advanced} \
        CONFIG.pcie_blk_locn $settings(pcie_block) \
        CONFIG.pl_link_cap_max_link_width X$settings(pcie_lanes) \
        CONFIG.pl_link_cap_max_link_speed [dict get $speeds $settings(pcie_generation)] \
        CONFIG.axi_data_width $settings(axi_bits)_bit \
        CONFIG.axisten_freq $settings(axi_mhz) \
        CONFIG.axi_id_width {4} \
        CONFIG.xdma_axi_intf_mm {AXI_Memory_Mapped} \
        CONFIG.xdma_rnum_chnl {2} \
        CONFIG.xdma_wnum_chnl {2} \
        CONFIG.dsc_bypass_rd {0010} \
        CONFIG.dsc_bypass_wr {0010} \
        CONFIG.xdma_sts_ports {true} \
        CONFIG.axilite_master_en {true} \
        CONFIG.axilite_master_size {4} \
        CONFIG.axilite_master_scale {Megabytes} \
        CONFIG.axil_master_64bit_en {true} \
        CONFIG.xdma_pcie_64bit_en {true} \
        CONFIG.pciebar2axibar_axil_master {0x00000000} \
        CONFIG.xdma_axilite_slave {true} \
        CONFIG.xdma_num_usr_irq {16} \
        CONFIG.pf0_msi_enabled {false} \
        CONFIG.pf0_msix_enabled {true} \
        CONFIG.pf0_msix_cap_table_size {01F} \
        CONFIG.pf0_msix_cap_table_offset {00008000} \
        CONFIG.pf0_msix_cap_table_bir {BAR_3:2} \
        CONFIG.pf0_msix_cap_pba_offset {00008FE0} \
        CONFIG.pf0_msix_cap_pba_bir {BAR_3:2} \
        CONFIG.pf0_interrupt_pin {INTA} \
        CONFIG.vendor_id $settings(vendor_id) \
        CONFIG.pf0_device_id $settings(device_id) \
        CONFIG.pf0_subsystem_vendor_id $settings(subsystem_vendor_id) \
        CONFIG.pf0_subsystem_id $settings(subsystem_id) \
        CONFIG.pf0_Use_Class_Code_Lookup_Assistant {false} \
        CONFIG.pf0_class_code_base [string range $settings(class_code) 0 1] \
        CONFIG.pf0_class_code_sub [string range $settings(class_code) 2 3] \
        CONFIG.pf0_class_code_interface [string range $settings(class_code) 4 5] \
        CONFIG.pf0_class_code $settings(class_code) \
        CONFIG.cfg_mgmt_if {false} \
    ] [get_ips xdma_0]
}
