# SPDX-License-Identifier: BSD-3-Clause
"""
What the functions of firmware/offload are called with, where their input may be cut, how the outputs of pieces become one output,
and what outputs and exit codes mean. The one place on the host that knows; offloads.h, analytics.h and tbl.h define the structs.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assasin import tpch_scans
from assasin.errors import OffloadError
from assasin.tree import BUILD


@dataclass(frozen=True)
class Call:
    """What a function is called with."""

    name: str
    args: bytes
    inputs: int
    outputs: int


Value = int | float | str


@dataclass(frozen=True)
class Results:
    """An output by name. `single`: it is one record, not a list of them."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]
    single: bool

    def json(self) -> dict[str, Value] | list[dict[str, Value]]:
        """The record, or all of them."""
        records = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return records[0] if self.single else records


Merge = Callable[[Call, list[list[bytes]]], list[bytes]]
"""The outputs of all pieces, a list of streams for each, to what one piece over the whole input would have put out."""


def joined(_: Call, pieces: list[list[bytes]]) -> list[bytes]:
    """Piece after piece."""
    return [b"".join(streams) for streams in zip(*pieces, strict=True)]


def _added(dtype: str) -> Merge:
    """Outputs that are arrays of sums, modulo 2^bits."""

    def merge(_: Call, pieces: list[list[bytes]]) -> list[bytes]:
        return [np.sum([np.frombuffer(p[0], dtype) for p in pieces], 0, dtype=dtype).tobytes()]

    return merge


def _stat_merge(_: Call, pieces: list[list[bytes]]) -> list[bytes]:
    parts = [struct.unpack("<IiiIq", p[0]) for p in pieces]
    count, total = sum(p[0] for p in parts) % 2**32, sum(p[4] for p in parts)
    return [struct.pack("<IiiIq", count, min(p[1] for p in parts), max(p[2] for p in parts), 0, total)]


def _sum_merge(_: Call, pieces: list[list[bytes]]) -> list[bytes]:
    parts = [struct.unpack("<II", p[0]) for p in pieces]
    return [struct.pack("<II", sum(c for c, _ in parts) % 2**30, sum(s for _, s in parts) % 2**32)]


def kmeans_record(dimensions: int) -> np.dtype:
    """struct kmeans_sums as it is stored."""
    return np.dtype([("count", "<u4"), ("inertia", "<u8"), ("sum", "<i8", (dimensions,))])


def _kmeans_merge(call: Call, pieces: list[list[bytes]]) -> list[bytes]:
    record = kmeans_record(_word(call.args, 1))
    parts = [np.frombuffer(p[0], record) for p in pieces]
    merged = parts[0].copy()
    for part in parts[1:]:
        for name in record.names or ():
            merged[name] += part[name]
    return [merged.tobytes(), *(b"".join(p[s] for p in pieces) for s in range(1, call.outputs))]


def _records(single: bool, fields: Sequence[tuple[str, str]]) -> Callable[[Call, list[bytes]], Results]:
    """Output stream 0 as records; a field called "zero" is reserved and not shown."""

    def results(_: Call, outputs: list[bytes]) -> Results:
        record = np.dtype(list(fields))
        shown = [name for name, _ in fields if name != "zero"]
        data = outputs[0][: record.itemsize] if single else outputs[0]
        rows = [[_plain(row[name]) for name in shown] for row in np.frombuffer(data, record)]
        return Results(shown, rows, single)

    return results


def _plain(value: object) -> Value:
    if isinstance(value, np.void):
        return value.tobytes().hex()
    assert isinstance(value, np.generic)
    return value.item()


def _numbered(title: str, names: Callable[[Call], Sequence[str]], dtype: str) -> Callable[[Call, list[bytes]], Results]:
    """Output stream 0 as a table of as many columns as there are names, its rows numbered."""

    def results(call: Call, outputs: list[bytes]) -> Results:
        columns = names(call)
        table = np.frombuffer(outputs[0], dtype).reshape(-1, len(columns))
        return Results([title, *columns], [[i, *row] for i, row in enumerate(table.tolist())], False)

    return results


