# SPDX-License-Identifier: BSD-3-Clause
"""LZ4 frames by the lz4 library, whose command uses the same calls."""

from __future__ import annotations

import ctypes
import ctypes.util
from typing import ClassVar

LIBRARY = ctypes.CDLL(ctypes.util.find_library("lz4") or "liblz4.so.1")
LIBRARY.LZ4F_compressFrame.restype = ctypes.c_size_t
LIBRARY.LZ4F_compressFrameBound.restype = ctypes.c_size_t
LIBRARY.LZ4F_decompress.restype = ctypes.c_size_t
LIBRARY.LZ4F_getErrorName.restype = ctypes.c_char_p
VERSION = 100
BLOCK_64K = 4


class _Preferences(ctypes.Structure):
    """LZ4F_preferences_t."""

    _fields_: ClassVar = [
        *((n, ctypes.c_int) for n in ("block_size", "alone", "checksum", "type")),
        ("size", ctypes.c_uint64),
        *((n, ctypes.c_int) for n in ("dictionary", "block_checksums", "level", "flush", "favour")),
        ("reserved", ctypes.c_int * 3),
    ]


def compress(data: bytes, **preferences: int) -> bytes:
    """A frame. `preferences`: fields of LZ4F_preferences_t as they are called above."""
    chosen = _Preferences(**preferences)
    room = LIBRARY.LZ4F_compressFrameBound(ctypes.c_size_t(len(data)), ctypes.byref(chosen))
    out = ctypes.create_string_buffer(room)
    done = LIBRARY.LZ4F_compressFrame(out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), ctypes.byref(chosen))
    assert not LIBRARY.LZ4F_isError(ctypes.c_size_t(done))
    return out.raw[:done]


def decompress(frame: bytes, room: int) -> bytes:
    """What one whole frame holds. Raises ValueError when the library does not like it."""
    context = ctypes.c_void_p()
    LIBRARY.LZ4F_createDecompressionContext(ctypes.byref(context), VERSION)
    out = ctypes.create_string_buffer(room + 1)
    got, used = ctypes.c_size_t(room + 1), ctypes.c_size_t(len(frame))
    hint = LIBRARY.LZ4F_decompress(context, out, ctypes.byref(got), frame, ctypes.byref(used), None)
    LIBRARY.LZ4F_freeDecompressionContext(context)
    if LIBRARY.LZ4F_isError(ctypes.c_size_t(hint)):
        raise ValueError(LIBRARY.LZ4F_getErrorName(ctypes.c_size_t(hint)).decode())
    if hint or used.value != len(frame):
        raise ValueError(f"the frame wants {hint} bytes more, {len(frame) - used.value} are left")
    return out.raw[: got.value]
