# SPDX-License-Identifier: BSD-3-Clause
import struct

from assasin.offload.testing import run


def test_it_counts_as_wc_does() -> None:
    assert run(__file__, b"one two\n\tthree\r\n\nfour") == struct.pack("<III", 3, 4, 21)