def _kmeans_results(call: Call, outputs: list[bytes]) -> Results:
    dimensions = _word(call.args, 1)
    rows = np.frombuffer(outputs[0], kmeans_record(dimensions))
    columns = ["cluster", "count", "inertia", *(f"sum {d}" for d in range(dimensions))]
    return Results(columns, [[i, int(r["count"]), int(r["inertia"]), *r["sum"].tolist()] for i, r in enumerate(rows)], False)


def _linreg_results(call: Call, outputs: list[bytes]) -> Results:
    names = ["1", *(f"column {c}" for c in range(_word(call.args, 0)))]
    products = [f"{a} x {b}" for i, a in enumerate(names) for b in names[i:]]
    sums = np.frombuffer(outputs[0], "<i8").tolist()
    return Results(["product", "sum"], list(zip(products, sums, strict=True)), False)


def _transpose_results(call: Call, outputs: list[bytes]) -> Results:
    columns = [np.frombuffer(o, "<i4").tolist() for o in outputs]
    rows = [[i, *row] for i, row in enumerate(zip(*columns, strict=True))]
    return Results(["tuple", *(f"word {w}" for w in range(call.outputs))], rows, False)


def _word(args: bytes, index: int) -> int:
    """Word of the arguments; they have been found long enough."""
    return int.from_bytes(args[4 * index : 4 * index + 4], "little")


def _table_bytes(args: bytes) -> int:
    """Bytes of struct tbl_args with steps, tests and strings."""
    if len(args) < 12:
        return 12
    return 12 + 16 * args[5] + 12 * args[6] + int.from_bytes(args[8:10], "little")


SCAN_BLOCK = 64
AES_BLOCK = 16
AES_CTR = 2
HAMMING_PAGE = 4096
IMAGE_BYTES = 28 * 28
FEATURE_BYTES = 5408 * 4
MOST_STREAMS = 8

RAID_EXITS = {1: "the arguments or the number of streams are not those of the function", 2: "the streams have different lengths"}
ANALYTICS_EXITS = {1: "bad arguments", 2: "the data ends inside a record", 3: "a value outside its range"}
BAD_ARGUMENTS = {1: "bad arguments"}


@dataclass(frozen=True)
class Description:
    """One function."""

    record: Callable[[Call], int] | None = lambda _: 1
    """Bytes of an input stream that must not be cut between pieces; None: the input cannot be cut at all, `whole` says why."""
    whole: str = ""
    state: frozenset[int] = frozenset()
    """Input streams that every piece gets whole."""
    overlap: int = 0
    """Bytes behind its own that a piece sees too."""
    alike: bool = False
    """All pieces but the last must have one length."""
    piece_bytes: Callable[[bytes], int] = lambda _: 0
    """Bytes of a piece that the arguments fix; 0: they fix none."""
    with_pieces: Callable[[bytes, int], bytes] = lambda args, _: args
    """The arguments for several pieces of so many bytes each."""
    struct: str = ""
    """Its arguments, and the header that defines them."""
    args_bytes: Callable[[bytes], int] = lambda _: 0
    inputs: range = range(1, 2)
    outputs: Callable[[bytes, int], range] = lambda _args, _inputs: range(1, 2)
    """Numbers of output streams; the first is meant when nobody says how many."""
    outputs_said: str = ""
    """Why somebody has to say how many."""
    equal: bool = False
    """All input streams must have one length."""
    merge: Merge = joined
    results: Callable[[Call, list[bytes]], Results] | None = None
    exits: Callable[[int], str | None] = lambda _: None
    """What an exit code means."""


def _fixed(size: int) -> Callable[[bytes], int]:
    return lambda _: size


def _counter_pieces(args: bytes) -> int:
    return _word(args, 1) * AES_BLOCK if _word(args, 0) == AES_CTR else 0


