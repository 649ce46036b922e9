# SPDX-License-Identifier: BSD-3-Clause
"""Drives over libassasin, one method a function of the library."""

from __future__ import annotations

import ctypes
import dataclasses
import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_char, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any

from assasin.binding import (
    AccessStruct,
    Command,
    Completion,
    ErrorStruct,
    ExtentStruct,
    InfoStruct,
    OptionsStruct,
    ProgressFn,
    SessionStruct,
    TickFn,
    library,
)
from assasin.board import last_words
from assasin.execution import Execution, Waiters
from assasin.interrupts import Held
from assasin.job import Data, DriveError, Extent, Input, Job, Piece, as_bytes, pack, split, split_text, unpack_piece
from assasin.kernel import Kernel
from assasin.tree import contract

__all__ = [
    "Access",
    "Command",
    "Completion",
    "Drive",
    "DriveError",
    "Execution",
    "Extent",
    "Info",
    "Input",
    "Job",
    "Kernel",
    "Piece",
    "Progress",
    "Session",
    "split",
    "split_text",
    "strerror",
]

IO_QUEUE = 1
"""ASSASIN_IO: queue number of the I/O queue."""

KERNEL_SLOTS = 8
"""Most slots for kernels (ASSASIN_SLOTS)."""

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all."""


@dataclass(frozen=True)
class Access:
    """Blocks that jobs of a session may read (rights 1), write (2) or both (3)."""

    lba: int
    blocks: int
    rights: int


@dataclass(frozen=True)
class Session:
    """The session of a connection, for commands that are written by hand: see hw/regs/scomp.toml, ScompOpcode."""

    number: int
    secret: tuple[int, int]

    def named(self) -> dict[str, int]:
        """Dwords of an admin command that loads or unloads a function of this session, for Command.of()."""
        return {"dw13": self.number, "dw14": self.secret[0], "dw15": self.secret[1]}

    def job(self, own: int) -> dict[str, int]:
        """Dwords of an I/O command for the session's job of that number, 0..65535, for Command.of(): its handle and the secret."""
        return {"dw10": self.number << 16 | own, "dw14": self.secret[0], "dw15": self.secret[1]}


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


def _tick_function(tick: Callable[[], None], raised: list[BaseException]) -> ctypes._CFunctionType:
    def call(_: object) -> int:
        try:
            tick()
        except BaseException as e:
            raised.append(e)
        return int(bool(raised))

    return TickFn(call)


def _progress_function(progress: Progress | None, raised: list[BaseException]) -> ctypes._CFunctionType:
    if progress is None:
        return ProgressFn()

    def call(_: object, done: int, total: int) -> int:
        try:
            progress(done, total)
        except BaseException as e:
            raised.append(e)
        return int(bool(raised))

    return ProgressFn(call)


def strerror(status: int) -> str:
    """Words for an NVMe status."""
    return library().assasin_strerror(status).decode()


def function_image(elf: bytes) -> bytes:
    """What a drive needs of an offload's ELF file: all but symbols and debug information. Drive.load() does this itself."""
    image = ctypes.create_string_buffer(len(elf))
    size = library().assasin_function_image(elf, len(elf), image)
    return image.raw[:size]


