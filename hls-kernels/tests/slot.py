# SPDX-License-Identifier: BSD-3-Clause
"""A slot without a board: calls a kernel's model through the interface of assasin_kernel.h, with streams that are bytes."""

from __future__ import annotations

import ctypes
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

ABI = 1


class _Beat(ctypes.Structure):
    _fields_: ClassVar = [("data", ctypes.c_uint64), ("keep", ctypes.c_uint8), ("last", ctypes.c_uint8)]


_Read = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.POINTER(_Beat))
_Write = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Beat))


class _Port(ctypes.Structure):
    _fields_: ClassVar = [("ctx", ctypes.c_void_p), ("read", _Read), ("write", _Write)]


class _Kernel(ctypes.Structure):
    _fields_: ClassVar = [
        ("abi", ctypes.c_uint32),
        ("id", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        *((n, ctypes.c_uint32) for n in ("inputs", "scalars", "ii_num", "ii_den", "latency")),
        ("run", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Port), ctypes.POINTER(ctypes.c_uint32))),
    ]


@dataclass
class Ran:
    """What a run left behind."""

    output: bytes
    ended: bool
    """A beat with last was written."""
    unread: int
    """Beats of input that were not taken."""
    waited: bool
    """The kernel asked for a beat that never comes, and was reset."""


class Slot:
    """A model in a slot."""

    def __init__(self, path: Path) -> None:
        # A copy, as a library that was loaded under a path before is not loaded again.
        with tempfile.NamedTemporaryFile(suffix=".so") as copy:
            shutil.copyfile(path, copy.name)
            self._library = ctypes.CDLL(copy.name)
        self.kernel = _Kernel.in_dll(self._library, "assasin_kernel")
        assert self.kernel.abi == ABI

    def run(self, inputs: Sequence[bytes], scalars: Sequence[int], room: int | None = None) -> Ran:
        """One ap_start. `room`: beats of output after which the slot is reset."""
        beats = [self._beats(i) for i in inputs]
        out = bytearray()
        state = Ran(b"", False, 0, False)
        written = 0

        def read(_: object, stream: int, beat: ctypes._Pointer[_Beat]) -> int:
            if stream >= len(beats) or not beats[stream]:
                state.waited = True
                return -1
            beat[0] = beats[stream].pop()
            return 0

        def write(_: object, beat: ctypes._Pointer[_Beat]) -> int:
            nonlocal written
            written += 1
            if room is not None and written > room:
                return -1
            out.extend(beat[0].data.to_bytes(8, "little")[: beat[0].keep.bit_count()])
            state.ended = bool(beat[0].last)
            return 0

        port = _Port(None, _Read(read), _Write(write))
        self.kernel.run(ctypes.byref(port), (ctypes.c_uint32 * max(1, len(scalars)))(*scalars))
        state.output, state.unread = bytes(out), sum(map(len, beats))
        return state

    @staticmethod
    def _beats(data: bytes) -> list[_Beat]:
        """The stream's beats, the first one last."""
        count = max(1, -(-len(data) // 8))
        out = []
        for i in reversed(range(count)):
            part = data[8 * i : 8 * i + 8]
            out.append(_Beat(int.from_bytes(part, "little"), (1 << len(part)) - 1, i == count - 1))
        return out
