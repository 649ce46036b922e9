# SPDX-License-Identifier: BSD-3-Clause
"""ctypes binding of libassasin (host-driver/include/assasin/assasin.h), one method a function."""

from __future__ import annotations

import ctypes
import dataclasses
import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import (
    POINTER,
    byref,
    c_bool,
    c_char,
    c_char_p,
    c_int,
    c_int8,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from dataclasses import dataclass, field
from typing import Any, ClassVar

from assasin.tree import BUILD, ROOT, contract

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all."""


class DriveError(Exception):
    """A call of libassasin failed. `code` is the errno, `status` the NVMe status (SCT << 8 | SC) or 0."""

    def __init__(self, code: int, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.status = status

    @property
    def name(self) -> str:
        """Symbol of the errno, for example ERANGE."""
        return errno.errorcode.get(self.code, str(self.code))


class _Error(ctypes.Structure):
    _fields_: ClassVar = [("text", c_char * 384)]


class _Options(ctypes.Structure):
    _fields_: ClassVar = [("queue_depth", c_uint32), ("memory_bytes", c_uint64), ("stall_ms", c_uint32), ("limit_ms", c_uint32)]


class _Info(ctypes.Structure):
    _fields_: ClassVar = [
        ("model", c_char * 41),
        ("serial", c_char * 21),
        ("firmware", c_char * 9),
        ("block_bytes", c_uint32),
        ("blocks", c_uint64),
        ("transfer_bytes", c_uint32),
        ("queue_depth", c_uint32),
        ("cores", c_uint32),
        ("channels", c_uint32),
        ("ways", c_uint32),
    ]


class Command(ctypes.Structure):
    """A submission queue entry."""

    _fields_: ClassVar = [("dw", c_uint32 * 16)]

    @classmethod
    def of(cls, opcode: int, nsid: int = 0, prp1: int = 0, prp2: int = 0, **dwords: int) -> Command:
        """A command from opcode, namespace, PRPs and `dw10=`..`dw15=`."""
        c = cls()
        c.dw[0], c.dw[1] = opcode, nsid
        for i, prp in ((6, prp1), (8, prp2)):
            c.dw[i], c.dw[i + 1] = prp & 0xFFFFFFFF, prp >> 32
        for name, value in dwords.items():
            c.dw[int(name.removeprefix("dw"))] = value
        return c


class Completion(ctypes.Structure):
    """A completion: dw0, dw1, status (SCT << 8 | SC)."""

    _fields_: ClassVar = [("dw0", c_uint32), ("dw1", c_uint32), ("status", c_uint16), ("more", c_bool), ("no_retry", c_bool)]


class _Extent(ctypes.Structure):
    _fields_: ClassVar = [("lba", c_uint64), ("count", c_uint32)]


class _Input(ctypes.Structure):
    _fields_: ClassVar = [("first_extent", c_uint32), ("extent_count", c_uint32), ("bytes", c_uint64)]


_TickFn = ctypes.CFUNCTYPE(c_int, c_void_p)


class _Job(ctypes.Structure):
    _fields_: ClassVar = [
        ("slot", c_uint16),
        ("streams_in", c_uint8),
        ("streams_out", c_uint8),
        ("s_log2", c_int8),
        ("pieces", c_uint32),
        ("inputs", POINTER(_Input)),
        ("extents", POINTER(_Extent)),
        ("extent_count", c_uint32),
        ("args", c_void_p),
        ("args_bytes", c_uint32),
        ("max_cores", c_uint32),
        ("watchdog_kcycles", c_uint32),
        ("tick", _TickFn),
        ("tick_arg", c_void_p),
    ]


class _Report(ctypes.Structure):
    _fields_: ClassVar = [("core", c_uint32)] + [
        (n, c_uint64)
        for n in (
            "bytes_in",
            "bytes_out",
            "t_start",
            "t_end",
            "cycles",
            "instret",
            "wait_in",
            "wait_out",
            "t_first_page",
            "t_last_page",
            "pages",
        )
    ]


class _Piece(ctypes.Structure):
    _fields_: ClassVar = [
        ("status", c_uint16),
        ("cause", c_uint32),
        ("pc", c_uint32),
        ("tval", c_uint32),
        ("exit_code", c_uint32),
        ("report", _Report),
    ]


_ProgressFn = ctypes.CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64)


@dataclass(frozen=True)
class Info:
    """What a drive is; see struct assasin_info."""

    model: str
    serial: str
    firmware: str
    block_bytes: int
    blocks: int
    transfer_bytes: int
    queue_depth: int
    cores: int
    channels: int
    ways: int


@dataclass(frozen=True)
class Extent:
    """A run of logical blocks."""

    lba: int
    count: int


@dataclass(frozen=True)
class Input:
    """One input stream of one piece: the first `bytes` bytes of its extents."""

    extents: Sequence[Extent]
    bytes: int


@dataclass(frozen=True)
class Report:
    """Counters of a finished piece; see struct assasin_report. Times are cycles."""

    core: int
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


@dataclass(frozen=True)
class Piece:
    """How a piece ended and what it produced. `status` is a SCOMP_STATUS_*, `text` says it in words."""

    status: int
    text: str
    cause: int
    pc: int
    tval: int
    exit_code: int
    report: Report
    outputs: list[bytes] = field(repr=False)

    @property
    def ok(self) -> bool:
        """The piece ended with status OK."""
        return self.status == contract.SCOMP_STATUS_OK


def _load_library() -> ctypes.CDLL:
    path = BUILD / "host" / "libassasin.so"
    if not path.exists():
        raise FileNotFoundError(f"{path.relative_to(ROOT)} is not there: run make -C host-driver")
    lib = ctypes.CDLL(str(path))
    d, p = c_void_p, c_void_p
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "assasin_open": (c_int, [c_char_p, POINTER(_Options), POINTER(d), POINTER(_Error)]),
        "assasin_close": (c_int, [d]),
        "assasin_last_error": (c_char_p, [d]),
        "assasin_last_status": (c_uint16, [d]),
        "assasin_get_info": (None, [d, POINTER(_Info)]),
        "assasin_register_read": (c_int, [d, c_uint32, POINTER(c_uint32)]),
        "assasin_register_write": (c_int, [d, c_uint32, c_uint32]),
        "assasin_clock": (c_int, [d, POINTER(c_uint64)]),
        "assasin_dma_alloc": (c_void_p, [d, c_size_t]),
        "assasin_dma_free": (None, [d, p]),
        "assasin_dma_address": (c_uint64, [d, p]),
        "assasin_execute": (c_int, [d, ctypes.c_uint, POINTER(Command), p, c_size_t, POINTER(Completion)]),
        "assasin_raw_command": (c_int, [d, ctypes.c_uint, POINTER(Command), POINTER(Completion)]),
        "assasin_strerror": (c_char_p, [c_uint16]),
        "assasin_read": (c_int, [d, c_uint64, p, c_uint64, _ProgressFn, p]),
        "assasin_write": (c_int, [d, c_uint64, p, c_uint64, _ProgressFn, p]),
        "assasin_flush": (c_int, [d]),
        "assasin_identify": (c_int, [d, c_uint8, c_uint32, p]),
        "assasin_log_page": (c_int, [d, c_uint8, p, c_uint32]),
        "assasin_function_load": (c_int, [d, c_uint16, c_char_p, c_size_t]),
        "assasin_function_unload": (c_int, [d, c_uint16]),
        "assasin_run": (c_int, [d, POINTER(_Job), POINTER(c_void_p)]),
        "assasin_result_failed": (c_uint32, [p]),
        "assasin_result_piece": (POINTER(_Piece), [p, c_uint32]),
        "assasin_result_data": (c_void_p, [p, c_uint32, c_uint8, POINTER(c_size_t)]),
        "assasin_result_free": (None, [p]),
        "assasin_piece_strerror": (c_char_p, [POINTER(_Piece), POINTER(_Error)]),
        "assasin_split": (
            c_int,
            [
                POINTER(_Extent),
                c_uint32,
                c_uint64,
                c_uint32,
                c_uint32,
                c_uint32,
                POINTER(_Input),
                POINTER(_Extent),
                POINTER(c_uint32),
            ],
        ),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


_lib: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """libassasin, loaded at first use."""
    global _lib
    if _lib is None:
        _lib = _load_library()
    return _lib


def _tick_function(tick: Callable[[], None], raised: list[BaseException]) -> ctypes._CFunctionType:
    def call(_: object) -> int:
        try:
            tick()
        except BaseException as e:
            raised.append(e)
        return int(bool(raised))

    return _TickFn(call)


def strerror(status: int) -> str:
    """Words for an NVMe status."""
    return library().assasin_strerror(status).decode()


def split(extents: Sequence[Extent], length: int, record: int, block: int, pieces: int) -> list[Input]:
    """Divides a table of `length` bytes in `extents` over at most `pieces` pieces; see assasin_split()."""
    table = (_Extent * max(1, len(extents)))(*[_Extent(e.lba, e.count) for e in extents])
    inputs = (_Input * pieces)()
    room = c_uint32(len(extents) + pieces)
    parts = (_Extent * room.value)()
    made = library().assasin_split(table, len(extents), length, record, block, pieces, inputs, parts, byref(room))
    if made == -errno.EEXIST:
        raise DriveError(-made, "extents overlap: " + ", ".join(f"{e.lba}:{e.count}" for e in extents))
    if made < 0:
        raise DriveError(
            -made,
            f"cannot divide {length} bytes in records of {record} over {pieces} pieces: "
            f"{os.strerror(-made)} (the extents hold {sum(e.count for e in extents) * block} bytes)",
        )
    return [
        Input([Extent(parts[j].lba, parts[j].count) for j in range(i.first_extent, i.first_extent + i.extent_count)], i.bytes)
        for i in inputs[:made]
    ]


class Drive:
    """An open drive. Also a context manager that closes it."""

    def __init__(self, address: str, queue_depth: int = 0, memory_bytes: int = 0, stall_s: float = 0, limit_s: float = 0) -> None:
        """Connects to `address` (virtual:PATH); the other parameters are struct assasin_options, 0 = default. Raises DriveError."""
        self._lib = library()
        self._handle: c_void_p | None = None
        options = _Options(queue_depth, memory_bytes, int(stall_s * 1000), int(limit_s * 1000))
        handle, error = c_void_p(), _Error()
        rc = self._lib.assasin_open(address.encode(), byref(options), byref(handle), byref(error))
        if rc:
            raise DriveError(-rc, error.text.decode())
        self._handle = handle
        info = _Info()
        self._lib.assasin_get_info(handle, byref(info))
        values: dict[str, Any] = {f.name: getattr(info, f.name) for f in dataclasses.fields(Info)}
        values |= {n: v.decode() for n, v in values.items() if isinstance(v, bytes)}
        self.info = Info(**values)

    def __enter__(self) -> Drive:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.close()
        except DriveError:
            if kind is None:
                raise

    def close(self) -> None:
        """Clean shutdown; see assasin_close()."""
        handle, self._handle = self._handle, None
        if handle is not None:
            rc = self._lib.assasin_close(handle)
            if rc:
                raise DriveError(-rc, f"the drive was not shut down cleanly: {os.strerror(-rc)}")

    def _check(self, rc: int) -> int:
        if rc < 0:
            raise DriveError(-rc, self._lib.assasin_last_error(self._handle).decode(), self._lib.assasin_last_status(self._handle))
        return rc

    def register(self, offset: int) -> int:
        """Reads a BAR0 register."""
        value = c_uint32()
        self._check(self._lib.assasin_register_read(self._handle, offset, byref(value)))
        return value.value

    def set_register(self, offset: int, value: int) -> None:
        """Writes a BAR0 register."""
        self._check(self._lib.assasin_register_write(self._handle, offset, value))

    def clock(self) -> int:
        """The drive's timebase in cycles."""
        value = c_uint64()
        self._check(self._lib.assasin_clock(self._handle, byref(value)))
        return value.value

    @contextmanager
    def dma(self, length: int) -> Iterator[tuple[int, ctypes.Array[c_char]]]:
        """DMA memory: its bus address and its bytes."""
        memory = self._lib.assasin_dma_alloc(self._handle, length)
        if not memory:
            raise DriveError(12, f"no DMA memory for {length} bytes is left")
        try:
            yield self._lib.assasin_dma_address(self._handle, memory), (c_char * length).from_address(memory)
        finally:
            if self._handle is not None:
                self._lib.assasin_dma_free(self._handle, memory)

    def execute(self, queue: int, command: Command, data: bytearray | None = None) -> Completion:
        """Sends one command with `data` (replaced when the command reads) and waits. Raises DriveError when it fails."""
        completion = Completion()
        buffer = (c_char * len(data)).from_buffer(data) if data else None
        self._check(
            self._lib.assasin_execute(self._handle, queue, byref(command), buffer, len(data) if data else 0, byref(completion))
        )
        return completion

    def raw(self, queue: int, command: Command) -> Completion:
        """Sends one command exactly as it is. Raises DriveError only for the connection: look at the completion's status."""
        completion = Completion()
        rc = self._lib.assasin_raw_command(self._handle, queue, byref(command), byref(completion))
        if rc < 0 and not self._lib.assasin_last_status(self._handle):
            self._check(rc)
        return completion

    def _progress(self, progress: Progress | None) -> ctypes._CFunctionType:
        if progress is None:
            return _ProgressFn()

        def call(_: object, done: int, total: int) -> int:
            progress(done, total)
            return 0

        return _ProgressFn(call)

    def read(self, lba: int, length: int, progress: Progress | None = None) -> bytes:
        """Reads `length` bytes from block `lba` on; the last block may be used in part."""
        block = self.info.block_bytes
        padded = -(-length // block) * block
        buffer = ctypes.create_string_buffer(max(1, padded))
        self._check(self._lib.assasin_read(self._handle, lba, buffer, padded, self._progress(progress), None))
        return buffer.raw[:length]

    def write(self, lba: int, data: bytes, progress: Progress | None = None) -> int:
        """Writes `data`, padded with zeros to whole blocks, from block `lba` on. Returns the blocks written."""
        block = self.info.block_bytes
        padded = data + bytes(-len(data) % block)
        self._check(self._lib.assasin_write(self._handle, lba, padded, len(padded), self._progress(progress), None))
        return len(padded) // block

    def flush(self) -> None:
        """NVMe Flush."""
        self._check(self._lib.assasin_flush(self._handle))

    def identify(self, cns: int, nsid: int = 0) -> bytes:
        """An Identify data structure."""
        data = ctypes.create_string_buffer(4096)
        self._check(self._lib.assasin_identify(self._handle, cns, nsid, data))
        return data.raw

    def log_page(self, page: int, length: int) -> bytes:
        """The first `length` bytes of a log page."""
        data = ctypes.create_string_buffer(length)
        self._check(self._lib.assasin_log_page(self._handle, page, data, length))
        return data.raw

    def perf(self) -> ctypes.Structure:
        """The performance counters: contract.ScompPerf."""
        return contract.ScompPerf.from_buffer_copy(self.log_page(contract.SCOMP_LOG_PERF, ctypes.sizeof(contract.ScompPerf)))

    def load(self, slot: int, elf: bytes) -> None:
        """Loads an offload into a function slot."""
        self._check(self._lib.assasin_function_load(self._handle, slot, elf, len(elf)))

    def unload(self, slot: int) -> None:
        """Empties a function slot."""
        self._check(self._lib.assasin_function_unload(self._handle, slot))

    @contextmanager
    def function(self, elf: bytes, slot: int = 0) -> Iterator[int]:
        """An offload loaded into a slot for the time of a `with` block."""
        self.load(slot, elf)
        try:
            yield slot
        finally:
            try:
                self.unload(slot)
            except DriveError as e:
                # A dead connection has already been reported by what was done in the block.
                if e.status:
                    raise

    def run(
        self,
        slot: int,
        pieces: Sequence[Sequence[Input]],
        streams_out: int = 1,
        args: bytes = b"",
        max_cores: int = 0,
        watchdog_kcycles: int = 0,
        s_log2: int = -1,
        tick: Callable[[], None] | None = None,
    ) -> list[Piece]:
        """
        Runs function `slot` on pieces, each a list of input streams (as many for every piece), and returns them in order with their
        output. Pieces that failed are there too: look at Piece.ok. `tick` is called about every 100 ms meanwhile and may use the
        drive; an exception of its own aborts the job and is raised here. Raises DriveError when the drive refuses the request.
        """
        streams_in = len(pieces[0]) if pieces else 0
        flat = [s for piece in pieces for s in piece]
        extents = [e for s in flat for e in s.extents]
        inputs, first = [], 0
        for s in flat:
            inputs.append(_Input(first, len(s.extents), s.bytes))
            first += len(s.extents)
        job = _Job(
            slot=slot,
            streams_in=streams_in,
            streams_out=streams_out,
            s_log2=s_log2,
            pieces=len(pieces),
            inputs=(_Input * max(1, len(inputs)))(*inputs),
            extents=(_Extent * max(1, len(extents)))(*[_Extent(e.lba, e.count) for e in extents]),
            extent_count=len(extents),
            args=ctypes.cast(ctypes.c_char_p(args), c_void_p),
            args_bytes=len(args),
            max_cores=max_cores,
            watchdog_kcycles=watchdog_kcycles,
        )
        raised: list[BaseException] = []
        if tick is not None:
            job.tick = _tick_function(tick, raised)
        result = c_void_p()
        rc = self._lib.assasin_run(self._handle, byref(job), byref(result))
        if raised:
            raise raised[0]
        self._check(rc)
        try:
            return [self._piece(result, i, streams_out) for i in range(len(pieces))]
        finally:
            self._lib.assasin_result_free(result)

    def _piece(self, result: c_void_p, index: int, streams_out: int) -> Piece:
        p = self._lib.assasin_result_piece(result, index).contents
        outputs = []
        for s in range(streams_out):
            length = c_size_t()
            data = self._lib.assasin_result_data(result, index, s, byref(length))
            outputs.append(ctypes.string_at(data, length.value) if data else b"")
        text = self._lib.assasin_piece_strerror(byref(p), byref(_Error())).decode()
        report = Report(**{f.name: getattr(p.report, f.name) for f in dataclasses.fields(Report)})
        return Piece(p.status, text, p.cause, p.pc, p.tval, p.exit_code, report, outputs)
