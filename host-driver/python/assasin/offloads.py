# SPDX-License-Identifier: BSD-3-Clause
"""The offloads that come with the project: arguments in, merged results out (firmware/offload/include/offloads.h)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from assasin.builtin import BUILTIN
from assasin.cut import Table, plan
from assasin.descriptions import OffloadError, explain
from assasin.drive import Drive, Extent, Kernel, Piece
from assasin.helpful import guess
from assasin.job import Data, enough_kcycles
from assasin.kernel import KernelError
from assasin.tree import BUILD, ROOT

KERNEL_FILE = "kernel.toml"
"""Name of the file that describes a kernel (hls-kernels/README.md)."""


def elf_path(name: str, variant: str = "sb") -> Path:
    """
    File of an offload: a path as it is, or the build for cores of kind `variant` (see Drive.variant) of the offload called `name`.
    Raises OffloadError.
    """
    path = Path(name)
    if path.suffix == ".elf" or "/" in name:
        if not path.exists():
            raise OffloadError(f"there is no file {name}")
        return path
    path = BUILD / "offload" / variant / f"{name}.elf"
    if not path.exists():
        built = sorted(p.stem for p in path.parent.glob("*.elf"))
        hint = f"; built for '{variant}' are: {', '.join(built)}.{guess(name, built)}" if built else ""
        raise OffloadError(f"no offload '{name}' has been built{hint} (make -C {(ROOT / 'firmware/offload').relative_to(ROOT)})")
    return path


def load(drive: Drive, name: str) -> bytes | Kernel:
    """
    The ELF file of an offload, built for the drive's cores; or, when `name` is the path of a kernel.toml, the kernel that it
    describes. Raises OffloadError.
    """
    if Path(name).name == KERNEL_FILE:
        try:
            return Kernel.described(Path(name))
        except KernelError as e:
            raise OffloadError(str(e)) from e
    return elf_path(name, drive.variant()).read_bytes()


def default_pieces(drive: Drive, function: bytes | Kernel) -> int:
    """Pieces when nobody says how many: one a core; one of a kernel, which may keep a state over its whole input."""
    return 1 if isinstance(function, Kernel) else drive.info.cores


def reason(name: str, piece: Piece) -> str:
    """How a piece of an offload ended, in words."""
    meaning = explain(name, piece.exit_code) if piece.exit_code else None
    return f"{meaning} (exit code {piece.exit_code})" if meaning else piece.text


def check(name: str, pieces: list[Piece]) -> list[Piece]:
    """The pieces, when all of them ended well. Raises OffloadError."""
    failed = [(i, p) for i, p in enumerate(pieces) if not p.ok]
    if failed:
        i, p = failed[0]
        raise OffloadError(f"{name}: {reason(name, p)}; {len(failed)} of {len(pieces)} pieces failed, the first is piece {i}")
    return pieces


def run(
    drive: Drive,
    name: str,
    extents: Sequence[Extent],
    length: int,
    args: Data = b"",
    pieces: int = 0,
    max_cores: int = 0,
    record: int = 0,
    tick: Callable[[], None] | None = None,
) -> list[Piece]:
    """
    Runs an offload over `length` bytes in `extents`, divided into pieces where the offload can be cut (cut.plan()).

    `pieces`: 0 = default_pieces(). `record`: bytes that must stay together besides. `tick`: see Drive.run. Raises OffloadError when
    a piece failed, DriveError when the drive refuses.
    """
    function = load(drive, name)
    usual = max_cores or default_pieces(drive, function)
    planned = plan(name, [Table(extents, length)], drive.info.block_bytes, usual, args, None, pieces or None, record or None)
    with drive.function(function) as loaded:
        limit = enough_kcycles(planned.inputs) if name in BUILTIN else 0
        done = drive.run(loaded, planned.inputs, planned.call.outputs, planned.args, max_cores, limit, tick=tick)
    return check(name, done)


@dataclass(frozen=True)
class ScanResult:
    """Bytes read, and the sum modulo 2^32 of the first byte of every 64-byte block of each piece."""

    bytes: int
    checksum: int


def scan_result(pieces: Sequence[Piece]) -> ScanResult:
    """Merges scan's output; pieces are a multiple of 64 bytes long, so their blocks are the table's blocks."""
    parts = [struct.unpack("<II", p.outputs[0]) for p in pieces]
    return ScanResult(sum(b for b, _ in parts), sum(c for _, c in parts) % 2**32)


@dataclass(frozen=True)
class StatResult:
    """Count, sum, min and max of a column of 32-bit signed values."""

    count: int
    sum: int
    min: int
    max: int


def stat_result(pieces: Sequence[Piece]) -> StatResult:
    """Merges stat's output."""
    parts = [struct.unpack("<IiiIq", p.outputs[0]) for p in pieces]
    return StatResult(sum(p[0] for p in parts), sum(p[4] for p in parts), min(p[1] for p in parts), max(p[2] for p in parts))


def filter_result(pieces: Sequence[Piece]) -> npt.NDArray[np.int32]:
    """Price and discount of the rows that qualified, in table order; shape (n, 2)."""
    return np.frombuffer(b"".join(p.outputs[0] for p in pieces), "<i4").reshape(-1, 2)


def expected_scan(data: bytes) -> ScanResult:
    """What scan returns for `data`, computed on the host."""
    return ScanResult(len(data), int(np.frombuffer(data, "u1")[::64].sum(dtype=np.uint64)) % 2**32)


def expected_stat(data: bytes) -> StatResult:
    """What stat returns for `data`, computed on the host."""
    v = np.frombuffer(data[: len(data) // 4 * 4], "<i4")
    if len(v) == 0:
        return StatResult(0, 0, 2**31 - 1, -(2**31))
    return StatResult(len(v), int(v.sum(dtype=np.int64)), int(v.min()), int(v.max()))
