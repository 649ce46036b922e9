# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the scripts of this folder, from the repository's root: generates the designs and builds benches, both only when a
# source has changed.
# shellcheck shell=bash
. scripts/cache.sh
. scripts/verilated.sh
scripts/contract
root=$PWD
out=$root/build/cosim
mkdir -p "$out"

digest() { cat "$@" | sha256sum | cut -c1-32; }

flags=(-std=c++17 -march=native)
# Clock gates stop clocks, as on the virtual board.
verilate=(-O3 --x-assign fast -Wno-fatal -DASSASIN_CLOCK_GATES)

# What a bench depends on beside its sources.
tools=$({
    echo "$ASSASIN_VENV" "${flags[@]}" "${verilate[@]}"
    "$verilated_compiler" --version
    grep -m1 '^flags' /proc/cpuinfo
} | sha256sum | cut -c1-16)

scala=hw/src/main/scala/assasin
tests=hw/src/test/scala/assasin
# The vector unit alone, for each VLEN/DLEN or VLEN/DLEN/FORM (EmitVector); pup-both and full-both are two of them.
vectors=(256/256 128/64 512/256 256/128/rv64 128/64/zve64x 256/256/pup 128/64/pup-both 256/256/full 64/64/full-both 64/64/full-a4 64/64/full-late)
# VariableUnit, for each VLEN/MBMAX/G.
variables=(256/64/8 64/32/8 64/64/4)

# Families of designs: what generates each, and from which sources. A change of one does not emit the others again.
declare -A generator=(
    [core]="assasin.core.EmitCosim $out"
    [vector]="assasin.vector.EmitVector $out ${vectors[*]}"
    [variable]="assasin.vector.EmitVariable $out ${variables[*]}"
    [huffman]="assasin.vector.EmitHuffman $out"
)
declare -A sources_of=(
    [core]="$(echo $scala/{bus,cache,core,stream,vector,xbar} $scala/*.scala $tests/core/{EmitCosim,RandomCollisions}.scala build/gen/scala)"
    [vector]="$scala/vector $scala/bus/ClockGate.scala $tests/vector/EmitVector.scala $tests/vector/VectorBoth.scala"
    [variable]="$scala/vector $tests/vector/EmitVariable.scala $tests/vector/VariableHarness.scala"
    [huffman]="$(echo $scala/vector/Huffman*) $tests/vector/EmitHuffman.scala"
)
# design_core VLEN DLEN: the family elfvVLENxDLEN, the pipeline with a vector unit, for run-elf
design_core() {
    generator[elfv$1x$2]="assasin.core.EmitVectorCore $out $1/$2"
    sources_of[elfv$1x$2]="$(echo $scala/{bus,core,stream,vector} $scala/*.scala $tests/core/{EmitVectorCore,VectorCore}.scala build/gen/scala)"
}
# design_tile TILE: the family TILE, a tile of AssasinVf whose unit has another size, for kernel-tile. These take long.
design_tile() {
    generator[$1]="assasin.core.EmitVectorTile $out $1"
    sources_of[$1]="$(echo $scala/{bus,cache,core,stream,vector,xbar} $scala/*.scala $tests/core/EmitVectorTile.scala build/gen/scala)"
}

# emit FAMILY...: their Verilog below $out: what it was last time, from the cache, or by one run of sbt.
emit() {
    local family files stamp commands=()
    local -A stamps=()
    for family; do
        [ -z "${stamps[$family]:-}" ] || continue
        # shellcheck disable=SC2086  # a list of files and folders
        mapfile -t files < <(find ${sources_of[$family]} $scala/Emission.scala hw/build.sbt -type f | sort -u)
        stamp=$(echo "$(digest "${files[@]}") ${generator[$family]//$out/}" | sha256sum | cut -c1-32)
        [ "$(cat "$out/$family.stamp" 2>/dev/null)" != "$stamp" ] || continue
        if cache_load verilog "$stamp" "$out"; then
            echo "$stamp" >"$out/$family.stamp"
        else
            rm -rf "$out/$family.new"
            commands+=("Test/runMain ${generator[$family]/$out/$out/$family.new}")
            stamps[$family]=$stamp
        fi
    done
    [ ${#commands[@]} -gt 0 ] || return 0
    echo "cosim: generating ${!stamps[*]}"
    (cd hw && sbt "${commands[@]}") >"$out/emit.log" 2>&1 || {
        tail -40 "$out/emit.log" >&2
        exit 1
    }
    for family in "${!stamps[@]}"; do
        mapfile -t files < <(cd "$out/$family.new" && find . -name '*.sv')
        cache_store verilog "${stamps[$family]}" "$out/$family.new" "${files[@]}"
        cp -r "$out/$family.new/." "$out"
        rm -rf "$out/$family.new"
        echo "${stamps[$family]}" >"$out/$family.stamp"
    done
}

# level VARIANT: how far a design's C++ is optimised. A tile of another size runs a few short kernels for a figure, and one with a
# mistake a few programs: there the compiler's time counts.
level() {
    case $1 in
        AssasinVf-d64-blocks-*) echo -O0 ;;
        AssasinVf-d64*) echo -O2 ;;
        AssasinVf-*) echo -O1 ;;
        *) echo -O2 ;;
    esac
}

