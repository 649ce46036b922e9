# SPDX-License-Identifier: BSD-3-Clause
# Vivado's hardware commands as far as board/common/tcl/program.tcl uses them, recorded on stdout.
# FAKE_CHAIN: cable=device:part,device:part cable=...; FAKE_DONE: what REGISTER.IR.BIT5_DONE says.
set opened ""
proc record {args} { puts "CALL $args" }
proc chain {} {
    set cables {}
    foreach cable [split $::env(FAKE_CHAIN)] {
        lassign [split $cable =] name devices
        dict set cables $name [split $devices ,]
    }
    return $cables
}
proc open_hw_manager {} { record open_hw_manager }
proc close_hw_manager {} { record close_hw_manager }
proc connect_hw_server {option url} {
    record connect_hw_server $option $url
    if {$::env(FAKE_CHAIN) eq "down"} { error "connection refused" }
}
proc get_hw_targets {} { return [dict keys [chain]] }
proc open_hw_target {target} {
    if {$::opened ne ""} { error "a target is open" }
    if {[dict get [chain] $target] eq "locked"} { error "locked by another client" }
    record open_hw_target $target
    set ::opened $target
}
proc close_hw_target {} { record close_hw_target; set ::opened "" }
proc get_hw_devices {} {
    set names {}
    foreach device [dict get [chain] $::opened] { lappend names [lindex [split $device :] 0] }
    return $names
}
proc get_property {name device} {
    if {$name eq "REGISTER.IR.BIT5_DONE"} { return $::env(FAKE_DONE) }
    foreach found [dict get [chain] $::opened] {
        lassign [split $found :] one part
        if {$one eq $device && $name eq "PART"} { return $part }
    }
    error "no property $name of $device"
}
proc current_hw_device {device} { record current_hw_device $device }
proc set_property {name value device} {
    if {$name eq "PROGRAM.FILE" && ![file exists $value]} { error "no file $value" }
    record set_property $name [file tail $value] $device
}
proc program_hw_devices {device} { record program_hw_devices $device }
proc refresh_hw_device {device} { record refresh_hw_device $device }

# As `vivado -mode batch -source SCRIPT -tclargs ...` does it.
set script [lindex $argv [expr {[lsearch $argv -source] + 1}]]
set argv [lrange $argv [expr {[lsearch $argv -tclargs] + 1}] end]
set argc [llength $argv]
source $script
