# SPDX-License-Identifier: BSD-3-Clause
"""A kernel's model in the slots of the virtual board: input through NVMe into flash, a job, the result checked."""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assasin import later, perf
from assasin.board import Board
from assasin.drive import Drive, DriveError, Extent, Input, Job, Piece
from assasin.hls import model, reference
from assasin.hls.kernel import Kernel, KernelError
from assasin.kernel import Kernel as Function
from assasin.tree import contract

if TYPE_CHECKING:
    from assasin import functions
else:
    functions = later.module("assasin.functions")

DEFAULT_CONFIG = "AssasinSbHls2x2"
OWN_BOARD = "assasin-hls"
"""Name of the board, when nobody gives one."""
SLOTS = 2
"""Slots of the configurations AssasinSbHls<cores>x<channels>."""

Say = Callable[[str], None]


def function_of(kernel: Kernel) -> Function:
    """The kernel as the drive's functions name it."""
    return Function(kernel.name, kernel.version, len(kernel.inputs), len(kernel.scalars))


def arguments(kernel: Kernel, scalars: Mapping[str, float]) -> bytes:
    """The scalar arguments of a job, each 4 bytes. Raises KernelError."""
    return b"".join(struct.pack("<I", s.word(scalars[s.name])) for s in kernel.scalars)


def scalars_of(kernel: Kernel, texts: Sequence[str], example: Mapping[str, float] | None) -> dict[str, float]:
    """
    Values of the scalars out of NAME=VALUE texts; those that are not there come from the example. Raises KernelError.
    """
    values = dict(example or {})
    known = {s.name: s for s in kernel.scalars}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or name not in known:
            raise KernelError(f"--scalar {text}: write NAME=VALUE; {kernel.name} has {', '.join(known) or 'no scalars'}")
        word = struct.pack("<I", known[name].parse(value))
        values[name] = struct.unpack({"u32": "<I", "i32": "<i", "f32": "<f"}[known[name].type], word)[0]
    missing = [n for n in known if n not in values]
    if missing:
        raise KernelError(f"{kernel.name}: scalar {', '.join(missing)} has no value: add --scalar {missing[0]}=...")
    return values


def with_slots(config: str) -> str:
    """`config`, when it has slots. Raises KernelError."""
    if "Hls" not in config:
        raise KernelError(f"{config} has no slots for kernels: take a configuration such as {DEFAULT_CONFIG}")
    return config


