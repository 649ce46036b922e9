# SPDX-License-Identifier: BSD-3-Clause
"""
Jobs: a function or a tree of functions, what its pieces read and where their output goes; and how a table is divided into pieces.

A stream of a piece is blocks of the drive (extents) or bytes of the host's; its outputs come back to the host or are written under
blocks of the drive, all or nothing a piece.
"""

from __future__ import annotations

import ctypes
import dataclasses
import errno
import os
from collections.abc import Callable, Iterable, Sequence
from ctypes import byref, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assasin.binding import (
    EdgeStruct,
    ErrorStruct,
    ExtentStruct,
    InputStruct,
    JobStruct,
    NodeStruct,
    OutputStruct,
    PieceStruct,
    library,
)
from assasin.errors import AssasinError
from assasin.tree import contract

OUTSIDE: int = contract.SCOMP_OUTSIDE
"""Instead of a node of an edge: the piece's own streams."""

Bytes = bytes
"""The type, where a field has its name."""

if TYPE_CHECKING:
    import numpy.typing as npt

    Data = Bytes | bytearray | memoryview | npt.NDArray[Any]
else:
    # Only for annotations: numpy is loaded by those who have arrays.
    Data = Any
"""What calls take where they want bytes."""


def as_bytes(data: Data) -> Bytes:
    """The bytes of an array or buffer, in its order."""
    if isinstance(data, Bytes):
        return data
    return Bytes(data) if isinstance(data, bytearray) else data.tobytes()


ARGS_ALIGN = 64
"""Each node's arguments start at a multiple of this among the job's."""


