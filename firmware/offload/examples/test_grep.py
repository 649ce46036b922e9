# SPDX-License-Identifier: BSD-3-Clause
import struct

from assasin.offload.testing import run


def test_it_finds_overlapping_places_and_the_last_line() -> None:
    assert run(__file__, b"ababab\nab\nababa", args=b"aba") == struct.pack("<II", 4, 2)


def test_a_pattern_it_cannot_take_has_an_exit_code() -> None:
    for pattern in (b"", b"a\nb", b"x" * 65):
        assert run(__file__, b"text", args=pattern, exit_code=1) == b""
