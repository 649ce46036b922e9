# SPDX-License-Identifier: BSD-3-Clause
"""The workloads of `assasin bench paper`: inputs, offloads with their arguments, and the check of every result."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from assasin import bench, offloads, tpch, tpch_scans
from assasin.drive import Piece
from assasin.tpch_scans import Scan

Streams = Sequence[bytes]
"""The input streams of one piece."""


@dataclass(frozen=True)
class Workload:
    """One function as the bench runs it. `size` and `quick_size` are input bytes of all streams and pieces together."""

    name: str
    offload: str
    size: int
    quick_size: int
    correct: Callable[[Sequence[Streams], list[Piece]], bool]
    streams_in: int = 1
    streams_out: int = 1
    args: bytes = b""
    shape: Callable[[bytes], bytes] = bytes
    """Makes the input out of random bytes; must work page by page."""


def _joined(pieces: Sequence[Piece], stream: int = 0) -> bytes:
    return b"".join(p.outputs[stream] for p in pieces)


def _single(inputs: Sequence[Streams]) -> bytes:
    return b"".join(streams[0] for streams in inputs)


def _xor(streams: Streams) -> npt.NDArray[np.uint8]:
    out = np.frombuffer(streams[0], np.uint8).copy()
    for s in streams[1:]:
        out ^= np.frombuffer(s, np.uint8)
    return out


def double(values: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Times x in GF(256) with the polynomial 0x11D."""
    return ((values << 1) ^ np.where(values & 0x80, 0x1D, 0).astype(np.uint8)).astype(np.uint8)


def _syndrome(streams: Streams) -> npt.NDArray[np.uint8]:
    """Q of RAID 6: the sum of 2^i times stream i, by Horner's rule."""
    out: npt.NDArray[np.uint8] = np.zeros(len(streams[0]), np.uint8)
    for s in reversed(streams):
        out = double(out) ^ np.frombuffer(s, np.uint8)
    return out


def _raid4_correct(inputs: Sequence[Streams], pieces: list[Piece]) -> bool:
    return all(p.outputs[0] == _xor(s).tobytes() for s, p in zip(inputs, pieces, strict=True))


def _raid6_correct(inputs: Sequence[Streams], pieces: list[Piece]) -> bool:
    return all(
        p.outputs[0] == _xor(s).tobytes() and p.outputs[1] == _syndrome(s).tobytes() for s, p in zip(inputs, pieces, strict=True)
    )


def _sum_correct(inputs: Sequence[Streams], pieces: list[Piece]) -> bool:
    values = np.frombuffer(_single(inputs), "<u4")
    found = np.frombuffer(_joined(pieces), "<u4").reshape(-1, 2).sum(0, dtype=np.uint64)
    return int(found[0]) == len(values) and (int(found[1]) - int(values.sum(dtype=np.uint64))) % 2**32 == 0


AES_KEY = bytes(range(16))


def _aes_correct(inputs: Sequence[Streams], pieces: list[Piece]) -> bool:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return _joined(pieces) == Cipher(algorithms.AES(AES_KEY), modes.ECB()).encryptor().update(_single(inputs))


def _filter_shape(data: bytes) -> bytes:
    """Lineitem tuples of which about 2 % satisfy Q6's predicate."""
    rows = np.frombuffer(data, "<u4").reshape(-1, 8).copy()
    rows[:, 3] = 8036 + rows[:, 3] % 2526
    rows[:, 4] = 100 + rows[:, 4] % 50 * 100
    rows[:, 6] %= 11
    return rows.astype("<u4").tobytes()


KIB, MIB = 1 << 10, 1 << 20

STAT = Workload("stat", "sum", 8 * MIB, 256 * KIB, _sum_correct)
"""The paper's Stat sums a column."""
SCAN = Workload(
    "scan",
    "scan",
    8 * MIB,
    128 * KIB,
    lambda inputs, pieces: offloads.scan_result(pieces) == offloads.expected_scan(_single(inputs)),
)
FILTER = Workload(
    "filter",
    "filter",
    4 * MIB,
    128 * KIB,
    lambda inputs, pieces: bool(np.array_equal(offloads.filter_result(pieces), bench.expected_filter(_single(inputs)))),
    args=bench.FILTER_ARGS,
    shape=_filter_shape,
)
RAID4 = Workload("raid4", "raid4", 8 * MIB - 64 * KIB, 256 * KIB, _raid4_correct, streams_in=4, streams_out=1)
RAID6 = Workload(
    "raid6", "raid6", 4 * MIB, 128 * KIB, _raid6_correct, streams_in=4, streams_out=2, args=struct.pack("<II", 4, 3 << 4)
)
AES = Workload("aes", "aes", 512 * KIB, 32 * KIB, _aes_correct, args=struct.pack("<II", 0, 0) + AES_KEY + bytes(16))

FUNCTIONS = (STAT, RAID4, RAID6, AES)
"""The standalone functions of Figure 13, the least compute-intensive first."""

ALL = (STAT, SCAN, FILTER, RAID4, RAID6, AES)

SKEWED = ((STAT, 512 * KIB), (RAID6, 512 * KIB), (AES, 64 * KIB))
"""The functions of Figure 19 and how much of the input they work on at every skew."""

TABLES_BY_SIZE = ("lineitem", "orders", "partsupp", "customer", "part", "supplier", "nation", "region")
"""Bytes of `.tbl` text, most first."""

QUICK_QUERIES = (6, 13)
"""A cheap and a dear scan, for tests."""

SCALE_FACTOR = 0.01


class TpchText:
    """The first rows of TPC-H's tables as `.tbl` text, and DuckDB's answer to a scan of these rows."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.db = tpch.Lineitem(SCALE_FACTOR).db
        self._texts: dict[str, bytes] = {}

    def text(self, table: str) -> bytes:
        """Whole rows of a table, at most `limit` bytes."""
        if table not in self._texts:
            with tempfile.NamedTemporaryFile(suffix=".tbl") as f:
                columns = f"SELECT *, NULL FROM {table} ORDER BY rowid"
                self.db.execute(f"COPY ({columns}) TO '{f.name}' (DELIMITER '|', HEADER false, QUOTE '', ESCAPE '')")
                text = Path(f.name).read_bytes()[: self.limit]
            self._texts[table] = text[: text.rindex(b"\n") + 1]
        return self._texts[table]

    def correct(self, scan: Scan, pieces: Sequence[Piece]) -> bool:
        """Whether the pieces' output is what DuckDB finds."""
        rows = self.text(scan.table).count(b"\n")
        sql = f"SELECT {', '.join(scan.columns)} FROM {scan.table} WHERE rowid < {rows} AND ({scan.where.sql()}) ORDER BY rowid"
        expected = self.db.execute(sql).fetchnumpy()
        got = tpch_scans.decode(_joined(pieces), scan)
        return all(np.array_equal(got[name], self._as_stored(name, expected[name])) for name in scan.columns)

    @staticmethod
    def _as_stored(name: str, values: npt.NDArray) -> npt.NDArray:
        values = np.ma.getdata(values)
        kind = tpch_scans.COLUMNS[name].kind
        if kind == tpch_scans.DECIMAL:
            return np.rint(values.astype(np.float64) * 100).astype("<i4")
        if kind == tpch_scans.DATE:
            return values.astype("datetime64[D]")
        return values.astype(object if kind == tpch_scans.STRING else "<i4")


def largest_scan(query: int) -> Scan:
    """The scan of a query that reads most."""
    return min(tpch_scans.QUERIES[query], key=lambda scan: TABLES_BY_SIZE.index(scan.table))