class DriveError(AssasinError):
    """A call of libassasin failed. `code` is the errno, `status` the NVMe status (SCT << 8 | SC) or 0."""

    def __init__(self, code: int, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.status = status

    @property
    def name(self) -> str:
        """Symbol of the errno, for example ERANGE."""
        return errno.errorcode.get(self.code, str(self.code))


@dataclass(frozen=True)
class Extent:
    """A run of logical blocks."""

    lba: int
    count: int


@dataclass(frozen=True)
class Input:
    """One input stream of one piece: the first `bytes` bytes of its extents; or, without extents, `data`."""

    extents: Sequence[Extent]
    bytes: int
    data: Bytes | None = field(default=None, repr=False)

    @classmethod
    def of(cls, data: Data) -> Input:
        """A stream of the host's bytes."""
        held = as_bytes(data)
        return cls((), len(held), held)


Output = Sequence[Extent] | None
"""Where an output stream of a piece goes: under these blocks, or (None) to the host."""


@dataclass(frozen=True)
class Node:
    """A function of a tree: its name, its streams and arguments."""

    function: int
    streams_in: int = 1
    streams_out: int = 1
    args: Data = b""
    s_log2: int = -1


@dataclass(frozen=True)
class Edge:
    """A stream of a tree. `from_node` OUTSIDE: the piece's input `from_stream`; `to_node` OUTSIDE: its output `to_stream`."""

    from_node: int
    from_stream: int
    to_node: int
    to_stream: int


@dataclass(frozen=True)
class Tree:
    """Functions that feed each other; every piece runs the whole tree, each node on a core of its own."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]


def chain(*nodes: Node) -> Tree:
    """A tree in which each node's output is the next one's input; the first reads the piece's input, the last writes its output."""
    last = len(nodes) - 1
    edges = [Edge(OUTSIDE, 0, 0, 0), *(Edge(i, 0, i + 1, 0) for i in range(last)), Edge(last, 0, OUTSIDE, 0)]
    return Tree(nodes, edges)


@dataclass
class Job:
    """
    What the drive is to run: see struct assasin_job.

    `function`: name of a loaded function, or a tree. `inputs`: a piece's input streams, for each piece. `outputs`: where a piece's
    output streams go, for each piece; None: `streams_out` streams to the host. `args`: of a function; nodes have their own.
    `watchdog_kcycles`: limit of a piece in 1,000 cycles, 0 = the contract's SCOMP_WATCHDOG_KCYCLES, 10^8 cycles.
    """

    function: int | Tree
    inputs: Sequence[Sequence[Input]]
    outputs: Sequence[Sequence[Output]] | None = None
    streams_out: int = 1
    args: Data = b""
    max_cores: int = 0
    watchdog_kcycles: int = 0
    s_log2: int = -1
    channel_local: bool = False
    tick: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        if self.outputs is not None:
            self.streams_out = len(self.outputs[0]) if self.outputs else 0
        for what, table, streams in (
            ("input", self.inputs, len(self.inputs[0]) if self.inputs else 0),
            ("output", self.outputs or (), self.streams_out),
        ):
            for i, piece in enumerate(table):
                if len(piece) != streams:
                    raise ValueError(f"piece {i} has {len(piece)} {what} streams, piece 0 has {streams}: they must agree")
        if self.outputs is not None and len(self.outputs) != len(self.inputs):
            raise ValueError(f"inputs of {len(self.inputs)} pieces, but outputs of {len(self.outputs)}")


CYCLES_A_BYTE = 2000
"""More than any of the project's own functions takes for a byte of its input."""


def enough_kcycles(inputs: Sequence[Sequence[Input]]) -> int:
    """
    A limit, in 1,000 cycles, within which each of these pieces ends when a function of the project works on it; at most what the
    drive allows.
    """
    longest = max((sum(s.bytes for s in piece) for piece in inputs), default=0)
    return min(contract.SCOMP_WATCHDOG_MAX_KCYCLES, max(contract.SCOMP_WATCHDOG_KCYCLES, longest * CYCLES_A_BYTE // 1000))


class _Extents:
    """The extent table of a job while it grows."""

    def __init__(self) -> None:
        self.entries: list[ExtentStruct] = []
        self._first: dict[tuple[Extent, ...], int] = {(): 0}

    def add(self, extents: Iterable[Extent]) -> tuple[int, int]:
        """First index and number of these extents; 0, 0 for none. Streams with the same extents share their entries."""
        key = tuple(extents)
        if key not in self._first:
            self._first[key] = len(self.entries)
            self.entries += [ExtentStruct(e.lba, e.count) for e in key]
        return self._first[key], len(key)


def _pad(args: bytes) -> bytes:
    return args + bytes(-len(args) % ARGS_ALIGN)


def pack(job: Job) -> tuple[JobStruct, list[object]]:
    """The job as the library takes it, and what must stay alive as long as it is used."""
    table = _Extents()
    inputs = []
    for stream in (s for piece in job.inputs for s in piece):
        first, count = table.add(stream.extents)
        data = ctypes.cast(ctypes.c_char_p(stream.data), c_void_p) if stream.data else None
        inputs.append(InputStruct(first, count, stream.bytes, data))
    outputs = [OutputStruct(*table.add(o or ())) for piece in job.outputs or () for o in piece]
    nodes: list[NodeStruct] = []
    edges: list[EdgeStruct] = []
    args = as_bytes(job.args)
    if isinstance(job.function, Tree):
        args = b""
        for n in job.function.nodes:
            own = as_bytes(n.args)
            nodes.append(NodeStruct(n.function, n.streams_in, n.streams_out, n.s_log2, len(args) if own else 0, len(own)))
            args += _pad(own)
        edges = [EdgeStruct(*dataclasses.astuple(e)) for e in job.function.edges]
    packed = JobStruct(
        function=job.function if isinstance(job.function, int) else 0,
        streams_in=len(job.inputs[0]) if job.inputs else 0,
        streams_out=job.streams_out,
        s_log2=job.s_log2,
        channel_local=job.channel_local,
        pieces=len(job.inputs),
        inputs=(InputStruct * max(1, len(inputs)))(*inputs),
        outputs=(OutputStruct * len(outputs))(*outputs) if outputs else None,
        extents=(ExtentStruct * max(1, len(table.entries)))(*table.entries),
        extent_count=len(table.entries),
        nodes=(NodeStruct * len(nodes))(*nodes) if nodes else None,
        node_count=len(nodes),
        edges=(EdgeStruct * len(edges))(*edges) if edges else None,
        edge_count=len(edges),
        args=ctypes.cast(ctypes.c_char_p(args), c_void_p),
        args_bytes=len(args),
        max_cores=job.max_cores,
        watchdog_kcycles=job.watchdog_kcycles,
    )
    return packed, [args, job]


@dataclass(frozen=True)
class Report:
    """Counters of a finished piece; see struct assasin_report. Times are cycles."""

    core: int
    node: int
    bytes_in: int
    bytes_out: int
    t_start: int
    t_end: int
    cycles: int
    instret: int
    wait_in: int
    wait_out: int
    t_first_page: int
    t_last_page: int
    pages: int
    wait_mem: int
    l1_misses: int
    l2_misses: int
    prefetches: int


@dataclass(frozen=True)
class Piece:
    """
    How a piece ended and what it sent to the host. `status` is a SCOMP_STATUS_*, `text` says it in words. `nodes`: the same of each
    node of a tree, without output.
    """

    status: int
    text: str
    cause: int
    pc: int
    tval: int
    exit_code: int
    stream: int
    position: int
    report: Report
    outputs: list[bytes] = field(repr=False)
    nodes: list[Piece] = field(default_factory=list, repr=False)

    @property
    def ok(self) -> bool:
        """The piece ended with status OK."""
        return self.status == contract.SCOMP_STATUS_OK


def unpack_piece(p: PieceStruct, outputs: list[bytes], nodes: list[Piece]) -> Piece:
    """A piece as the library returned it."""
    text = library().assasin_piece_strerror(byref(p), byref(ErrorStruct())).decode()
    report = Report(**{f.name: getattr(p.report, f.name) for f in dataclasses.fields(Report)})
    return Piece(p.status, text, p.cause, p.pc, p.tval, p.exit_code, p.stream, p.position, report, outputs, nodes)


# ---- task decomposition ----


def _divide(
    call: Callable[..., int], extents: Sequence[Extent], length: int, unit: int, block: int, pieces: int, what: str
) -> list[Input]:
    """Calls assasin_split() or its kin with room for what it returns."""
    table = (ExtentStruct * max(1, len(extents)))(*[ExtentStruct(e.lba, e.count) for e in extents])
    inputs = (InputStruct * max(1, pieces))()
    room = c_uint32(2 * (len(extents) + pieces))
    while True:
        parts = (ExtentStruct * room.value)()
        made = call(table, len(extents), length, unit, block, pieces, inputs, parts, byref(room))
        if made != -errno.ENOSPC:
            break
    if made == -errno.EEXIST:
        raise DriveError(-made, "extents overlap: " + ", ".join(f"{e.lba}:{e.count}" for e in extents))
    if made < 0:
        raise DriveError(
            -made,
            f"cannot divide {length} bytes {what} over {pieces} pieces: "
            f"{os.strerror(-made)} (the extents hold {sum(e.count for e in extents) * block} bytes)",
        )
    return [
        Input([Extent(parts[j].lba, parts[j].count) for j in range(i.first_extent, i.first_extent + i.extent_count)], i.bytes)
        for i in inputs[:made]
    ]


def split(extents: Sequence[Extent], length: int, record: int, block: int, pieces: int) -> list[Input]:
    """Divides a table of `length` bytes in `extents` over at most `pieces` pieces; see assasin_split()."""
    return _divide(library().assasin_split, extents, length, record, block, pieces, f"in records of {record}")


def split_text(extents: Sequence[Extent], length: int, overlap: int, block: int, pieces: int) -> tuple[list[Input], int]:
    """
    Divides text of records that end with a newline, each at most `overlap` bytes long; see assasin_split_text(). Returns the
    pieces' streams and how many bytes of each, but the last, are its own.
    """
    own = c_uint64()

    def call(*arguments: object) -> int:
        return library().assasin_split_text(*arguments, byref(own))

    return _divide(call, extents, length, overlap, block, pieces, f"of text with an overlap of {overlap}"), own.value
