# SPDX-License-Identifier: BSD-3-Clause
"""
Functions over files of a file system on an ASSASIN drive, which the kernel's nvme driver keeps: see assasin_file_hold().

    with HeldFile(Path("/mnt/table")) as table:
        values = run("select", table, args).numpy("<i4")
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from ctypes import byref, c_void_p
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from assasin import offloads
from assasin.binding import ErrorStruct, library
from assasin.cut import Plan, Table, plan
from assasin.drive import Drive
from assasin.functions import lz4_check
from assasin.job import DriveError, Extent, Job, Piece


class HeldFile:
    """
    A file that nobody can open for writing while it is held. A context manager.

    `device`: the namespace it is on. `source`: its blocks as a Table, or its bytes when not all of them are in blocks of their own;
    `reason` then says why, else it is None. `in_drive`: refuse such files. Raises DriveError.
    """

    def __init__(self, path: Path, in_drive: bool = False) -> None:
        self._lib = library()
        self._handle: c_void_p | None = None
        handle, error = c_void_p(), ErrorStruct()
        rc = self._lib.assasin_file_hold(os.fsencode(path), in_drive, byref(handle), byref(error))
        if rc:
            raise DriveError(-rc, error.text.decode(errors="replace"))
        self._handle = handle
        layout = self._lib.assasin_file_layout(handle).contents
        self.device = layout.device.decode()
        self.reason: str | None = layout.reason.decode() if layout.reason else None
        self.source: Table | bytes
        if layout.data:
            self.source = ctypes.string_at(layout.data, layout.bytes)
        else:
            extents = [Extent(e.lba, e.count) for e in layout.extents[: layout.extent_count]]
            self.source = Table(extents, layout.bytes)

    def __enter__(self) -> HeldFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def check(self) -> None:
        """Raises DriveError (ESTALE) when the file has not stayed as it was: what was computed from it is then worth nothing."""
        error = ErrorStruct()
        rc = self._lib.assasin_file_check(self._handle, byref(error))
        if rc:
            raise DriveError(-rc, error.text.decode(errors="replace"))

    def release(self) -> None:
        """Lets go of the file."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._lib.assasin_file_release(handle)

    def open_drive(self, ioctl: bool = False) -> Drive:
        """The drive that the file is on, through the kernel: by io_uring, or by ioctls. Raises DriveError."""
        return Drive(f"{'ioctl' if ioctl else 'kernel'}:{self.device}")


@dataclass(frozen=True)
class FileRun:
    """What a function made of a file."""

    pieces: list[Piece]
    plan: Plan
    reason: str | None
    """Why the host fed the file to the function; None when the drive read it itself."""

    def output(self, stream: int = 0) -> bytes:
        """Output stream `stream`, merged as the function's description says: piece after piece, or one result of all."""
        return self.plan.merged([p.outputs for p in self.pieces])[stream]

    def numpy(self, dtype: npt.DTypeLike, stream: int = 0) -> npt.NDArray[np.generic]:
        """Output stream `stream` as an array."""
        return np.frombuffer(self.output(stream), dtype)


def run(
    function: str,
    file: HeldFile,
    args: bytes = b"",
    outputs: int | None = None,
    pieces: int = 0,
    record: int = 0,
    cores: int = 0,
    watchdog: int = 0,
    ioctl: bool = False,
    tick: Callable[[], None] | None = None,
) -> FileRun:
    """
    Runs an offload (a name, or an ELF file) over a held file, and makes sure that the file was the same at the end.

    `outputs`: output streams; None: the offload's. `pieces`: 0 = one a core. `record`: bytes that must stay together besides what
    the offload needs. Raises DriveError; OffloadError when a piece failed.
    """
    with file.open_drive(ioctl) as drive:
        elf = offloads.load(drive, function)
        usual = cores or offloads.default_pieces(drive, elf)
        planned = plan(function, [file.source], drive.info.block_bytes, usual, args, outputs, pieces or None, record or None)
        with drive.function(elf) as loaded:
            done = drive.run_job(Job(loaded, planned.inputs, None, planned.call.outputs, planned.args, cores, watchdog, tick=tick))
        offloads.check(function, done)
        if planned.call.name == "lz4_decompress":
            lz4_check(drive, file.source, done[0].outputs[0])
    file.check()
    return FileRun(done, planned, file.reason)
