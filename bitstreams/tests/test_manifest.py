# SPDX-License-Identifier: BSD-3-Clause
"""Manifests: the schema, what breaks it, and hashes that are those of scripts/build-board."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from assasin.bitstreams import BitstreamError, Manifest, manifest
from assasin.bitstreams.hashes import rtl_hash
from assasin.bitstreams.package import Package
from samples import CONFIG, ROOT

Make = Callable[..., Package]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads((ROOT / "bitstreams" / "manifest.schema.json").read_text()))


def test_what_is_written_is_what_is_read(make: Make) -> None:
    made = make()
    path = made.folder / "manifest.json"
    assert Manifest.read(path) == made.manifest
    values = json.loads(path.read_text())
    assert values == made.manifest.json()
    assert values["kernels"] == [{"slot": 0, "name": "fgrep8", "id": 0x1234ABCD}]
    assert (values["part"], values["measured_on_hardware"]) == ("xc7z045ffg900-3", False)


def _without(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda v: v.pop(key)


def _with(*path: str | int, value: object) -> Callable[[dict[str, Any]], object]:
    def change(values: Any) -> None:
        for p in path[:-1]:
            values = values[p]
        values[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without("part"), "'part' is a required property"),
        (_with("colour", value="red"), "'colour' was unexpected"),
        (_with("schema", value=2), "schema: 1 was expected"),
        (_with("board", value="Cosmos+"), "board: 'Cosmos.'"),
        (_with("config", value="AssasinSb0x8"), "config: 'AssasinSb0x8'"),
        (_with("rtl_hash", value="12345"), "rtl_hash: '12345'"),
        (_with("tool", value={}), "tool:"),
        (_with("created", value="yesterday"), "created: 'yesterday'"),
        (_with("commit", value="main"), "commit: 'main'"),
        (_with("image", "file", value="../board"), "image.file: '../board'"),
        (_with("image", "bytes", value=0), "image.bytes: 0"),
        (_with("image", "sha256", value="00"), "image.sha256: '00'"),
        (_with("timing", "clock_mhz", value=-1), "timing.clock_mhz: -1"),
        (_with("utilisation", "bram36", value=1.25), "utilisation.bram36: 1.25"),
        (_with("utilisation", "lut", value=-5), "utilisation.lut: -5"),
        (_with("kernels", 0, "id", value=1 << 32), "kernels.0.id: 4294967296"),
        (_with("kernels", value=[{"slot": 1, "name": n, "id": 5} for n in "ab"]), "slot 1 holds two kernels"),
        (_with("measured_on_hardware", value="yes"), "measured_on_hardware: 'yes'"),
    ],
)
def test_what_is_no_manifest(make: Make, change: Callable[[dict[str, Any]], object], message: str) -> None:
    path = make().folder / "manifest.json"
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))
    with pytest.raises(BitstreamError, match="assasin bitstream package") as e:
        Manifest.read(path)
    import re

    assert re.search(message, str(e.value)), str(e.value)


def test_files_that_are_no_json(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    with pytest.raises(BitstreamError, match="No such file"):
        Manifest.read(path)
    for text in ("", "{", "[]", "null", "\xff"):
        path.write_text(text, encoding="latin-1")
        with pytest.raises(BitstreamError, match=r"manifest\.json"):
            Manifest.read(path)


def test_a_package_is_compared_byte_by_byte(make: Make) -> None:
    made = make()
    image = made.image.read_bytes()
    Package.open(made.folder)
    for changed, message in (
        (image[:-1] + bytes([image[-1] ^ 1]), "the image has changed since it was packaged"),
        (image[:-1], f"has {len(image) - 1:,} bytes, its manifest says {len(image):,}"),
        (image + b"\0", "the image has changed since it was packaged"),
    ):
        made.image.write_bytes(changed)
        with pytest.raises(BitstreamError, match=message):
            Package.open(made.folder)
    made.image.unlink()
    with pytest.raises(BitstreamError, match="images are not in the repository"):
        Package.open(made.folder)
    made.image.write_bytes(image)
    made.firmware.write_bytes(b"other firmware")
    with pytest.raises(BitstreamError, match="the firmware is not the one"):
        Package.open(made.folder)


def test_a_manifest_in_the_folder_of_another(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make()
    monkeypatch.setattr(manifest, "BITSTREAMS", tmp_path / "bitstreams")
    Package.open(made.folder)
    other = made.folder.rename(made.folder.with_name("cosmosplus-AssasinSb8x8"))
    with pytest.raises(BitstreamError, match=f"manifest of cosmosplus-{CONFIG}: it does not belong there"):
        Package.open(other)


def test_the_hash_is_that_of_the_build_script() -> None:
    """scripts/board-hash.sh, run by the shell."""
    for config in ("AssasinSb2x2", "Baseline8x8"):
        shell = f". scripts/board-hash.sh; rtl_hash_of {config}"
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", shell], cwd=ROOT, capture_output=True, text=True, check=True)
        assert rtl_hash(config) == done.stdout.strip()


def test_the_hash_follows_the_chip_alone(tmp_path: Path) -> None:
    for part in ("hw/src/main", "hw/isa", "hw/contract", "hw/regs", "hw/project"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("target"))
    shutil.copy(ROOT / "hw" / "build.sbt", tmp_path / "hw")
    board = tmp_path / "board/virtual/board.toml"
    board.parent.mkdir(parents=True)
    shutil.copy(ROOT / "board/virtual/board.toml", board)
    first = rtl_hash(CONFIG, tmp_path)
    assert first == rtl_hash(CONFIG)
    assert rtl_hash("AssasinSb2x8", tmp_path) != first
    with (tmp_path / "hw/regs/scomp.toml").open("a") as f:
        f.write("# between firmware and host\n")
    for name in ("hw/src/main/NOTES.md", "hw/contract/tests/test_x.py", "hw/isa/reference/x", "hw/contract/x.pyc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("in no board\n")
    assert rtl_hash(CONFIG, tmp_path) == first
    text = board.read_text()
    board.write_text(text.replace("bar0_bits = 64", "bar0_bits = 32"))
    assert rtl_hash(CONFIG, tmp_path) != first
    board.write_text(text)
    with (tmp_path / "hw/regs/sys.toml").open("a") as f:
        f.write("# the chip's\n")
    assert rtl_hash(CONFIG, tmp_path) != first