def _with_counter(args: bytes, piece: int) -> bytes:
    return args[:4] + struct.pack("<I", piece // AES_BLOCK) + args[8:] if _word(args, 0) == AES_CTR else args


def _text_pieces(args: bytes) -> int:
    return _word(args, 0) if args[4] & tpch_scans.SPLIT else 0


def _with_text_pieces(args: bytes, piece: int) -> bytes:
    return struct.pack("<IB", piece, args[4] | tpch_scans.SPLIT) + args[5:]


def _text_exit(code: int) -> str | None:
    return tpch_scans.explain(code) if code else None


def _selected(call: Call) -> list[str]:
    words, mask = _word(call.args, 0), _word(call.args, 1)
    return [f"word {w}" for w in range(words) if mask >> w & 1]


def _raid6_lost(args: bytes, _: int) -> range:
    lost = _word(args, 1).bit_count()
    return range(lost, lost + 1)


FUNCTIONS: dict[str, Description] = {
    "scan": Description(
        record=lambda _: SCAN_BLOCK, merge=_added("<u4"), results=_records(True, [("bytes", "<u4"), ("checksum", "<u4")])
    ),
    "stat": Description(
        record=lambda _: 4,
        merge=_stat_merge,
        results=_records(True, [("count", "<u4"), ("min", "<i4"), ("max", "<i4"), ("zero", "<u4"), ("sum", "<i8")]),
    ),
    "filter": Description(
        record=lambda _: 32,
        struct="filter_args in offloads.h",
        args_bytes=_fixed(20),
        results=_records(False, [("extendedprice", "<i4"), ("discount", "<i4")]),
    ),
    "histogram": Description(merge=_added("<u4"), results=_numbered("byte", lambda _: ["count"], "<u4")),
    "wc": Description(
        record=None,
        whole="a word that is cut would count twice",
        results=_records(True, [("lines", "<u4"), ("words", "<u4"), ("bytes", "<u4")]),
    ),
    "crc32": Description(record=None, whole="its checksum is one of the whole stream", results=_records(True, [("crc32", "<u4")])),
    "grep": Description(
        record=None,
        whole="a line or a place that is cut would be lost or count twice",
        struct="the string, 1 to 64 bytes",
        args_bytes=lambda args: min(max(len(args), 1), 64),
        results=_records(True, [("places", "<u4"), ("lines", "<u4")]),
        exits={1: "the string must have 1 to 64 bytes and no newline"}.get,
    ),
    "json_field": Description(
        record=None,
        whole="an object that is cut is no JSON",
        struct="the member's name, 1 to 64 bytes",
        args_bytes=lambda args: min(max(len(args), 1), 64),
        exits={1: "the name must have 1 to 64 bytes", 2: "the text ends inside a value"}.get,
    ),
    "vector_add": Description(),
    "aes": Description(
        record=lambda _: AES_BLOCK,
        alike=True,
        piece_bytes=_counter_pieces,
        with_pieces=_with_counter,
        struct="aes_args in offloads.h",
        args_bytes=_fixed(40),
        exits={
            1: "bad arguments",
            2: "a partial block: ECB works on whole blocks of 16 bytes",
            3: "CTR: piece_blocks of the arguments is not a piece's length in blocks",
        }.get,
    ),
    "lz4_compress": Description(record=lambda _: 24576),
    "lz4_decompress": Description(
        record=None,
        whole="its blocks have any length",
        exits={
            1: "the data is corrupt",
            2: "the data ends inside a block",
            3: "no window",
            4: "the frame has checksums of blocks, a dictionary, another version than 1, or something behind it",
        }.get,
    ),
    "dedup": Description(
        record=None,
        whole="each piece would begin anew with looking for equal blocks; from Python functions.dedup() merges the pieces",
        outputs=lambda _args, _inputs: range(1, 3),
        results=_records(False, [("block", "<u4"), ("first", "<u4"), ("fingerprint", "V16")]),
        exits=BAD_ARGUMENTS.get,
    ),
    "raid4": Description(record=lambda _: 4, inputs=range(2, 9), equal=True, exits=RAID_EXITS.get),
    "raid5": Description(
        # Rows of one rotation stay together, so that every piece starts with the parity on the last member.
        record=lambda call: _word(call.args, 0) * (call.inputs + 1),
        struct="raid5_args in offloads.h",
        args_bytes=_fixed(4),
        inputs=range(2, 6),
        outputs=lambda _, inputs: range(inputs + 1, inputs + 2),
        equal=True,
        exits=RAID_EXITS.get,
    ),
    "raid6": Description(
        record=lambda _: 4,
        struct="raid6_args in offloads.h",
        args_bytes=_fixed(8),
        inputs=range(1, 9),
        outputs=_raid6_lost,
        equal=True,
        exits=RAID_EXITS.get,
    ),
    "replicate": Description(outputs=lambda _args, _inputs: range(1, 9), exits={1: "no output stream"}.get),
    "wal": Description(
        record=None,
        whole="only the log's beginning says how to read it; its two input streams are the same log twice",
        inputs=range(2, 3),
        equal=True,
        results=_records(True, [("page_bytes", "<u4"), ("frames", "<u4"), ("database_pages", "<u4"), ("zero", "<u4")]),
        exits={
            1: "it takes two input streams, the same log twice",
            2: "this is not the header of an SQLite write-ahead log",
        }.get,
    ),
    "fgrep8": Description(
        overlap=7,
        struct="fgrep8_args in offloads.h",
        args_bytes=_fixed(8),
        merge=_added("<u4"),
        results=_records(True, [("count", "<u4"), ("zero", "<u4")]),
        exits=BAD_ARGUMENTS.get,
    ),
    "saxpy": Description(
        record=lambda _: 4, struct="saxpy_args in offloads.h", args_bytes=_fixed(4), inputs=range(2, 3), exits=BAD_ARGUMENTS.get
    ),
    "psf": Description(
        overlap=tpch_scans.OVERLAP,
        alike=True,
        piece_bytes=_text_pieces,
        with_pieces=_with_text_pieces,
        struct="tbl_args in tbl.h",
        args_bytes=_table_bytes,
        exits=_text_exit,
    ),
    "parse": Description(
        overlap=tpch_scans.OVERLAP,
        alike=True,
        piece_bytes=_text_pieces,
        with_pieces=_with_text_pieces,
        struct="tbl_args in tbl.h",
        args_bytes=_table_bytes,
        outputs=lambda args, _: range(args[7], MOST_STREAMS + 1),
        exits=_text_exit,
    ),
    "sum": Description(record=lambda _: 4, merge=_sum_merge, results=_records(True, [("count", "<u4"), ("sum", "<u4")])),
    "select": Description(
        record=lambda call: 4 * _word(call.args, 0),
        struct="select_args in analytics.h",
        args_bytes=_fixed(8),
        results=_numbered("tuple", _selected, "<i4"),
        exits=ANALYTICS_EXITS.get,
    ),
    "transpose": Description(
        record=lambda call: 4 * call.outputs,
        outputs=lambda _args, _inputs: range(1, MOST_STREAMS + 1),
        outputs_said="a tuple has as many 32-bit words as there are output streams",
        results=_transpose_results,
        exits=ANALYTICS_EXITS.get,
    ),
    "kmeans": Description(
        record=lambda call: 4 * _word(call.args, 1),
        struct="kmeans_args in analytics.h",
        args_bytes=lambda args: 8 + 4 * _word(args, 0) * _word(args, 1),
        outputs=lambda _args, _inputs: range(1, 3),
        merge=_kmeans_merge,
        results=_kmeans_results,
        exits=ANALYTICS_EXITS.get,
    ),
    "linreg": Description(
        record=lambda call: 4 * _word(call.args, 0),
        struct="linreg_args in analytics.h",
        args_bytes=_fixed(4),
        merge=_added("<u8"),
        results=_linreg_results,
        exits=ANALYTICS_EXITS.get,
    ),
    "pagerank": Description(
        record=lambda _: 8,
        state=frozenset({1}),
        struct="pagerank_args in analytics.h",
        args_bytes=_fixed(4),
        inputs=range(2, 3),
        merge=_added("<u4"),
        results=_numbered("vertex", lambda _: ["gets"], "<u4"),
        exits=ANALYTICS_EXITS.get,
    ),
    "nn_conv": Description(
        record=lambda _: IMAGE_BYTES,
        struct="nn_conv_args in analytics.h",
        args_bytes=_fixed(1284),
        outputs=lambda _args, _inputs: range(1, MOST_STREAMS + 1),
        exits=ANALYTICS_EXITS.get,
    ),
    "nn_fc": Description(
        record=lambda _: FEATURE_BYTES,
        state=frozenset({1}),
        struct="nn_fc_args in analytics.h",
        args_bytes=_fixed(4),
        inputs=range(2, 3),
        results=_numbered("image", lambda call: [f"class {c}" for c in range(_word(call.args, 0))], "<i4"),
        exits=ANALYTICS_EXITS.get,
    ),
    "hamming": Description(
        # With two outputs the code pages go behind a's and b's pages in turn.
        record=lambda call: HAMMING_PAGE * (2 if call.outputs == 2 else 1),
        inputs=range(2, 3),
        outputs=lambda _args, _inputs: range(2, 4),
        equal=True,
        exits=ANALYTICS_EXITS.get,
    ),
}
"""The functions in firmware/offload and firmware/offload/examples."""

OWN = Description(inputs=range(1, MOST_STREAMS + 1), outputs=lambda _args, _inputs: range(1, MOST_STREAMS + 1))
"""What is taken of a function of somebody's own."""


def listed(function: str) -> Description | None:
    """What is known of a function by its name or its ELF file under build/offload; None: it is somebody's own."""
    path = Path(function)
    if path.suffix != ".elf" and "/" not in function:
        return FUNCTIONS.get(function)
    return FUNCTIONS.get(path.stem) if path.resolve().is_relative_to((BUILD / "offload").resolve()) else None


def _some(numbers: range) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def call_of(function: str, args: bytes, inputs: int, outputs: int | None) -> Call:
    """The call, checked against the function's description. `outputs`: None = the description's. Raises OffloadError."""
    name = Path(function).stem
    found = listed(function)
    if found is None:
        return Call(name, args, inputs, 1 if outputs is None else outputs)
    needed = found.args_bytes(args)
    if args and needed == 0:
        raise OffloadError(f"{name} takes no arguments, {len(args)} bytes were given: leave them out")
    if len(args) != needed:
        raise OffloadError(
            f"{name} takes {needed} bytes of arguments, not {len(args)}: struct {found.struct} (firmware/offload/include)"
        )
    if inputs not in found.inputs:
        raise OffloadError(f"{name} takes {_some(found.inputs)} input streams, not {inputs}: name each with --stream")
    possible = found.outputs(args, inputs)
    if outputs is None:
        if found.outputs_said:
            raise OffloadError(f"{name}: say how many output streams (--outputs, {_some(possible)}): {found.outputs_said}")
        outputs = possible[0] if possible else 1
    if possible and outputs not in possible:
        raise OffloadError(f"{name} has {_some(possible)} output streams here, not {outputs}")
    return Call(name, args, inputs, outputs)


def record_of(call: Call, found: Description | None) -> int:
    """Bytes that must not be cut between pieces; 0: the input cannot be cut. Raises OffloadError."""
    if found is None:
        return 1
    if found.record is None:
        return 0
    record = found.record(call)
    if record <= 0:
        raise OffloadError(f"{call.name}: the arguments give records of {record} bytes")
    return record


def explain(function: str, exit_code: int) -> str | None:
    """What an exit code of a function means, when it is known."""
    found = listed(function)
    return found.exits(exit_code) if found else None


def results_of(function: str, call: Call, outputs: list[bytes]) -> Results | None:
    """The outputs of all pieces, merged, by name; None for a function whose outputs are bytes or somebody's own."""
    found = listed(function)
    if found is None or found.results is None or not any(outputs):
        return None
    return found.results(call, outputs)
