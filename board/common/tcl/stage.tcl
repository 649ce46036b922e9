# SPDX-License-Identifier: BSD-3-Clause
# One stage of a build: vivado -mode batch -source board/common/tcl/stage.tcl -tclargs STAGE
# It runs in the build's own folder, where settings.tcl is; every path is relative to that. The stages, each of which leaves what
# the next one starts from: project synth place route bitstream.
source settings.tcl
foreach part {project xdma platform implement} {
    source [file join $settings(tcl) $part.tcl]
}

proc run_stage {stage} {
    switch -- $stage {
        project { make_project }
        synth { run_synthesis }
        place { run_placement }
        route { run_routing }
        bitstream { make_bitstream }
        default { error "stage '$stage' is unknown: project, synth, place, route or bitstream" }
    }
}

run_stage [lindex $argv 0]
