# SPDX-License-Identifier: BSD-3-Clause
"""LZ4 frames around the output of lz4_compress, and checksums, against the lz4 library."""

from __future__ import annotations

import random

import lz4_frames
import native
import pytest
from assasin import lz4_frame
from assasin.cut import plan
from assasin.descriptions import OffloadError

LENGTHS = [0, 1, 13, 15, 16, 17, 24_576, 24_577, 150_001]


def data_of(length: int) -> bytes:
    r = random.Random(length)
    return b"".join(r.choice([b"stream ", b"flash page ", r.randbytes(9)]) for _ in range(length // 7 + 1))[:length]


@pytest.mark.parametrize("length", LENGTHS)
def test_the_lz4_library_takes_our_frames(length: int) -> None:
    data = data_of(length)
    planned = plan("lz4_compress", [data], 4096, 3)
    parts = [native.run("lz4_compress", [s.data or b""])[1] for (s,) in planned.inputs]
    frame = lz4_frame.wrap(planned.merged(parts)[0], length)
    assert lz4_frames.decompress(frame, length) == data
    assert native.run("lz4_decompress", [frame]) == (0, [data])


@pytest.mark.parametrize("length", LENGTHS)
def test_content_checksums_are_those_of_the_lz4_library(length: int) -> None:
    data = data_of(length)
    frame = lz4_frames.compress(data, checksum=1)
    assert lz4_frame.has_checksum(frame[:5])
    lz4_frame.check(frame[-4:], data)
    with pytest.raises(OffloadError, match="corrupt"):
        lz4_frame.check(frame[-4:], data + b"x")
    assert not lz4_frame.has_checksum(lz4_frames.compress(data)[:5])
    assert not lz4_frame.has_checksum(data[:5])
