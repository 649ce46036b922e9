# SPDX-License-Identifier: BSD-3-Clause
# Programs one FPGA through Vivado's hardware server and checks that it has started.
# Usage: vivado -mode batch -source program.tcl -tclargs HOST:PORT PART FILE.bit

if {[llength $argv] != 3} {
    puts "program.tcl: give HOST:PORT PART FILE.bit"
    exit 2
}
lassign $argv url part file

proc refuse {message} {
    puts "ERROR: $message"
    exit 1
}

# The devices of one cable whose part is `part`. A device's PART has no package and speed grade, and may be shorter still (xczu17).
proc matching {part} {
    set found {}
    foreach device [get_hw_devices] {
        set name [get_property PART $device]
        if {$name ne "" && [string match "$name*" $part]} {
            lappend found $device
        }
    }
    return $found
}

open_hw_manager
if {[catch {connect_hw_server -url $url} problem]} {
    refuse "no hardware server at $url: $problem"
}
set seen {}
set place {}
foreach target [get_hw_targets] {
    if {[catch {open_hw_target $target} problem]} {
        lappend seen "$target ($problem)"
        continue
    }
    lappend seen {*}[get_hw_devices]
    set devices [matching $part]
    if {[llength $devices] > 1 || ([llength $devices] == 1 && $place ne "")} {
        refuse "more than one $part is connected to $url: leave one"
    }
    if {[llength $devices] == 1} {
        set place [list $target [lindex $devices 0]]
    }
    close_hw_target
}
if {$place eq ""} {
    refuse "no $part is connected to $url; found: [expr {[llength $seen] ? [join $seen {, }] : {no device: check cable and power}}]"
}
open_hw_target [lindex $place 0]
set device [lindex $place 1]
current_hw_device $device
set_property PROGRAM.FILE $file $device
program_hw_devices $device
refresh_hw_device $device
if {![get_property REGISTER.IR.BIT5_DONE $device]} {
    refuse "$device took the bitstream but did not start: DONE is low"
}
puts "programmed $device"
close_hw_manager
