# SPDX-License-Identifier: BSD-3-Clause
"""
LZ4 frames (lz4_Frame_format.md of the lz4 project) around what lz4_compress puts out, so that other programs read it; and the
check of a frame's content checksum, which lz4_decompress leaves to the host.
"""

from __future__ import annotations

import struct

from assasin.descriptions import OffloadError

MAGIC = b"\x04\x22\x4d\x18"
VERSION_1, ALONE, HAS_SIZE, HAS_SUM = 0x40, 0x20, 0x08, 0x04
BLOCKS_64K = 4 << 4
END_MARK = bytes(4)
SUFFIX = ".lz4"

_PRIMES = (2654435761, 2246822519, 3266489917, 668265263, 374761393)
_MASK = 0xFFFFFFFF


def _rotated(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> (32 - bits)) & _MASK


def xxh32(data: bytes) -> int:
    """xxHash32 with seed 0."""
    p1, p2, p3, p4, p5 = _PRIMES
    at = len(data) & ~15
    if at:
        sums = [p1 + p2 & _MASK, p2, 0, -p1 & _MASK]
        for lanes in struct.iter_unpack("<4I", data[:at]):
            sums = [_rotated(s + lane * p2, 13) * p1 & _MASK for s, lane in zip(sums, lanes, strict=True)]
        h = sum(_rotated(s, bits) for s, bits in zip(sums, (1, 7, 12, 18), strict=True))
    else:
        h = p5
    h += len(data)
    while at + 4 <= len(data):
        h = _rotated(h + int.from_bytes(data[at : at + 4], "little") * p3, 17) * p4
        at += 4
    for byte in data[at:]:
        h = _rotated(h + byte * p5, 11) * p1
    h &= _MASK
    h = (h ^ h >> 15) * p2 & _MASK
    h = (h ^ h >> 13) * p3 & _MASK
    return h ^ h >> 16


def wrap(stream: bytes, content_bytes: int) -> bytes:
    """The frame of a stream of lz4_compress, which was made of so many bytes: the blocks already are a frame's."""
    descriptor = struct.pack("<BBQ", VERSION_1 | ALONE | HAS_SIZE, BLOCKS_64K, content_bytes)
    return MAGIC + descriptor + bytes([xxh32(descriptor) >> 8 & 0xFF]) + stream + END_MARK


def has_checksum(head: bytes) -> bool:
    """Whether a stream that begins with these five bytes is a frame with a checksum of its content, in its last four bytes."""
    return head[:4] == MAGIC and len(head) > 4 and bool(head[4] & HAS_SUM)


def check(tail: bytes, content: bytes) -> None:
    """Compares the last four bytes of a frame with has_checksum() with its content. Raises OffloadError."""
    if int.from_bytes(tail, "little") != xxh32(content):
        raise OffloadError("lz4_decompress: the content is not what the frame's checksum was made of: the data is corrupt")
