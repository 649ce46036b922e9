# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the scripts of this folder, from the repository's root: generates the designs and builds benches, both only when a
# source has changed.
# shellcheck shell=bash
scripts/contract
root=$PWD
out=$root/build/cosim
mkdir -p "$out"

digest() { cat "$@" | sha256sum | cut -c1-32; }

# Chisel to SystemVerilog.
mapfile -t scala < <(find hw/src/main/scala/assasin/{bus,cache,core,stream,vector,xbar} hw/src/main/scala/assasin/*.scala \
    hw/src/test/scala/assasin/core/EmitCosim.scala build/gen/scala hw/build.sbt -type f | sort)
stamp=$(digest "${scala[@]}")
if [ "$(cat "$out/emit.stamp" 2>/dev/null)" != "$stamp" ]; then
    echo "cosim: generating the designs"
    (cd hw && sbt "Test/runMain assasin.core.EmitCosim $out") >"$out/emit.log" 2>&1 || {
        tail -40 "$out/emit.log" >&2
        exit 1
    }
    echo "$stamp" >"$out/emit.stamp"
fi

# The vector unit alone, for each VLEN/DLEN or VLEN/DLEN/FORM (EmitVector) in the array `vectors`. Own stamp, so that a change of the core
# does not emit it again.
vectors=(256/256 256/128 128/64 512/256 256/128/rv64 128/64/zve64x 256/256/pup 256/128/pup 128/64/pup 256/256/full 64/64/full 64/64/full-a4)
emit_vectors() {
    local stamp
    mapfile -t scala < <(find hw/src/main/scala/assasin/vector hw/src/main/scala/assasin/Emission.scala \
        hw/src/test/scala/assasin/vector/EmitVector.scala hw/build.sbt hw/cosim/build.sh -type f | sort)
    stamp="$(digest "${scala[@]}") ${vectors[*]}"
    [ "$(cat "$out/vector.stamp" 2>/dev/null)" != "$stamp" ] || return 0
    echo "cosim: generating the vector unit"
    (cd hw && sbt "Test/runMain assasin.vector.EmitVector $out ${vectors[*]}") >"$out/vector.log" 2>&1 || {
        tail -40 "$out/vector.log" >&2
        exit 1
    }
    echo "$stamp" >"$out/vector.stamp"
}

# emit_vector_core VLEN DLEN: the pipeline with a vector unit, for run-elf, in `elfvVLENxDLEN`.
emit_vector_core() {
    local variant=elfv$1x$2 stamp
    mapfile -t scala < <(find hw/src/main/scala/assasin/{bus,core,stream,vector} hw/src/main/scala/assasin/*.scala \
        hw/src/test/scala/assasin/core/{EmitVectorCore,VectorCore}.scala build/gen/scala hw/build.sbt -type f | sort)
    stamp=$(digest "${scala[@]}")
    [ "$(cat "$out/$variant.stamp" 2>/dev/null)" != "$stamp" ] || return 0
    echo "cosim: generating the pipeline with a vector unit, VLEN $1, DLEN $2"
    (cd hw && sbt "Test/runMain assasin.core.EmitVectorCore $out $1/$2") >"$out/$variant.log" 2>&1 || {
        tail -40 "$out/$variant.log" >&2
        exit 1
    }
    echo "$stamp" >"$out/$variant.stamp"
}

# emit_vector_tile TILE: a tile of AssasinVf whose unit has another size (EmitVectorTile). These take long, and no test of CI but one runs one.
emit_vector_tile() {
    local stamp
    mapfile -t scala < <(find hw/src/main/scala/assasin/{bus,cache,core,stream,vector,xbar} hw/src/main/scala/assasin/*.scala \
        hw/src/test/scala/assasin/core/EmitVectorTile.scala build/gen/scala hw/build.sbt -type f | sort)
    stamp=$(digest "${scala[@]}")
    [ "$(cat "$out/$1.stamp" 2>/dev/null)" != "$stamp" ] || return 0
    echo "cosim: generating the tile $1"
    (cd hw && sbt "Test/runMain assasin.core.EmitVectorTile $out $1") >"$out/$1.log" 2>&1 || {
        tail -40 "$out/$1.log" >&2
        exit 1
    }
    echo "$stamp" >"$out/$1.stamp"
}

# VariableUnit, for each VLEN/MBMAX/G in the array `variables`.
variables=(256/64/8 64/32/8 64/64/4)
emit_variables() {
    local stamp
    mapfile -t scala < <(find hw/src/main/scala/assasin/vector hw/src/main/scala/assasin/Emission.scala \
        hw/src/test/scala/assasin/vector/{EmitVariable,VariableHarness}.scala hw/build.sbt hw/cosim/build.sh -type f | sort)
    stamp="$(digest "${scala[@]}") ${variables[*]}"
    [ "$(cat "$out/variable.stamp" 2>/dev/null)" != "$stamp" ] || return 0
    echo "cosim: generating VariableUnit"
    (cd hw && sbt "Test/runMain assasin.vector.EmitVariable $out ${variables[*]}") >"$out/variable.log" 2>&1 || {
        tail -40 "$out/variable.log" >&2
        exit 1
    }
    echo "$stamp" >"$out/variable.stamp"
}

# HuffmanTables.
emit_huffman() {
    local stamp
    mapfile -t scala < <(find hw/src/main/scala/assasin/vector/Huffman* hw/src/main/scala/assasin/Emission.scala \
        hw/src/test/scala/assasin/vector/EmitHuffman.scala hw/build.sbt hw/cosim/build.sh -type f | sort)
    stamp=$(digest "${scala[@]}")
    [ "$(cat "$out/huffman.stamp" 2>/dev/null)" != "$stamp" ] || return 0
    echo "cosim: generating HuffmanTables"
    (cd hw && sbt "Test/runMain assasin.vector.EmitHuffman $out") >"$out/huffman.log" 2>&1 || {
        tail -40 "$out/huffman.log" >&2
        exit 1
    }
    echo "$stamp" >"$out/huffman.stamp"
}

# bench VARIANT TOP NAME SOURCE...: one executable around one design. $defines: more compiler options.
defines=
bench() {
    local variant=$1 top=$2 name=$3 source
    shift 3
    local dir=$out/$variant sources=()
    for source in "$@"; do sources+=("$root/hw/cosim/$source"); done
    local want
    want="$(digest "$dir/$top.sv" hw/cosim/*.h "${sources[@]}" build/gen/c/assasin_contract.h hw/cosim/build.sh) $defines"
    [ "$(cat "$dir/$name.stamp" 2>/dev/null)" != "$want" ] || return 0
    echo "cosim: building $name"
    {
        verilator --cc --exe --build -j "${ASSASIN_JOBS:-2}" -O3 --x-assign fast --top-module "$top" --prefix "V$top" --Mdir "$dir/$name.obj" \
            -Wno-fatal -CFLAGS "-std=c++17 -O2 -march=native -I$root/build/gen/c -I$root/hw/cosim $defines" \
            -MAKEFLAGS OBJCACHE=ccache -o "$dir/$name" "$dir/$top.sv" "${sources[@]}"
    } >"$dir/$name.log" 2>&1 || {
        tail -40 "$dir/$name.log" >&2
        exit 1
    }
    echo "$want" >"$dir/$name.stamp"
}
