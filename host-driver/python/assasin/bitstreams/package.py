# SPDX-License-Identifier: BSD-3-Clause
"""Packages: an image, the firmware that belongs to it and their manifest in one folder, `bitstreams/<board>-<config>`."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assasin.bitstreams.errors import BitstreamError
from assasin.bitstreams.hashes import file_hash, rtl_hash
from assasin.bitstreams.manifest import BITSTREAMS, FIRMWARE, NAME, Image, Kernel, Manifest, Timing, Utilisation, check
from assasin.bitstreams.xilinx import read_bit
from assasin.boards import Board, BoardFileError
from assasin.tree import BUILD, ROOT

FIRMWARE_BUILT = BUILD / "firmware" / "assasin-fw.bin"


@dataclass(frozen=True)
class Facts:
    """What the flow that made an image knows of it."""

    tool: dict[str, str]
    timing: Timing = field(default_factory=Timing)
    utilisation: Utilisation | None = None
    kernels: tuple[Kernel, ...] = ()
    rtl_hash: str | None = None
    """Of the sources the image was made of; None: of this tree's as they are now."""

    @staticmethod
    def read(path: Path) -> Facts:
        """
        From JSON with `tool`, and where known `timing`, `utilisation`, `kernels` and `rtl_hash`, each as the manifest has it.

        Raises BitstreamError.
        """
        try:
            values = json.loads(path.read_text())
            unknown = set(values) - {"tool", "timing", "utilisation", "kernels", "rtl_hash"}
            if unknown:
                raise BitstreamError(f"{path}: '{min(unknown)}' is unknown; there are tool, timing, utilisation, kernels, rtl_hash")
            return Facts(
                values["tool"],
                Timing(**values.get("timing") or {}),
                Utilisation(**values["utilisation"]) if values.get("utilisation") else None,
                tuple(Kernel(**k) for k in values.get("kernels", ())),
                values.get("rtl_hash"),
            )
        except OSError as e:
            raise BitstreamError(f"{path}: {e.strerror}; give the file of facts that the build wrote") from e
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise BitstreamError(f"{path} does not hold what is known of an image ({e}): see bitstreams/README.md") from e


@dataclass(frozen=True)
class Package:
    """A package whose files have been found to be those of its manifest."""

    folder: Path
    manifest: Manifest
    image: Path = field(repr=False)

    @property
    def firmware(self) -> Path:
        """The firmware memory's contents."""
        return self.folder / FIRMWARE

    @staticmethod
    def open(folder: Path) -> Package:
        """Reads and verifies, also against the board file it names. Raises BitstreamError."""
        manifest = Manifest.read(folder / NAME)
        image = manifest.verify(folder)
        _fits(manifest, image)
        return Package(folder, manifest, image)


def make(board: str, config: str, image: Path, facts: Facts, firmware: Path = FIRMWARE_BUILT, parent: Path = BITSTREAMS) -> Package:
    """
    Copies image and firmware into PARENT/<board>-<config> and writes the manifest; a package that was there is replaced.

    Raises BitstreamError and writes nothing when something is missing or does not fit the board.
    """
    for path, what in ((image, "build the image first"), (firmware, "build it with: make -C firmware")):
        if not path.is_file():
            raise BitstreamError(f"{path} is not there: {what}")
    folder = parent / f"{board}-{config}"
    with locked(folder):
        new = parent / f".{folder.name}.new"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        try:
            # The copies are hashed, so what is described is what lies there.
            shutil.copy(image, new / image.name)
            shutil.copyfile(firmware, new / FIRMWARE)
            manifest = Manifest(
                board=board,
                part=part_of(board),
                config=config,
                rtl_hash=facts.rtl_hash or rtl_hash(config),
                firmware_hash=file_hash(new / FIRMWARE),
                tool=facts.tool,
                created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                commit=_commit(),
                image=Image(image.name, (new / image.name).stat().st_size, file_hash(new / image.name)),
                timing=facts.timing,
                utilisation=facts.utilisation,
                kernels=facts.kernels,
                measured_on_hardware=False,
            )
            check(manifest.json(), str(folder / NAME))
            _fits(manifest, new / image.name)
            manifest.write(new)
            folder.mkdir(exist_ok=True)
            for name in (image.name, FIRMWARE, NAME):
                os.replace(new / name, folder / name)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        return Package.open(folder)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other processes from writing this package meanwhile."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def find(image: str, board: str) -> Path:
    """
    The folder of the package that `image` means: a folder, its manifest or image, a name in bitstreams/, or a configuration.

    Raises BitstreamError.
    """
    path = Path(image)
    if path.exists():
        folder = path if path.is_dir() else path.parent
        if not (folder / NAME).exists():
            raise BitstreamError(
                f"{image} has no {NAME} beside it: package it with: assasin bitstream package {board} CONFIG {image}"
            )
        if path.is_file() and path.name not in (NAME, Manifest.read(folder / NAME).image.file):
            raise BitstreamError(f"{image} is not the image of {folder / NAME}: give the folder, or package the file")
        return folder
    for name in (image, f"{board}-{image}"):
        if re.fullmatch(r"[\w-]+", name) and (BITSTREAMS / name / NAME).exists():
            return BITSTREAMS / name
    known = [p.name for p in folders() if p.name.startswith(f"{board}-")]
    raise BitstreamError(
        f"there is no image '{image}'; of {board} there are: {', '.join(known) or 'none'} (assasin bitstream list); "
        "give a folder with a manifest, or a name"
    )


def folders() -> list[Path]:
    """Of all packages in bitstreams/, by name."""
    return sorted(p.parent for p in BITSTREAMS.glob(f"*/{NAME}"))


def part_of(board: str) -> str:
    """The part's name in the board file; the virtual board, which has none, is its own. Raises BitstreamError."""
    part = board_file(board).part
    return part.name if part else board


def board_file(name: str) -> Board:
    """The board of that name. Raises BitstreamError."""
    try:
        return Board.load(name)
    except BoardFileError as e:
        raise BitstreamError(str(e)) from e


def _fits(manifest: Manifest, image: Path) -> None:
    """Raises BitstreamError when the image is for another part than the board has."""
    part = part_of(manifest.board)
    if manifest.part != part:
        raise BitstreamError(
            f"the manifest of {manifest.name} says part {manifest.part}, board/{manifest.board}/board.toml has {part}: "
            "it is for another board, or the board file has changed; build the image again"
        )
    if manifest.board == "virtual":
        with image.open("rb") as f:
            if f.read(4) != b"\x7fELF" or not os.access(image, os.X_OK):
                raise BitstreamError(f"{image} is not an executable: the virtual board's image is its simulator; build it again")
        return
    bit = read_bit(image)
    if not bit.fits(part):
        raise BitstreamError(
            f"{image} was built for part {bit.part}, the board {manifest.board} has {part}: give the image of this board"
        )


def _commit() -> str | None:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("-dirty" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def summary(folder: Path) -> dict[str, Any]:
    """What `assasin bitstream list` shows of a package, broken ones too."""
    try:
        manifest = Manifest.read(folder / NAME)
    except BitstreamError as e:
        return {"name": folder.name, "problem": str(e)}
    return {
        "name": folder.name,
        "board": manifest.board,
        "config": manifest.config,
        "created": manifest.created,
        "tool": manifest.tool,
        "wns_ns": manifest.timing.wns_ns,
        "clock_mhz": manifest.timing.clock_mhz,
        "kernels": [k.name for k in manifest.kernels],
        "image_present": (folder / manifest.image.file).exists(),
        "current": manifest.is_current,
        "measured_on_hardware": manifest.measured_on_hardware,
        "problem": None,
    }
