# SPDX-License-Identifier: BSD-3-Clause
# From sources to a bitstream, a checkpoint a stage. Reports go to reports/, which assasin.boards.reports reads.

proc report_all {stage} {
    report_utilization -file reports/utilization_$stage.rpt
    report_timing_summary -max_paths 10 -file reports/timing_$stage.rpt
}

proc run_synthesis {} {
    global settings
    open_project project/$settings(name).xpr
    synth_design -top $settings(top) -part $settings(part) -flatten_hierarchy rebuilt
    write_checkpoint -force synth.dcp
    file mkdir reports
    report_all synth
    report_cdc -file reports/cdc_synth.rpt
    # The hand-over to PetaLinux before there is a bitstream: addresses and processing system.
    write_hw_platform -fixed -force platform.xsa
    close_project
}

proc run_placement {} {
    open_checkpoint synth.dcp
    opt_design
    place_design -directive Explore
    phys_opt_design
    write_checkpoint -force place.dcp
    report_all place
    report_io -file reports/io_place.rpt
}

proc run_routing {} {
    open_checkpoint place.dcp
    route_design -directive Explore
    phys_opt_design
    write_checkpoint -force route.dcp
    report_all route
    report_drc -file reports/drc_route.rpt
    report_methodology -file reports/methodology_route.rpt
    report_power -file reports/power_route.rpt
}

proc make_bitstream {} {
    global settings
    open_checkpoint route.dcp
    set slack [get_property SLACK [get_timing_paths -max_paths 1 -nworst 1 -setup]]
    if {$slack ne "" && $slack < 0} {
        error "timing is not met: worst setup slack $slack ns; see reports/timing_route.rpt. Lower core_mhz in the board file, or build a smaller configuration"
    }
    write_bitstream -force -bin_file $settings(name).bit
    write_debug_probes -force -quiet $settings(name).ltx
}
