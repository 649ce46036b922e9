# SPDX-License-Identifier: BSD-3-Clause
"""Runs an offload's native build (build/offload/native/NAME.so) on byte strings."""

from __future__ import annotations

import ctypes
import shutil
import tempfile
from pathlib import Path
from typing import ClassVar

from assasin_contract import SCOMP_MAX_STREAMS, ScompTask

ROOT = Path(__file__).resolve().parents[3]


class _Stream(ctypes.Structure):
    _fields_: ClassVar = [("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t), ("position", ctypes.c_size_t)]


class _Piece(ctypes.Structure):
    _fields_: ClassVar = [
        ("task", ScompTask),
        ("args", ctypes.c_void_p),
        ("inp", _Stream * SCOMP_MAX_STREAMS),
        ("out", _Stream * SCOMP_MAX_STREAMS),
        ("fault", ctypes.c_char_p),
    ]


class Fault(Exception):
    """What would have been a trap on a core."""


def run(
    name: str,
    inputs: list[bytes],
    args: bytes = b"",
    outputs: int = 1,
    piece: int = 0,
    pieces: int = 1,
    folder: Path = ROOT / "build" / "offload",
    room: int = 1 << 22,
) -> tuple[int, list[bytes]]:
    """Runs offload `name` on the input streams. Returns compute's value and the output streams. Raises Fault.
    `room`: bytes an output may have."""
    # A copy of its own, so that every run starts with fresh static data, as on a core.
    with tempfile.NamedTemporaryFile(suffix=".so") as copy:
        shutil.copyfile(folder / "native" / f"{name}.so", copy.name)
        lib = ctypes.CDLL(copy.name)
    p = _Piece()
    p.task.piece, p.task.pieces, p.task.args_bytes = piece, pieces, len(args)
    p.task.streams_in, p.task.streams_out = len(inputs), outputs
    keep: list[ctypes.Array[ctypes.c_char]] = []

    def buffer(data: bytes | int) -> int:
        b = ctypes.create_string_buffer(data, len(data) or 1) if isinstance(data, bytes) else ctypes.create_string_buffer(data)
        keep.append(b)
        return ctypes.addressof(b)

    p.args = buffer(args)
    for i, data in enumerate(inputs):
        p.task.bytes[i] = len(data)
        p.inp[i] = _Stream(buffer(data), len(data), 0)
    for i in range(outputs):
        p.out[i] = _Stream(buffer(room), room, 0)
    value = lib.assasin_native_run(ctypes.byref(p))
    if p.fault:
        raise Fault(p.fault.decode())
    return value, [ctypes.string_at(p.out[i].data, p.out[i].position) for i in range(outputs)]
