# SPDX-License-Identifier: BSD-3-Clause
# Sourced behind env.sh: compiles what Verilator has written.
# shellcheck shell=bash

# clang compiles these models in a third of the time that g++ takes.
verilated_compiler=clang++-$LLVM_VERSION
# A precompiled header names its folder: what another clone has compiled must not be found.
export CCACHE_NAMESPACE=$PWD CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime

# verilated_make [OPTIONS [LEVEL]]: variables for Verilator's -MAKEFLAGS. OPTIONS: more compiler options; LEVEL: of optimisation, else
# -O2. What runs once (OPT_SLOW: constructors, resets) is not worth the compiler's time.
verilated_make() {
    echo "OBJCACHE=ccache CXX=$verilated_compiler LINK=$verilated_compiler CFG_CXXFLAGS_PCH_I=-include-pch CFG_GCH_IF_CLANG=.gch" \
        "OPT_FAST='${2:--O2} -Xclang -fno-pch-timestamp ${1:-}' OPT_SLOW='-O0 -Xclang -fno-pch-timestamp ${1:-}' OPT_GLOBAL='-O2 ${1:-}'"
}
