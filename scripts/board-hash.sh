# SPDX-License-Identifier: BSD-3-Clause
# Sourced behind env.sh, from the repository's root: what the Verilog of a virtual board depends on.
# shellcheck shell=bash

# Content hash of files and folders given as arguments, without what goes into no board.
hash_of() {
    find "$@" -type f -not -path '*/tests/*' -not -path '*/reference/*' -not -name '*.md' -not -name '*.pyc' -print0 |
        LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16
}

# The contract as the chip knows it: scomp.toml is between firmware and host.
contract=(hw/isa hw/contract)
for file in hw/regs/*.toml; do [[ $file == */scomp.toml ]] || contract+=("$file"); done

# Widest access to BAR0 on the virtual board.
bar0_bits=$(sed -nE 's/^bar0_bits *= *([0-9]+).*/\1/p' board/virtual/board.toml)

# rtl_hash_of CONFIG: hash of everything its Verilog is made from; a Chipyard chip's also from the commit of that checkout
rtl_hash_of() {
    local checkout='' folders=(hw/src/main "${contract[@]}")
    if [[ $1 == Chipyard* ]]; then
        checkout=$(git -C "$CHIPYARD_DIR" rev-parse HEAD)
        folders+=(hw/chipyard scripts/chipyard)
    fi
    echo "$1 $bar0_bits ${checkout:+$checkout }$(hash_of "${folders[@]}" hw/build.sbt hw/project/build.properties hw/project/plugins.sbt)" | sha256sum | cut -c1-16
}
