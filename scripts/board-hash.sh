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

# rtl_hash_of CONFIG: hash of everything its Verilog is made from
rtl_hash_of() {
    echo "$1 $(hash_of hw/src/main "${contract[@]}" hw/build.sbt hw/project/build.properties hw/project/plugins.sbt)" |
        sha256sum | cut -c1-16
}
