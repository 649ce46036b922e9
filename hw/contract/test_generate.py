# SPDX-License-Identifier: BSD-3-Clause
"""The contract generator: what it accepts, what it refuses, and that all its languages agree."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import generate
import pytest
import steps


@pytest.fixture(scope="module")
def contract() -> generate.Contract:
    return generate.Contract()


@pytest.fixture(scope="module")
def python_half(contract, tmp_path_factory):
    path = tmp_path_factory.mktemp("gen") / "assasin_contract.py"
    path.write_text(generate.python(contract))
    spec = importlib.util.spec_from_file_location("assasin_contract", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "rv_x"
    path.write_text(text)
    return path


def test_stream_encodings_follow_table_iii(contract):
    by_name = {i.name: i for i in contract.instructions}
    assert len(by_name) == 18
    for name, ins in by_name.items():
        assert ins.match & 0x7F == 0x0B, name
    assert by_name["stream.lbu"].match == 0x400B
    assert by_name["stream.lbu"].mask == 0xFFF0707F
    assert by_name["stream.sw"].match == 0x0200200B
    assert by_name["stream.sw"].mask == 0xFE007FFF
    assert by_name["stream.reado.w"].mask == 0xFE00707F


def test_varve_encodings(contract):
    by_name = {i.name: i for i in contract.varve}
    assert len(by_name) == 79
    for name, ins in by_name.items():
        assert ins.match & 0x7F == {"vv": 0x2B, "vs": 0x5B}[name[:2]], name
    # the example of isa.md 3.2: vv.cmpeq.vi v1, v8, 1
    word = by_name["vv.cmpeq.vi"].match | 1 << 25 | 8 << 20 | 1 << 15 | 1 << 7
    assert word == 0x6280B0AB
    places = {name: dict((o, (lsb, width)) for o, lsb, width in ins.places()) for name, ins in by_name.items()}
    assert places["vs.fr"]["id"] == (7, 4)
    assert places["vs.fw"]["id"] == (7, 3)
    assert places["vs.cr"]["id"] == (20, 4)
    assert places["vs.ew"]["id"] == (20, 3)
    assert places["vs.vunpack.m"]["id"] == (26, 4)
    assert places["vs.vpack.m"]["id"] == (26, 3)
    assert places["vs.rcnum"]["smask"] == (20, 12)


def test_varve_and_stream_instructions_do_not_overlap(contract):
    broken = generate.Contract()
    broken.varve.append(generate.Instruction("vs.bad", (), 0x0000000B, 0xFE00707F))
    with pytest.raises(generate.ContractError, match=r"stream\.lb and vs\.bad"):
        broken.check()


def test_operands_fill_an_instruction(tmp_path):
    (left,) = generate.parse_opcodes(table(tmp_path, "a rd 31..25=0 14..0=0x0b\n"))
    with pytest.raises(generate.ContractError, match="operand rd"):
        left.places()
    (left,) = generate.parse_opcodes(table(tmp_path, "a rd 31..25=0 14..12=0 6..0=0x0b\n"))
    with pytest.raises(generate.ContractError, match="neither fixed nor an operand"):
        left.places()


def test_two_csrs_at_one_address_are_refused(contract):
    broken = generate.Contract()
    broken.csrs.append({"name": "EXTRA", "address": 0x842, "access": "rw", "doc": ""})
    with pytest.raises(generate.ContractError, match="EXTRA and VSSEL are both at 0x842"):
        broken.check()


def test_varve_in_all_languages(contract, python_half):
    header, scala = generate.c_header(contract), generate.scala(contract)
    for ins in contract.varve:
        assert f"#define VARVE_MATCH_{ins.ident} {ins.match:#010x}\n#define VARVE_MASK_{ins.ident} {ins.mask:#010x}\n" in header
        pattern = re.search(rf'def {ins.ident}: BitPat = BitPat\("b([01?]+)"\)', scala["VarveInstructions.scala"])[1]
        assert int(pattern.replace("?", "0"), 2) == ins.match
        assert int("".join("0" if bit == "?" else "1" for bit in pattern), 2) == ins.mask
    listed = {i.name: i for i in python_half.INSTRUCTIONS}
    assert len(listed) == len(contract.instructions) + len(contract.varve)
    assert all(listed[i.name].match == i.match and listed[i.name].mask == i.mask for i in contract.varve)
    assert "val Vsfmt: Int = 0x840" in scala["VarveCsr.scala"]
    assert "Vsfmt" not in scala["StreamCsr.scala"]
    assert python_half.CSR_MVARVE == 0x7C0
    assert "#define ASSASIN_CAUSE_STREAM_DATA 25 " in header


def test_overlapping_encodings_are_refused(tmp_path):
    with pytest.raises(generate.ContractError, match="overlapping encodings"):
        generate.parse_opcodes(table(tmp_path, "a 6..0=0x0b\nb 14..12=1 6..0=0x0b\n"))


def test_value_too_wide_is_refused(tmp_path):
    with pytest.raises(generate.ContractError, match="does not fit"):
        generate.parse_opcodes(table(tmp_path, "a 14..12=9 6..0=0x0b\n"))


def test_overlapping_fields_are_refused(contract):
    broken = generate.Contract()
    broken.blocks["SYS"]["reg"][1]["fields"].append(["EXTRA", 4, 8, ""])
    with pytest.raises(generate.ContractError, match=r"CONFIG\.EXTRA"):
        broken.check()


def test_struct_of_wrong_size_is_refused(contract):
    broken = generate.Contract()
    broken.structs[0]["size"] += 4
    with pytest.raises(generate.ContractError, match="size says"):
        broken.check()


def test_c_half_compiles_as_c_and_cxx(contract, tmp_path):
    (tmp_path / "assasin_contract.h").write_text(generate.c_header(contract))
    for compiler, std in (("cc", "-std=c11"), ("c++", "-std=c++17")):
        source = tmp_path / ("t.c" if compiler == "cc" else "t.cc")
        source.write_text('#include "assasin_contract.h"\nint main(void) { return 0; }\n')
        subprocess.run([compiler, std, "-Wall", "-Wextra", "-Werror", "-c", source, "-o", tmp_path / "t.o"], check=True)


def test_c_and_python_and_scala_agree(contract, python_half):
    header = generate.c_header(contract)
    defines = dict(re.findall(r"^#define (\w+) (0x[0-9a-f]+|\d+)u?\b", header, re.M))
    for name, block in contract.blocks.items():
        scala = generate.scala(contract)[f"{generate.camel(name)}Regs.scala"]
        listed = python_half.BLOCKS[name].registers
        assert [(r.name, r.offset, r.takes) for r in listed] == [
            (reg["name"], reg["offset"], reg.get("takes", False)) for reg in block["reg"]
        ]
        for reg in block["reg"]:
            stem = f"{name}_{reg['name']}"
            assert int(defines[stem], 0) == reg["offset"] == getattr(python_half, stem)
            assert re.search(rf"object {generate.camel(reg['name'])} {{\n    val offset: Int = {reg['offset']:#x}\n", scala)


def test_files_are_left_alone_when_nothing_changed(tmp_path):
    script = Path(generate.__file__)
    subprocess.run([sys.executable, script, tmp_path], check=True)
    stamps = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.is_file()}
    assert len(stamps) > 5
    subprocess.run([sys.executable, script, tmp_path], check=True)
    assert stamps == {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.is_file()}


def test_what_cores_run_in_all_languages(contract, python_half):
    header = generate.c_header(contract)
    archs, variants = python_half.CORE_ARCH, {name: value for value, name in python_half.SCOMP_VARIANT.items()}
    run = [{name for name, value in variants.items() if bits >> value & 1} for bits in python_half.SCOMP_CORES_RUN]
    assert len(run) == max(archs) + 1
    for code, name in archs.items():
        assert bool(run[code]) == (name != "UDP"), name
    assert run[python_half.CORE_ARCH_VF] == {"SB", "V", "VP", "VF"}
    assert run[python_half.CORE_ARCH_SB_X] == {"SB", "SBX"}
    listed = re.search(r"#define SCOMP_CORES_RUN \{ (.*) \}", header)[1].split(", ")
    assert [int(bits.rstrip("u"), 16) for bits in listed] == list(python_half.SCOMP_CORES_RUN)
    own = re.search(r"#define SCOMP_CORES_VARIANT \{ (.*) \}", header)[1].split(", ")
    assert own[python_half.CORE_ARCH_VF] == f"{python_half.SCOMP_VARIANT_VF}u"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"arch": "NONE", "runs": ["SB"], "library": "SB"}, "NONE: no such CoreArch"),
        ({"arch": "UDP", "runs": ["SB", "NONE"], "library": "SB"}, "UDP: no such ScompVariant: NONE"),
        ({"arch": "UDP", "runs": ["SB"], "library": "V"}, "UDP: they do not run what is built for V"),
        ({"arch": "VF", "runs": ["SB"], "library": "SB"}, "VF are named twice"),
    ],
)
def test_contradictions_about_what_cores_run_are_refused(contract, row, message):
    with pytest.raises(generate.ContractError, match=message):
        generate.CoreTable(contract.enums, [*contract.cores.rows, row])


def test_default_steps_of_a_read(contract):
    words, phases = contract.steps.steps, contract.steps.phases
    first = phases[5] & 63
    # 00h, column, row, 30h (of the first of two planes 32h) and busy; data out to the end of the phase
    assert words[first : first + 5] == [0x00001, 0x00004, 0x00005, 0x23021, 0x23241]
    assert words[phases[5] >> 8 & 63] == 0x10007
    # 05h, column, E0h with tCCS, and on into the data
    other = phases[5] >> 16 & 63
    assert words[other : other + 4] == [0x00501, 0x00004, 0x0E019, 0x10007]
    # 78h and row with several LUNs, 06h, column, row, E0h with tCCS, and the data
    select = phases[5] >> 24 & 63
    assert words[select : select + 7] == [0x078A1, 0x000A5, 0x00601, 0x00004, 0x00005, 0x0E019, 0x10007]


@pytest.mark.parametrize(
    ("step", "message"),
    [("SING", "no FlashStep"), ("COMMAND", "names no byte"), ("ROW TODAY", "TODAY"), ("COMMAND 1FF", "does not fit")],
)
def test_steps_out_of_order_are_refused(contract, step, message):
    block = contract.blocks["FLASH"]
    flash = {"steps": [{"name": "A", "steps": [step]}], "phases": {}}
    with pytest.raises(steps.StepError, match=message):
        steps.StepTables(block["reg"], contract.enums, flash)


def test_more_steps_than_the_channel_holds_are_refused(contract):
    flash = {"steps": [{"name": "A", "steps": ["NONE"] * 65}], "phases": {}}
    with pytest.raises(steps.StepError, match="65 steps"):
        steps.StepTables(contract.blocks["FLASH"]["reg"], contract.enums, flash)


def test_phases_name_a_list(contract):
    flash = {"steps": [{"name": "A", "steps": ["NONE END"]}], "phases": {"READ": ["B"]}}
    with pytest.raises(steps.StepError, match="there is no list B"):
        steps.StepTables(contract.blocks["FLASH"]["reg"], contract.enums, flash)
