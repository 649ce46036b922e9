# SPDX-License-Identifier: BSD-3-Clause
"""fgrep8 on the host, by bytes.find."""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping, Sequence

KEY = b"ASSASIN!"


def example(size: int, seed: int) -> tuple[list[bytes], dict[str, float]]:
    """Noise of so many bytes with the key in it, at any offset, every 4,000 bytes or so."""
    rng = random.Random(seed)
    text = bytearray(rng.randbytes(size))
    for _ in range(size // 4000 if size >= len(KEY) else 0):
        at = rng.randrange(size - len(KEY) + 1)
        text[at : at + len(KEY)] = KEY
    low, high = struct.unpack("<II", KEY)
    return [bytes(text)], {"key_low": low, "key_high": high}


def expected(inputs: Sequence[bytes], scalars: Mapping[str, float]) -> bytes:
    """The count."""
    key = struct.pack("<II", int(scalars["key_low"]), int(scalars["key_high"]))
    (text,) = inputs
    count, at = 0, text.find(key)
    while at >= 0:
        count, at = count + 1, text.find(key, at + 1)
    return struct.pack("<Q", count)


def merge(outputs: Sequence[bytes]) -> bytes:
    """The count of all pieces."""
    return struct.pack("<Q", sum(struct.unpack("<Q", o)[0] for o in outputs))
