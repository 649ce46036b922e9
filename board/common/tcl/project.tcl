# SPDX-License-Identifier: BSD-3-Clause
# The project: sources, constraints, IP and the block design, all generated anew.

proc make_project {} {
    global settings
    create_project $settings(name) project -part $settings(part) -force
    if {$settings(board_part) ne ""} {
        set_property board_part $settings(board_part) [current_project]
    }
    set_property target_language Verilog [current_project]
    set_property default_lib work [current_project]
    add_files -norecurse -fileset sources_1 $settings(sources)
    add_files -norecurse -fileset constrs_1 $settings(constraints)
    # The clocks that the late constraints name come with the IP.
    set_property PROCESSING_ORDER LATE [get_files [file tail $settings(late_constraints)]]
    if {[llength $settings(ip_repositories)] > 0} {
        set_property ip_repo_paths $settings(ip_repositories) [current_project]
        update_ip_catalog
    }
    make_xdma
    make_platform
    foreach {module vlnv} $settings(kernels) {
        create_ip -vlnv $vlnv -module_name $module
    }
    # One synthesis run for all: a project of many runs cannot be resumed by checkpoints alone.
    foreach ip [get_files *.xci] {
        set_property generate_synth_checkpoint false $ip
    }
    generate_target all [get_ips]
    set_property top $settings(top) [get_filesets sources_1]
    update_compile_order -fileset sources_1
    close_project
}
