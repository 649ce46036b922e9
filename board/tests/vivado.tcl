# SPDX-License-Identifier: BSD-3-Clause
# Stands in for Vivado: every command that board/common/tcl and the generated constraints use, recorded as a JSON list of words a line
# in $env(VIVADO_RECORDING). A command that is not here is an error, as it would be a typing error in Vivado. Objects are their names.
# Files that a stage leaves are made, empty.

set recording [open $::env(VIVADO_RECORDING) a]
proc record {args} {
    set words {}
    foreach word $args {
        lappend words "\"[string map {\\ \\\\ \" \\\" \n \\n \t \\t} $word]\""
    }
    puts $::recording "\[[join $words {, }]\]"
}

# The value of -option in arguments, or nothing.
proc option {arguments name} {
    set at [lsearch -exact $arguments $name]
    return [expr {$at < 0 ? "" : [lindex $arguments [expr {$at + 1}]]}]
}

proc make_file {path} {
    file mkdir [file dirname $path]
    close [open $path w]
}

foreach command {
    connect_bd_net connect_bd_intf_net assign_bd_address apply_bd_automation add_files update_compile_order
    update_ip_catalog generate_target validate_bd_design save_bd_design close_project opt_design place_design phys_opt_design
    route_design create_clock set_false_path set_max_delay
} {
    proc $command {args} "record $command {*}\$args"
}

# A dictionary is recorded as the single settings it stands for.
proc set_property {args} {
    if {[lindex $args 0] eq "-dict"} {
        foreach {name value} [lindex $args 1] {
            record set_property $name $value [lindex $args 2]
        }
    } else {
        record set_property {*}$args
    }
}
proc create_project {name folder args} {
    record create_project $name $folder {*}$args
    make_file [file join $folder $name.xpr]
}
proc open_project {path} {
    record open_project $path
    if {![file exists $path]} {
        error "ERROR: no project $path"
    }
}
foreach command {create_bd_design create_ip create_bd_cell create_bd_port create_bd_intf_port} {
    proc $command {args} "record $command {*}\$args; return \[lindex \$args end\]"
}
foreach command {
    get_ips get_bd_cells get_bd_ports get_bd_intf_ports get_bd_pins get_bd_intf_pins get_bd_addr_spaces get_bd_addr_segs get_files
    get_filesets get_ports get_pins get_clocks get_iobanks get_package_pins
} {
    proc $command {args} "return \[list $command {*}\$args\]"
}
proc current_project {} { return current_project }
proc current_design {} { return current_design }
proc make_wrapper {args} {
    record make_wrapper {*}$args
    return project/platform_wrapper.v
}
proc synth_design {args} {
    record synth_design {*}$args
    if {[info exists ::env(VIVADO_FAILS)]} {
        error "ERROR: \[Synth 8-1\] $::env(VIVADO_FAILS)"
    }
}
proc write_checkpoint {args} {
    record write_checkpoint {*}$args
    make_file [lindex $args end]
}
proc open_checkpoint {path} {
    record open_checkpoint $path
    if {![file exists $path]} {
        error "ERROR: no checkpoint $path"
    }
}
foreach command {report_utilization report_timing_summary report_cdc report_io report_drc report_methodology report_power} {
    proc $command {args} "
        record $command {*}\$args
        if {\[lsearch \$args -return_string\] >= 0} { return \[timing_summary\] }
        set to \[option \$args -file\]
        file mkdir \[file dirname \$to\]
        set sample \[file join \$::env(VIVADO_REPORTS) \[file tail \$to\]\]
        if {\[file exists \$sample\]} { file copy -force \$sample \$to } else { make_file \$to }
    "
}
# The sample report, with other slacks of setup, hold and pulse width where a test says so.
proc timing_summary {} {
    set file [open [file join $::env(VIVADO_REPORTS) timing_route.rpt]]
    set text [read $file]
    close $file
    lassign $::env(VIVADO_SLACKS) setup hold width
    return [string map [list 0.123 $setup 0.011 $hold 0.264 $width] $text]
}
foreach command {write_bitstream write_hw_platform write_debug_probes} {
    proc $command {args} "record $command {*}\$args; make_file \[lindex \$args end\]"
}
