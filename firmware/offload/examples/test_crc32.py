# SPDX-License-Identifier: BSD-3-Clause
import struct
import zlib

from assasin.offload.testing import run


def test_it_agrees_with_zlib() -> None:
    for data in (b"", b"123456789", bytes(range(256)) * 33):
        assert run(__file__, data) == struct.pack("<I", zlib.crc32(data))
