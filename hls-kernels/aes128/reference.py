# SPDX-License-Identifier: BSD-3-Clause
"""aes128 on the host, by OpenSSL through the cryptography package."""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping, Sequence

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


def example(size: int, seed: int) -> tuple[list[bytes], dict[str, float]]:
    """Noise, a key, and a counter whose low half overflows after 256 blocks."""
    rng = random.Random(seed)
    key = struct.unpack("<4I", rng.randbytes(16))
    counter = struct.unpack("<4I", rng.randbytes(8) + b"\xff" * 7 + b"\0")
    words = {f"key_{i}": w for i, w in enumerate(key)} | {f"counter_{i}": w for i, w in enumerate(counter)}
    return [rng.randbytes(size)], {n: float(w) for n, w in words.items()}


def expected(inputs: Sequence[bytes], scalars: Mapping[str, float]) -> bytes:
    """The data in counter mode."""
    key, counter = (struct.pack("<4I", *(int(scalars[f"{n}_{i}"]) for i in range(4))) for n in ("key", "counter"))
    cipher = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
    return cipher.update(inputs[0]) + cipher.finalize()
