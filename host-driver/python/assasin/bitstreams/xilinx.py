# SPDX-License-Identifier: BSD-3-Clause
"""
Xilinx bitstream files: the header in front of a .bit, and the form the Zynq's own loaders take.

A .bit is a preamble of 13 bytes, fields (key, 16-bit big-endian length, text with a NUL) for design `a`, part `b`, date `c`, time
`d`, and `e` with a 32-bit length, then the configuration data, big-endian words around the sync word AA995566 (UG470, "Bitstream
Composition"; the header itself is undocumented). Linux's fpga_manager for Zynq and ZynqMP takes the data alone, the bytes of each
word reversed, as bootgen's -process_bitstream writes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assasin.bitstreams.errors import BitstreamError

SYNC = bytes.fromhex("aa995566")
_PREAMBLE = bytes.fromhex("00090ff00ff00ff00ff0000001")
_SYNC_WITHIN = 1024  # bytes of dummy words and bus width pattern there may be before the sync word


@dataclass(frozen=True)
class BitFile:
    """A .bit file. `part` is without the leading xc, as Vivado writes it: 7z045ffg900."""

    design: str
    part: str
    date: str
    time: str
    data: bytes

    def for_fpga_manager(self) -> bytes:
        """The configuration data as Linux's fpga_manager takes it on a Zynq."""
        import numpy as np

        return np.frombuffer(self.data, dtype="<u4").byteswap().tobytes()

    def fits(self, part: str) -> bool:
        """Whether it was made for `part`, of any speed grade: xc7z045ffg900-3, xczu17eg-ffvc1760-2-e."""
        return _bare(part).startswith(_bare(self.part))


def _bare(part: str) -> str:
    return part.lower().removeprefix("xc").replace("-", "")


def read_bit(path: Path) -> BitFile:
    """Raises BitstreamError when the file is no .bit, or not whole."""
    raw = path.read_bytes()
    if not raw.startswith(_PREAMBLE):
        raise BitstreamError(
            f"{path} is not a .bit file: its first bytes are {raw[:13].hex() or 'missing'}; give what Vivado wrote"
        )
    at = len(_PREAMBLE)
    fields = {}
    for key in "abcd":
        length = int.from_bytes(raw[at + 1 : at + 3], "big")
        if raw[at : at + 1] != key.encode() or at + 3 + length > len(raw):
            raise BitstreamError(f"{path}: the header of the .bit file is broken at byte {at}; build it again")
        fields[key] = raw[at + 3 : at + 3 + length].rstrip(b"\0").decode("ascii", "replace")
        at += 3 + length
    length = int.from_bytes(raw[at + 1 : at + 5], "big")
    data = raw[at + 5 :]
    if raw[at : at + 1] != b"e" or length != len(data) or length % 4:
        raise BitstreamError(
            f"{path}: the header says {length:,} bytes of configuration, the file has {len(data):,}; build it again"
        )
    if data.find(SYNC, 0, _SYNC_WITHIN) < 0:
        raise BitstreamError(f"{path} has no sync word ({SYNC.hex()}) where the configuration begins; build it again")
    return BitFile(fields["a"], fields["b"], fields["c"], fields["d"], data)
