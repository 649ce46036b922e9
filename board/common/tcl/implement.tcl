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

# Slacks of the routed design that are below 0, in words; empty when timing is met. They are read from the timing summary, since only it
# has pulse widths too.
proc missed_timing {} {
    set lines [split [report_timing_summary -max_paths 1 -return_string] "\n"]
    set header [lsearch -regexp $lines {^\s*WNS\(ns\)\s+TNS\(ns\)}]
    if {$header < 0} {
        error "the timing summary has no table of WNS and TNS: this Vivado writes it otherwise; see reports/timing_route.rpt"
    }
    # Columns are two blanks apart; their names have single ones.
    set names [split [regsub -all {\s{2,}} [string trim [lindex $lines $header]] "\t"] "\t"]
    set values [regexp -all -inline {\S+} [lindex $lines [expr {$header + 2}]]]
    set missed {}
    foreach {column what} {WNS(ns) setup WHS(ns) hold WPWS(ns) "pulse width"} {
        set at [lsearch -exact $names $column]
        if {$at < 0 || $at >= [llength $values]} {
            error "the timing summary has no column $column: this Vivado writes it otherwise; see reports/timing_route.rpt"
        }
        set slack [lindex $values $at]
        # NA: no such path is constrained.
        if {[string is double -strict $slack] && $slack < 0} {
            lappend missed "worst $what slack $slack ns"
        }
    }
    return [join $missed ", "]
}

proc make_bitstream {} {
    global settings
    open_checkpoint route.dcp
    set missed [missed_timing]
    if {$missed ne ""} {
        error "timing is not met: $missed; see reports/timing_route.rpt. Setup and pulse width: lower core_mhz in the board file, or build a smaller configuration. Hold: no clock helps; look at the paths that the report names"
    }
    write_bitstream -force -bin_file $settings(name).bit
    write_debug_probes -force -quiet $settings(name).ltx
}