# blocks VARIANT TOP: modules of a design that are models of their own, evaluated when they have something to do, as on the virtual
# board: of variants with such a name, in whose folder is the evaluate_on_change.py that they are made with.
blocks() {
    [[ $1 != *-blocks* ]] || sed -nE 's/^module (VectorPipeline|RowBanks[A-Za-z0-9_]*)\(.*/\1/p' "$out/$1/$2.sv"
}

# model VARIANT TOP: the Verilated design that benches are linked with, $dir/$top.obj/libV$top.a, and those of its blocks.
model() {
    local dir=$out/$1 top=$2 want block blocks hierarchical=() archives=("libV$2.a" libverilated.a)
    mapfile -t blocks < <(blocks "$1" "$top")
    want="$(digest "$dir/$top.sv" ${blocks[0]:+"$dir/evaluate_on_change.py"}) $(level "$1")"
    [ "$(cat "$dir/$top.stamp" 2>/dev/null)" != "$want" ] || return 0
    rm -rf "$dir/$top.obj"
    if [ ${#blocks[@]} -gt 0 ]; then
        { echo '`verilator_config' && printf 'hier_block -module "%s"\n' "${blocks[@]}"; } >"$dir/$top.vlt"
        hierarchical=(--hierarchical "$dir/$top.vlt")
    fi
    verilator --cc "${hierarchical[@]}" "${verilate[@]}" --top-module "$top" --prefix "V$top" --Mdir "$dir/$top.obj" "$dir/$top.sv" ||
        return
    for block in "${blocks[@]}"; do
        archives+=("V$block/lib$block.a")
        # Inputs of one without logic between them and its outputs matter at an edge alone: it stays as Verilator writes it.
        grep -q __VicoFirstIteration "$dir/$top.obj/V$block/"*.cpp || continue
        python "$dir/evaluate_on_change.py" "$dir/$top.obj" "$top" "$block" || return
    done
    eval "make -s -C '$dir/$top.obj' -f 'V$top.mk' -j '${ASSASIN_JOBS:-2}' $(verilated_make "${flags[*]}" "$(level "$1")") ${archives[*]}" || return
    echo "$want" >"$dir/$top.stamp"
}

# link VARIANT TOP NAME SOURCE...: the executable of a bench.
link() {
    local dir=$out/$1 top=$2 name=$3 root_of_verilator source objects=() archives=() block
    archives=("$dir/$top.obj/libV$top.a")
    for block in $(blocks "$1" "$top"); do archives+=("$dir/$top.obj/V$block/lib$block.a"); done
    shift 3
    root_of_verilator=$(sed -nE 's/^VERILATOR_ROOT = (.*)/\1/p' "$dir/$top.obj/V$top.mk")
    mkdir -p "$dir/$name.obj"
    for source in "$@"; do objects+=("$dir/$name.obj/$(basename "$source" .cpp).o"); done
    # shellcheck disable=SC2016,SC2086  # the inner shell expands it; $defines is a list of words
    printf '%s\0' "$@" | xargs -0 -n 1 -P "${ASSASIN_JOBS:-2}" bash -c \
        'source=${@: -1}; exec ccache "${@:2:$#-2}" -c "$source" -o "$1/$(basename "$source" .cpp).o"' _ "$dir/$name.obj" \
        "$verilated_compiler" "${flags[@]}" -O2 $defines "-I$root/build/gen/c" "-I$root/hw/cosim" -isystem "$dir/$top.obj" \
        -isystem "$root_of_verilator/include" -isystem "$root_of_verilator/include/vltstd" || return
    "$verilated_compiler" "${objects[@]}" "${archives[@]}" "$dir/$top.obj/libverilated.a" -lpthread -ldl -o "$dir/$name"
}

# bench VARIANT TOP NAME SOURCE...: one executable around one design. $defines: more compiler options for its sources.
defines=
bench() {
    local dir=$out/$1 top=$2 name=$3 source sources=() want
    for source in "${@:4}"; do sources+=("$root/hw/cosim/$source"); done
    want="$(digest "$dir/$top.sv" hw/cosim/*.h "${sources[@]}" build/gen/c/assasin_contract.h) $tools $top $defines"
    [ "$(level "$1")" = -O2 ] || want+=" $(level "$1")"
    [ -z "$(blocks "$1" "$top")" ] || want+=" blocks $(digest "$dir/evaluate_on_change.py")"
    want=$(sha256sum <<<"$want" | cut -c1-32)
    [ "$(cat "$dir/$name.stamp" 2>/dev/null)" != "$want" ] || return 0
    if ! cache_load bench "$want" "$dir"; then
        echo "cosim: building $name"
        { model "$1" "$top" && link "$1" "$top" "$name" "${sources[@]}"; } >"$dir/$name.log" 2>&1 || {
            tail -40 "$dir/$name.log" >&2
            exit 1
        }
        cache_store bench "$want" "$dir" "$name"
    fi
    echo "$want" >"$dir/$name.stamp"
}