class Drive:
    """
    An open drive. Also a context manager that closes it.

    Every call can be interrupted by Ctrl-C: a job is aborted, a transfer stops, and what is raised (KeyboardInterrupt) has a note
    that says how far it came.
    """

    def __init__(self, address: str, queue_depth: int = 0, memory_bytes: int = 0, stall_s: float = 0, limit_s: float = 0) -> None:
        """Connects to `address` (see assasin_open()); the others are struct assasin_options, 0 = default. Raises DriveError."""
        self._lib = library()
        self._open: c_void_p | None = None
        self._variant: str | None = None
        self._address = address
        self._held: Held | None = None
        self._executions: set[Execution] = set()
        self._waiters = Waiters(self)
        # Called from C: to enter Python lets it note signals.
        self._tick = TickFn(lambda _: int(self._held is not None and bool(self._held.arrived)))
        options = OptionsStruct(queue_depth, memory_bytes, int(stall_s * 1000), int(limit_s * 1000), self._tick, None)
        handle, error = c_void_p(), ErrorStruct()
        try:
            rc = self._call(self._lib.assasin_open, address.encode(), byref(options), byref(handle), byref(error))
        except BaseException:
            self._lib.assasin_abandon(handle)
            raise
        if rc:
            raise DriveError(-rc, self._explained(rc, error.text.decode()))
        self._open = handle
        info = InfoStruct()
        self._lib.assasin_get_info(handle, byref(info))
        values: dict[str, Any] = {f.name: getattr(info, f.name) for f in dataclasses.fields(Info)}
        values |= {n: v.decode() for n, v in values.items() if isinstance(v, bytes)}
        self.info = Info(**values)

    def __enter__(self) -> Drive:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.abandon()
            return
        try:
            self.close()
        except DriveError:
            if kind is None:
                raise

    def _call(self, function: Callable[..., int], *args: object) -> int:
        """
        A call into C that may wait. A signal ends its wait and is handled after it, with what the library says of how far it came.
        """
        with Held() as held:
            outer, self._held = self._held, held
            try:
                rc = function(*args)
            finally:
                self._held = outer
            if rc < 0 and held.arrived and self._open is not None:
                held.note = self._lib.assasin_last_error(self._open).decode()
        return rc

    def abandon(self) -> None:
        """Leaves the drive at once; see assasin_abandon()."""
        handle, self._open = self._open, None
        if handle is not None:
            self._forget_jobs()
            self._lib.assasin_abandon(handle)

    def close(self) -> None:
        """Clean shutdown; see assasin_close()."""
        handle, self._open = self._open, None
        if handle is not None:
            alive = list(self._executions)
            self._forget_jobs()
            rc = self._call(self._lib.assasin_close, handle)
            del alive
            if rc:
                raise DriveError(-rc, f"the drive was not shut down cleanly: {os.strerror(-rc)}")

    def _forget_jobs(self) -> None:
        """The handles of jobs that have begun are gone with the drive."""
        self._waiters.close()
        for execution in list(self._executions):
            execution.forget()

    @property
    def _handle(self) -> c_void_p:
        if self._open is None:
            raise DriveError(errno.EBADF, "the drive is closed: connect to it again")
        return self._open

    def _check(self, rc: int) -> int:
        if rc < 0:
            text = self._explained(rc, self._lib.assasin_last_error(self._handle).decode())
            raise DriveError(-rc, text, self._lib.assasin_last_status(self._handle))
        return rc

    def _explained(self, rc: int, text: str) -> str:
        """The library's message, with what a board that is gone has left behind."""
        words = last_words(self._address) if rc == -errno.ENODEV else ""
        return text.removesuffix(" (see its log)") + words if words else text

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
            if self._open is not None:
                self._lib.assasin_dma_free(self._open, memory)

    def execute(self, queue: int, command: Command, data: bytearray | None = None) -> Completion:
        """Sends one command with `data` (replaced when the command reads) and waits. Raises DriveError when it fails."""
        completion = Completion()
        buffer = (c_char * len(data)).from_buffer(data) if data else None
        length = len(data) if data else 0
        self._check(self._call(self._lib.assasin_execute, self._handle, queue, byref(command), buffer, length, byref(completion)))
        return completion

    def submit(self, command: Command, data: int, length: int, done: ctypes._CFunctionType, arg: int) -> None:
        """assasin_submit() on the I/O queue with DMA memory at address `data`; `done`, a DoneFn, is kept by the caller."""
        self._check(self._lib.assasin_submit(self._handle, IO_QUEUE, byref(command), data, length, done, arg))

    def wait(self) -> int:
        """assasin_wait(): handles completions, at least one; returns how many."""
        return self._check(self._call(self._lib.assasin_wait, self._handle))

    def raw(self, queue: int, command: Command) -> Completion:
        """Sends one command exactly as it is. Raises DriveError only for the connection: look at the completion's status."""
        completion = Completion()
        rc = self._call(self._lib.assasin_raw_command, self._handle, queue, byref(command), byref(completion))
        if rc < 0 and not self._lib.assasin_last_status(self._handle):
            self._check(rc)
        return completion

    def _transfer(self, function: Callable[..., int], lba: int, data: object, length: int, progress: Progress | None) -> None:
        raised: list[BaseException] = []
        rc = self._call(function, self._handle, lba, data, length, _progress_function(progress, raised), None)
        if raised:
            raise raised[0]
        self._check(rc)

    def read(self, lba: int, length: int, progress: Progress | None = None) -> bytes:
        """Reads `length` bytes from block `lba` on; the last block may be used in part. What `progress` raises stops it."""
        block = self.info.block_bytes
        padded = -(-length // block) * block
        buffer = ctypes.create_string_buffer(max(1, padded))
        self._transfer(self._lib.assasin_read, lba, buffer, padded, progress)
        return buffer.raw[:length]

    def write(self, lba: int, data: Data, progress: Progress | None = None) -> int:
        """
        Writes `data`, padded with zeros to whole blocks, from block `lba` on. Returns the blocks written. What `progress` raises
        stops it.
        """
        block = self.info.block_bytes
        padded = as_bytes(data)
        padded += bytes(-len(padded) % block)
        self._transfer(self._lib.assasin_write, lba, padded, len(padded), progress)
        return len(padded) // block

    def compare(self, lba: int, data: Data, progress: Progress | None = None) -> bool:
        """Whether blocks from `lba` on hold `data`, padded with zeros to whole blocks; the drive compares, nothing is read."""
        padded = as_bytes(data)
        padded += bytes(-len(padded) % self.info.block_bytes)
        try:
            self._transfer(self._lib.assasin_compare, lba, padded, len(padded), progress)
        except DriveError as error:
            if error.code == errno.EILSEQ:
                return False
            raise
        return True

    def trim(self, extents: Sequence[Extent]) -> None:
        """Tells the drive that blocks are not needed any more: they read zeros (Dataset Management, deallocate)."""
        table = (ExtentStruct * max(1, len(extents)))(*(ExtentStruct(e.lba, e.count) for e in extents))
        self._check(self._call(self._lib.assasin_trim, self._handle, table, len(extents)))

    def write_zeroes(self, lba: int, blocks: int) -> None:
        """Makes blocks read zeros, without sending them."""
        self._check(self._call(self._lib.assasin_write_zeroes, self._handle, lba, blocks))

    def flush(self) -> None:
        """NVMe Flush."""
        self._check(self._call(self._lib.assasin_flush, self._handle))

    def identify(self, cns: int, nsid: int = 0) -> bytes:
        """An Identify data structure."""
        data = ctypes.create_string_buffer(4096)
        self._check(self._call(self._lib.assasin_identify, self._handle, cns, nsid, data))
        return data.raw

    def log_page(self, page: int, length: int) -> bytes:
        """The first `length` bytes of a log page."""
        data = ctypes.create_string_buffer(length)
        self._check(self._call(self._lib.assasin_log_page, self._handle, page, data, length))
        return data.raw

    def perf(self) -> ctypes.Structure:
        """The performance counters: contract.ScompPerf."""
        return contract.ScompPerf.from_buffer_copy(self.log_page(contract.SCOMP_LOG_PERF, ctypes.sizeof(contract.ScompPerf)))

    def media(self) -> ctypes.Structure:
        """The part, the code that protects its sectors and what reads have found: contract.ScompMedia."""
        return contract.ScompMedia.from_buffer_copy(self.log_page(contract.SCOMP_LOG_MEDIA, ctypes.sizeof(contract.ScompMedia)))

    def nand_block(self, way: int, address: int, step: int = 1, first: int = 0) -> ctypes.Structure:
        """
        What the drive finds in a block of a NAND package: contract.ScompBlock. `way` is channel << 4 | way, `address` the sector
        address of the block's first sector; every `step`-th sector is read from `first` on, none with 0. Writes nothing.
        """
        block = contract.ScompBlock()
        self._check(self._call(self._lib.assasin_nand_block, self._handle, way, address, step, first, byref(block)))
        return block

    def slots(self) -> list[int]:
        """Ids of the kernels in the drive's slots, 0 for an empty one; none for a drive without slots."""
        ids, count = (c_uint32 * KERNEL_SLOTS)(), c_uint32()
        self._check(self._call(self._lib.assasin_slots, self._handle, ids, byref(count)))
        return list(ids[: count.value])

    def load(self, function: bytes | Kernel) -> int:
        """
        Loads an offload's ELF, or makes a kernel in a slot of the chip a function. Returns its name, which means this function and
        no other: a job that names it fails once the drive had to forget it for others of this connection; see
        assasin_function_load().
        """
        if isinstance(function, Kernel):
            return self._check(
                self._call(self._lib.assasin_kernel_load, self._handle, function.id, function.inputs, function.scalars)
            )
        return self._check(self._call(self._lib.assasin_function_load, self._handle, function, len(function)))

    def unload(self, name: int) -> None:
        """Removes a function."""
        self._check(self._call(self._lib.assasin_function_unload, self._handle, name))

    def session(self) -> Session:
        """The session of this connection, which is opened unless it is open; see assasin_get_session()."""
        found = SessionStruct()
        self._check(self._call(self._lib.assasin_get_session, self._handle, byref(found)))
        return Session(found.number, (found.secret[0], found.secret[1]))

    def sessions(self) -> list[ctypes.Structure]:
        """The drive's sessions, contract.ScompSession each; first, with number 0, what sessions get that are opened from now on."""
        size = ctypes.sizeof(contract.ScompSession)
        data = self.log_page(contract.SCOMP_LOG_SESSIONS, size * (contract.SCOMP_MAX_SESSIONS + 1))
        found = [contract.ScompSession.from_buffer_copy(data, at) for at in range(0, len(data), size)]
        return [s for n, s in enumerate(found) if n == 0 or s.number]

    def limit(self, session: int, ranges: Sequence[Access] | None) -> None:
        """
        The blocks that jobs of a session may touch; 0: of sessions that are opened from now on. None: all of them. See
        assasin_access().
        """
        table = (AccessStruct * max(1, len(ranges or ())))(*(AccessStruct(r.lba, r.blocks, r.rights) for r in ranges or ()))
        self._check(
            self._call(self._lib.assasin_access, self._handle, session, None if ranges is None else table, len(ranges or ()))
        )

    def end_session(self, session: int) -> None:
        """Ends a session of whoever has it: its jobs stop, its functions go."""
        self._check(self._call(self._lib.assasin_session_end, self._handle, session))

    @contextmanager
    def function(self, function: bytes | Kernel) -> Iterator[int]:
        """An offload or kernel loaded for the time of a `with` block, whose value names it to jobs. See load()."""
        name = self.load(function)
        try:
            yield name
        finally:
            try:
                self.unload(name)
            except DriveError as e:
                # A dead connection has already been reported by what was done in the block; the session may have ended.
                if e.status and e.code != errno.ESTALE:
                    raise

    def arch(self) -> int:
        """Memory architecture of the drive's cores: a contract.CORE_ARCH_*."""
        value = c_uint32()
        self._check(self._call(self._lib.assasin_core_arch, self._handle, byref(value)))
        return value.value

    def variant(self) -> str:
        """Which build of an offload the drive's cores run: "sb", "sbx", "sp" or "mem"; see assasin_offload_variant()."""
        if self._variant is not None:
            return self._variant
        arch = self.arch()
        name = self._lib.assasin_offload_variant(arch)
        if name is None:
            raise DriveError(errno.ENOTSUP, f"the drive's cores have memory architecture {arch}, which this library does not know")
        self._variant = name.decode()
        return self._variant

    def run(
        self,
        function: int,
        pieces: Sequence[Sequence[Input]],
        streams_out: int = 1,
        args: Data = b"",
        max_cores: int = 0,
        watchdog_kcycles: int = 0,
        s_log2: int = -1,
        tick: Callable[[], None] | None = None,
    ) -> list[Piece]:
        """Runs a function on pieces, each a list of input streams (as many for every piece); see run_job()."""
        return self.run_job(Job(function, pieces, None, streams_out, args, max_cores, watchdog_kcycles, s_log2=s_log2, tick=tick))

    def run_job(self, job: Job) -> list[Piece]:
        """
        Runs a job and returns its pieces in order with what they sent to the host. Pieces that failed are there too: look at
        Piece.ok. `Job.tick` is called about every 100 ms meanwhile and may use the drive; an exception of its own aborts the job
        and is raised here. Raises DriveError when the drive refuses the request.
        """
        packed, alive = pack(job)
        raised: list[BaseException] = []
        if job.tick is not None:
            packed.tick = _tick_function(job.tick, raised)
        result = c_void_p()
        rc = self._call(self._lib.assasin_run, self._handle, byref(packed), byref(result))
        del alive
        if raised:
            raise raised[0]
        self._check(rc)
        return self._pieces(result, packed.pieces, job.streams_out, packed.node_count)

    def start(self, job: Job) -> Execution:
        """
        Begins a job and returns as soon as the drive has been sent the request; several can run at once. It goes on in poll(), and
        in every call that waits for the drive. Raises DriveError when the library refuses the request; what the drive refuses,
        Execution.result() raises.
        """
        return Execution(self, job)

    async def run_async(self, job: Job) -> list[Piece]:
        """
        Runs a job as run_job() does while the event loop goes on; several can run at once. When the task is cancelled, the job is
        aborted. Other calls of this object wait for the drive and hold the loop up. Raises DriveError.
        """
        return await self._waiters.wait(self.start(job))

    def event_fd(self) -> int:
        """A file descriptor that is readable when poll() has something to do; see assasin_event_fd()."""
        return self._check(self._lib.assasin_event_fd(self._handle))

    def poll(self) -> int:
        """Lets jobs that start() has begun go on; never waits. Returns how many commands have completed. Raises DriveError when the
        drive is gone."""
        return self._check(self._call(self._lib.assasin_poll, self._handle))

    def _pieces(self, result: c_void_p, pieces: int, streams_out: int, nodes: int) -> list[Piece]:
        try:
            return [self._piece(result, i, streams_out, nodes) for i in range(pieces)]
        finally:
            self._lib.assasin_result_free(result)

    def _piece(self, result: c_void_p, index: int, streams_out: int, nodes: int) -> Piece:
        outputs = []
        for s in range(streams_out):
            length = c_size_t()
            data = self._lib.assasin_result_data(result, index, s, byref(length))
            outputs.append(ctypes.string_at(data, length.value) if data else b"")
        ends = [unpack_piece(self._lib.assasin_result_node(result, index, n).contents, [], []) for n in range(nodes)]
        return unpack_piece(self._lib.assasin_result_piece(result, index).contents, outputs, ends)
