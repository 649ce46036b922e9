# SPDX-License-Identifier: BSD-3-Clause
"""Making, finding and listing packages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from assasin.bitstreams import BitstreamError, package
from assasin.bitstreams.package import Facts, Package
from assasin.bitstreams.xilinx import read_bit
from samples import CONFIG, FACTS, PARTS, Run, bit

Make = Callable[..., Package]
Assasin = Callable[..., Run]


def test_bit_files(tmp_path: Path) -> None:
    path = tmp_path / "x.bit"
    path.write_bytes(bit("7z045ffg900"))
    read = read_bit(path)
    assert (read.part, read.date, read.time) == ("7z045ffg900", "2026/11/21", "13:00:00")
    assert read.design == "top;UserID=0XFFFFFFFF;Version=2024.1"
    assert bit("7z045ffg900").endswith(read.data)
    swapped = read.for_fpga_manager()
    assert swapped[32:52].hex() == "bb00000044002211ffffffffffffffff665599aa"
    assert len(swapped) == len(read.data)
    for part, fits in (("xc7z045ffg900-3", True), ("xc7z045ffg676-3", False), ("xc7z020clg400-1", False)):
        assert read.fits(part) == fits
    path.write_bytes(bit("xczu17eg-ffvc1760-2-e"))
    assert read_bit(path).fits("xczu17eg-ffvc1760-2-e")
    assert not read_bit(path).fits("xczu7ev-ffvc1156-2-e")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b"", "not a .bit file: its first bytes are missing"),
        (lambda b: b"\x7fELF" + b, "not a .bit file: its first bytes are 7f454c46"),
        (lambda b: b[:20], "header of the .bit file is broken at byte 13"),
        (lambda b: b.replace(b"c\x00\x0b", b"x\x00\x0b"), "header of the .bit file is broken"),
        (lambda b: b[:-4], "bytes of configuration, the file has"),
        (lambda b: b.replace(bytes.fromhex("aa995566"), bytes(4)), "no sync word"),
    ],
)
def test_what_is_no_bit_file(tmp_path: Path, change: Callable[[bytes], bytes], message: str) -> None:
    path = tmp_path / "x.bit"
    path.write_bytes(change(bit("7z045ffg900")))
    with pytest.raises(BitstreamError, match=message):
        read_bit(path)


def test_one_for_each_board(make: Make) -> None:
    for board in PARTS:
        made = make(board)
        assert made.folder.name == f"{board}-{CONFIG}"
        assert sorted(p.name for p in made.folder.iterdir()) == sorted([f"{board}.bit", "firmware.bin", "manifest.json"])


def test_a_failure_leaves_the_old_package(make: Make, tmp_path: Path) -> None:
    old = make().manifest
    with pytest.raises(BitstreamError, match="built for part 7z020clg400, the board cosmosplus has xc7z045ffg900-3"):
        make(part="7z020clg400")
    with pytest.raises(BitstreamError, match="tool"):
        make(facts=Facts({}))
    with pytest.raises(BitstreamError, match="there is no board 'cosmos'"):
        package.make("cosmos", CONFIG, tmp_path / "cosmosplus.bit", FACTS, tmp_path / "fw.bin", tmp_path / "bitstreams")
    with pytest.raises(BitstreamError, match=r"nothing\.bit is not there: build the image first"):
        package.make("cosmosplus", CONFIG, tmp_path / "nothing.bit", FACTS, tmp_path / "fw.bin", tmp_path / "bitstreams")
    (tmp_path / "cosmosplus.bit").write_bytes(bit(PARTS["cosmosplus"]))
    folder = tmp_path / "bitstreams" / f"cosmosplus-{CONFIG}"
    assert Package.open(folder).manifest == old
    assert sorted(p.name for p in folder.parent.iterdir() if p.is_dir()) == [folder.name]


def test_a_package_is_replaced_as_a_whole(make: Make) -> None:
    make()
    new = make(facts=Facts({"vivado": "2025.2"}))
    assert new.manifest.tool == {"vivado": "2025.2"} and new.manifest.utilisation is None
    Package.open(new.folder)


def test_the_command_packages_and_verifies(make: Make, tmp_path: Path, assasin: Assasin) -> None:
    image, facts, firmware = tmp_path / "top.bit", tmp_path / "facts.json", tmp_path / "fw.bin"
    image.write_bytes(bit(PARTS["zcu106"]))
    firmware.write_bytes(b"firmware")
    facts.write_text(json.dumps({"tool": {"vivado": "2024.1"}, "timing": {"wns_ns": 0.2, "clock_mhz": 200}}))
    command = ["bitstream", "package", "zcu106", CONFIG, image, "--firmware", firmware, "--out", tmp_path]
    done = assasin(*command, "--facts", facts, "--json")
    assert done.code == 0, done.said
    assert json.loads(done.out)["timing"] == {"wns_ns": 0.2, "clock_mhz": 200}
    folder = tmp_path / f"zcu106-{CONFIG}"
    assert assasin("bitstream", "verify", folder).out.startswith(f"zcu106-{CONFIG}: correct")
    (folder / "top.bit").write_bytes(b"")
    bad = assasin("bitstream", "verify", folder, "--json")
    assert bad.code == 1 and "changed since it was packaged" in json.loads(bad.out)[0]["problem"]
    assert assasin(*command).code == 2
    for text, message in (
        ("{", "does not hold what is known of an image"),
        ("[]", "does not hold"),
        ('{"timing": {}}', "'tool'"),
        ('{"tool": {"v": "1"}, "time": 1}', "'time' is unknown"),
        ('{"tool": {"v": "1"}, "timing": {"wns": 1}}', "wns"),
        ('{"tool": {"v": "1"}, "utilisation": {"lut": 1}}', "missing"),
    ):
        facts.write_text(text)
        refused = assasin(*command, "--facts", facts)
        assert refused.code == 1 and message in refused.said


def test_finding(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make()
    monkeypatch.setattr(package, "BITSTREAMS", tmp_path / "bitstreams")
    for name in (CONFIG, made.folder.name, str(made.folder), str(made.image), str(made.folder / "manifest.json")):
        assert package.find(name, "cosmosplus").resolve() == made.folder
    with pytest.raises(BitstreamError, match=f"no image 'AssasinSb8x8'; of cosmosplus there are: cosmosplus-{CONFIG}"):
        package.find("AssasinSb8x8", "cosmosplus")
    with pytest.raises(BitstreamError, match="of zcu106 there are: none"):
        package.find("../no/such/image", "zcu106")
    with pytest.raises(BitstreamError, match=r"no manifest\.json beside it"):
        package.find(str(tmp_path / "cosmosplus.bit"), "cosmosplus")
    (made.folder / "other.bit").write_bytes(b"")
    with pytest.raises(BitstreamError, match="is not the image of"):
        package.find(str(made.folder / "other.bit"), "cosmosplus")


def test_listing(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, assasin: Assasin) -> None:
    monkeypatch.setattr(package, "BITSTREAMS", tmp_path / "bitstreams")
    assert "no images yet" in assasin("bitstream", "list").out
    make()
    make("zcu106").image.unlink()
    (make("daisyplus").folder / "manifest.json").write_text("{}")
    rows = {r["name"]: r for r in json.loads(assasin("bitstream", "list", "--json").out)}
    assert rows[f"cosmosplus-{CONFIG}"]["image_present"] and rows[f"cosmosplus-{CONFIG}"]["current"]
    assert not rows[f"zcu106-{CONFIG}"]["image_present"]
    assert "required property" in rows[f"daisyplus-{CONFIG}"]["problem"]
    table = assasin("bitstream", "list").out
    assert "vivado 2024.1" in table and "not here" in table
