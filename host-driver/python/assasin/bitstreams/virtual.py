# SPDX-License-Identifier: BSD-3-Clause
"""The virtual board's images: simulators as scripts/build left them, packaged as bitstreams are."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from assasin.bitstreams.errors import BitstreamError
from assasin.bitstreams.hashes import file_hash, rtl_hash
from assasin.bitstreams.manifest import BITSTREAMS, NAME, Manifest
from assasin.bitstreams.package import FIRMWARE_BUILT, Facts, Package, make
from assasin.processor import processor_of
from assasin.tree import BUILD, ROOT

_RECIPE = "scripts/build-board"
"""The `tool` whose version is the stamp of the build: a hash of all that went into the simulator."""


def folder(config: str) -> Path:
    """Of the configuration's package."""
    return BITSTREAMS / f"virtual-{config}"


def package(config: str) -> Package:
    """Packages the simulator in build/board/CONFIG with the built firmware. Raises BitstreamError."""
    build = BUILD / "board" / config
    stamp = build / "stamp"
    firmware = _firmware(config)
    for path, how in ((build / "assasin-board", f"scripts/build {config}"), (firmware, processor_of(config).make)):
        if not path.exists():
            raise BitstreamError(f"{path.relative_to(ROOT)} is not there: build it with {how}")
    if not stamp.exists():
        raise BitstreamError(f"{stamp.relative_to(ROOT)} is not there: the build did not finish; run scripts/build {config}")
    tool = {_RECIPE: stamp.read_text().strip(), "verilator": _version("verilator"), "clang": _version(_clang())}
    return make("virtual", config, build / "assasin-board", Facts(tool, rtl_hash=_rtl_of(config, stamp)), firmware)


def ready(config: str) -> Package:
    """
    The package of the simulator that is built now: made when the build or the firmware is newer than the package, else verified.

    Raises BitstreamError, also when the simulator in build/ has changed without a build.
    """
    binary = BUILD / "board" / config / "assasin-board"
    stamp = binary.with_name("stamp")
    manifest = folder(config) / NAME
    firmware = _firmware(config)
    if not binary.exists() or not firmware.exists() or not manifest.exists() or not stamp.exists():
        return package(config)
    packaged = Manifest.read(manifest)
    if packaged.tool.get(_RECIPE) != stamp.read_text().strip():
        return package(config)
    if packaged.image.sha256 != file_hash(binary):
        raise BitstreamError(
            f"{binary.relative_to(ROOT)} is not what was packaged from this build: it was changed. Remove build/board/{config} "
            f"and run scripts/build {config}; if the change is yours, package it with: assasin bitstream package virtual {config}"
        )
    if packaged.firmware_hash != file_hash(firmware):
        # What the package holds is verified before it is replaced: a change of firmware hides no change of the simulator.
        Package.open(folder(config))
        return package(config)
    return Package.open(folder(config))


def _firmware(config: str) -> Path:
    return processor_of(config).image(FIRMWARE_BUILT)


def _rtl_of(config: str, stamp: Path) -> str:
    """The hash of the sources that the simulator was built of, as far as this tree can tell. Raises BitstreamError."""
    built = stamp.stat().st_mtime
    sources = [ROOT / "hw" / part for part in ("src/main", "isa", "regs", "contract")]
    newest = max(p.stat().st_mtime for s in sources for p in s.rglob("*") if p.is_file())
    if newest <= built:
        return rtl_hash(config)
    emitted = BUILD / "rtl" / config / "stamp"
    if emitted.exists() and emitted.stat().st_mtime <= built:
        return emitted.read_text().strip()
    raise BitstreamError(f"the chip's sources are newer than build/board/{config}/assasin-board: run scripts/build {config}")


def _clang() -> str:
    found = re.search(r"^LLVM_VERSION=(\d+)$", (ROOT / "scripts" / "env.sh").read_text(), re.MULTILINE)
    assert found is not None
    return f"clang-{found[1]}"


def _version(tool: str) -> str:
    """The first number of the form 1.2 that `tool --version` prints, or else its first line. Raises BitstreamError."""
    try:
        text = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as e:
        raise BitstreamError(f"{tool} does not run: . scripts/env.sh in this shell, or install with scripts/setup") from e
    found = re.search(r"\d+\.\d+(\.\d+)?", text)
    return found[0] if found else text.splitlines()[0].strip()