def kcycles_for(kernel: Kernel, size: int) -> int:
    """
    How long a piece of `size` bytes in and out may take, 1,000 cycles: some times what it does take where channels or kernel are
    slow, so that a kernel that never finishes is found soon.
    """
    beats = -(-size // 8)
    return 2000 + int(4 * size + 2 * kernel.ii * beats + kernel.latency) // 1000


def pieces_for(kernel: Kernel, wanted: int) -> int:
    """Pieces of a job: `wanted`, or (0) one. Raises KernelError."""
    if kernel.pieces and wanted > kernel.pieces:
        raise KernelError(f"--pieces {wanted}: {kernel.name} takes at most {kernel.pieces} (limits.pieces in its kernel.toml)")
    return wanted or 1


def slots_for(kernel: Kernel, channel_limit: float) -> int:
    """
    Slots that take what the channels deliver (`channel_limit` bytes a cycle), at most those that there are: where one is enough, a
    second one's pages only get into its way.
    """
    return min(SLOTS, math.ceil(channel_limit / (kernel.bytes_per_cycle * len(kernel.inputs))))


@dataclass(frozen=True)
class Placed:
    """A stream in the drive: from which block on, and how long."""

    lba: int
    bytes: int


def place(drive: Drive, streams: Sequence[bytes], lba: int = 0) -> list[Placed]:
    """Writes streams one behind the other, each from a block on."""
    placed = []
    for data in streams:
        placed.append(Placed(lba, len(data)))
        if data:
            lba += drive.write(lba, data)
    drive.flush()
    return placed


def cut(kernel: Kernel, streams: Sequence[Placed], pieces: int, block: int) -> list[list[Input]]:
    """
    The input streams of at most `pieces` pieces. Each begins at a block and a record, and sees `kernel.overlap` bytes of the next.
    Raises KernelError for streams of different lengths in more than one piece.
    """
    length = streams[0].bytes
    if pieces > 1 and any(s.bytes != length for s in streams):
        raise KernelError(f"{kernel.name}: streams of different lengths cannot be cut alike: use --pieces 1")
    step = block
    while step % kernel.record:
        step += block
    each = max(1, -(-length // (step * pieces))) * step
    starts = range(0, max(1, length), each) if pieces > 1 else [0]
    out = []
    for start in starts:
        piece = []
        for s in streams:
            size = s.bytes - start if pieces == 1 else min(each + kernel.overlap, s.bytes - start)
            blocks = -(-size // block)
            piece.append(Input([Extent(s.lba + start // block, blocks)], size) if size else Input.of(b""))
        out.append(piece)
    return out


@contextmanager
def board_with(
    kernels: Sequence[Path], name: str, config: str, profile: str, say: Say, keep: bool = False
) -> Iterator[tuple[Board, Drive]]:
    """
    A virtual board with models in its slots, in turn, and a connection to it. It is stopped in the end unless it is to be kept.
    Raises KernelError when a board of that name runs that was not started here.
    """
    board = Board(name)
    owned = board.paths.folder / "hls.pid"
    running = board.pid()
    if running is not None and (not owned.exists() or owned.read_text() != str(running)):
        option = "" if name == "virtual" else f" --name {name}"
        raise KernelError(
            f"a board that `assasin hls` did not start runs under the name '{name}': give another --name, or stop it with "
            f"assasin flash virtual --stop{option}"
        )
    say(f"starting {config}")
    board.start(config, profile, kernels={n: kernels[n % len(kernels)] for n in range(SLOTS)}, tick=say)
    owned.write_text(str(board.pid()))
    try:
        with Drive(board.address) as drive:
            yield board, drive
    finally:
        if not keep:
            board.stop()


def job(
    drive: Drive,
    kernel: Kernel,
    function: int,
    streams: Sequence[Placed],
    scalars: Mapping[str, float],
    pieces: int,
    to: Sequence[Extent] | None = None,
    tick: Callable[[], None] | None = None,
    watchdog_kcycles: int = 0,
) -> Job:
    """
    The kernel's job, or that of an offload with the same arguments. `function`: its name in the drive. `to`: blocks that the output
    goes to, as long as the first stream; else it comes back. Raises KernelError.
    """
    inputs = cut(kernel, streams, pieces, drive.info.block_bytes)
    outputs = None
    if to is not None:
        outputs = [[o] for o in functions.targets_of(drive, to, [p[0].bytes for p in inputs])]
    return Job(function, inputs, outputs, args=arguments(kernel, scalars), tick=tick, watchdog_kcycles=watchdog_kcycles)


def check(kernel: Kernel, done: list[Piece]) -> list[Piece]:
    """The pieces, when all of them ended well. Raises KernelError with the drive's words."""
    failed = [(i, p) for i, p in enumerate(done) if not p.ok]
    if failed:
        i, p = failed[0]
        hint = ""
        if p.status == contract.SCOMP_STATUS_WATCHDOG:
            hint = (
                ": the kernel has not finished. Does it read on behind the beat with last, or loop for ever? "
                "A kernel that only needs longer: --limit-kcycles"
            )
        raise KernelError(f"{len(failed)} of {len(done)} pieces of {kernel.name} failed; piece {i}: {p.text}{hint}")
    return done


@contextmanager
def explained(board: Board, kernel: Kernel) -> Iterator[None]:
    """Errors come out with what the board's log says of the kernel meanwhile, or with that the board has not survived it."""
    before = board.paths.log.stat().st_size
    try:
        yield
    except (KernelError, DriveError) as e:
        with board.paths.log.open("rb") as log:
            log.seek(before)
            lines = log.read().decode(errors="replace").splitlines()
        said = list(dict.fromkeys(line for line in lines if f"kernel {kernel.name}/" in line))
        until = time.monotonic() + 2
        while board.pid() is not None and isinstance(e, DriveError) and not e.status and time.monotonic() < until:
            time.sleep(0.05)
        if board.pid() is None:
            said.append(
                f"the board's process ended while it ran {kernel.name}: a model that reads or writes outside its memory does that; "
                f"assasin hls csim {kernel.name} shows where (the board's log: {board.paths.log})"
            )
        raise KernelError("\n".join([str(e), *said])) from e


@dataclass(frozen=True)
class Result:
    """A run of a kernel on the virtual board."""

    kernel: str
    version: str
    board: str
    config: str
    profile: str
    ns_per_cycle: float
    bytes_in: int
    bytes_out: int
    pieces: int
    cycles: int
    """From the start of the first slot to the stop of the last."""
    bytes_per_cycle: float
    """Input, of all streams."""
    steady_bytes_per_cycle: float
    """From the first page of the job on."""
    stated_bytes_per_cycle: float
    """What the slots that took part would take at their initiation interval."""
    channel_limit: float
    """Bytes a cycle that the flash channels can deliver."""
    correct: bool
    build_seconds: float
    boot_seconds: float
    run_seconds: float
    measured_on_hardware: bool = False

    def json(self) -> dict[str, Any]:
        """As a table of JSON."""
        return dict(self.__dict__)


def run(
    kernel: Kernel,
    inputs: Sequence[bytes] | None,
    scalar_texts: Sequence[str],
    size: int,
    seed: int,
    pieces: int,
    name: str,
    config: str,
    profile: str,
    keep: bool,
    say: Say,
    limit_kcycles: int = 0,
) -> tuple[Result, bytes]:
    """
    Builds the model, starts the board with it, writes the input, runs the kernel, compares with the reference on the host.

    `inputs`: streams; None: the reference's example of `size` bytes. `limit_kcycles`: 1,000 cycles that a piece may take; 0: by the
    amount of data. Returns the figures and the output. Raises KernelError.
    """
    with_slots(config)
    start = time.monotonic()
    say(f"compiling {kernel.name}")
    judge = reference.load(kernel)
    example = judge.example(size, seed) if inputs is None else None
    streams = list(example[0] if example else inputs or [])
    if len(streams) != len(kernel.inputs):
        raise KernelError(f"{kernel.name} has {len(kernel.inputs)} input streams ({', '.join(kernel.inputs)}), not {len(streams)}")
    scalars = scalars_of(kernel, scalar_texts, example[1] if example else None)
    count = pieces_for(kernel, pieces)
    wanted = judge.expected(streams, scalars)
    limit = limit_kcycles or kcycles_for(kernel, sum(map(len, streams)) + len(wanted))
    shared_object = model.build(kernel)
    built = time.monotonic()
    with board_with([shared_object], name, config, profile, say, keep) as (board, drive):
        booted = time.monotonic()
        say(f"writing {sum(map(len, streams)):,} bytes")
        placed = place(drive, streams)
        say(f"running {kernel.name}")
        before = drive.perf()
        with explained(board, kernel), drive.function(function_of(kernel)) as loaded:
            done = check(kernel, drive.run_job(job(drive, kernel, loaded, placed, scalars, count, watchdog_kcycles=limit)))
        window = perf.window(before, drive.perf())
        status = board.status()
    output = judge.merge([p.outputs[0] for p in done])
    figures = perf.job_figures(done)
    slots = len({p.report.core for p in done})
    return (
        Result(
            kernel=kernel.name,
            version=kernel.version,
            board="virtual (simulated)",
            config=config,
            profile=profile,
            ns_per_cycle=status["ns_per_cycle"],
            bytes_in=sum(map(len, streams)),
            bytes_out=len(output),
            pieces=len(done),
            cycles=figures.cycles,
            bytes_per_cycle=figures.bytes_per_cycle,
            steady_bytes_per_cycle=perf.stream_rate(done),
            stated_bytes_per_cycle=kernel.bytes_per_cycle * len(kernel.inputs) * slots,
            channel_limit=window.bus_limit,
            correct=judge.equal(output, wanted),
            build_seconds=built - start,
            boot_seconds=booted - built,
            run_seconds=time.monotonic() - booted,
        ),
        output,
    )
