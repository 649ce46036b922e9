# SPDX-License-Identifier: BSD-3-Clause
"""Kernels in the slots of a virtual board: what they compute, how fast they are fed, and how badly they may behave."""

from __future__ import annotations

import os
import random
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from assasin.binding import Command, Completion
from assasin.board import Board, BoardError
from assasin.drive import Drive, DriveError
from assasin.job import OUTSIDE, Edge, Extent, Input, Job, Node, Piece, Tree, chain
from assasin.kernel import Kernel, KernelError
from assasin.tree import ROOT, contract

CONFIG = "AssasinSbHls2x2"
BLOCK = 4096
BYTES = 300_001
CHANNELS = 2
SOURCE = ROOT / "board" / "virtual" / "tests" / "kernels" / "probe.c"
XOR, COUNT, NEVER, NO_LAST, EARLY, NARROW, EMPTY, SPIN, MANY = range(9)
"""Modes of the kernel: its first scalar."""

PROBE = Kernel("probe", "1", 1, 2)
PAIR = Kernel("pair", "1", 2, 2)

pytestmark = pytest.mark.system(CONFIG)


def compile_kernel(path: Path, **defines: object) -> Path:
    """The probe as a shared object at `path`, with macros of its source defined."""
    macros = [f"-D{k}={v}" for k, v in defines.items()]
    command = ["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/hls-kernels/include", *macros]
    subprocess.run([*command, str(SOURCE), "-o", str(path)], check=True)
    return path


def pair(path: Path, **defines: object) -> Path:
    return compile_kernel(path, INPUTS=2, NAME='"pair"', ID=f"{PAIR.id}u", **defines)


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    folder = tmp_path_factory.mktemp("kernels")
    board = Board(f"pytest-slots-{os.getpid()}")
    kernels = {0: compile_kernel(folder / "probe.so"), 1: pair(folder / "pair.so")}
    board.start(CONFIG, "test", format=True, kernels=kernels)
    try:
        yield board
    finally:
        board.stop()
        board.erase()


@pytest.fixture(scope="module")
def drive(board: Board) -> Iterator[Drive]:
    with Drive(board.address) as drive:
        drive.write(0, DATA)
        yield drive


DATA = random.Random(7).randbytes(BYTES)


def table(length: int = BYTES, lba: int = 0) -> Input:
    """The first bytes of DATA, in the drive."""
    return Input([Extent(lba, -(-length // BLOCK))], length)


def call(drive: Drive, kernel: Kernel, mode: int, value: int, *inputs: Input, **job: int) -> Piece:
    """One call of a kernel."""
    with drive.function(kernel) as name:
        (piece,) = drive.run(name, [list(inputs)], args=struct.pack("<2I", mode, value), **job)
    return piece


def xored(data: bytes, value: int) -> bytes:
    padded = np.frombuffer(data + bytes(-len(data) % 4), "<u4") ^ np.uint32(value)
    return padded.tobytes()[: len(data)]


# ---- what there is ----


def test_identity(drive: Drive, board: Board) -> None:
    """The slots' kernels by their ids, which are what zlib computes."""
    assert PROBE.id == zlib.crc32(b"probe/1")
    assert drive.slots() == [PROBE.id, PAIR.id]
    assert board.status()["slots"] == ["probe/1", "pair/1"]
    assert drive.info.cores == 2


# ---- streams ----


@pytest.mark.parametrize("length", [1, 7, 8, 9, 4095, 4096, 4097, 65536, BYTES])
def test_every_byte_once(drive: Drive, length: int) -> None:
    piece = call(drive, PROBE, XOR, 0xA5C3_0F96, table(length))
    assert piece.ok, piece.text
    assert piece.outputs[0] == xored(DATA[:length], 0xA5C3_0F96)
    assert piece.report.core == 2
    assert (piece.report.bytes_in, piece.report.bytes_out) == (length, length)


def test_input_of_the_host(drive: Drive) -> None:
    """Also no byte, and pieces one behind the other in the same slot."""
    parts = [DATA, b"", DATA[:1], DATA[:4096]]
    with drive.function(PROBE) as name:
        pieces = drive.run(name, [[Input.of(p)] for p in parts], args=struct.pack("<2I", XOR, 0))
    assert [p.outputs[0] for p in pieces] == parts
    counts = [call(drive, PROBE, COUNT, 99, Input.of(p)) for p in (b"", DATA[:17])]
    assert [struct.unpack("<3Q", p.outputs[0]) for p in counts] == [(0, 1, 99), (17, 3, 99)]


def test_two_inputs(drive: Drive) -> None:
    length = 200_000
    other = random.Random(8).randbytes(length)
    piece = call(drive, PAIR, XOR, 0, table(length), Input.of(other))
    assert piece.ok, piece.text
    expected = np.frombuffer(DATA[:length], "<u8") + np.frombuffer(other, "<u8")
    assert piece.outputs[0] == expected.tobytes()
    assert piece.report.core == 3


def test_beats_with_few_bytes_are_packed(drive: Drive) -> None:
    piece = call(drive, PROBE, NARROW, 0, table(50_000))
    assert piece.outputs[0] == b"".join(DATA[i : i + 3] for i in range(0, 50_000, 8))


def test_more_output_than_input(drive: Drive) -> None:
    """A result far larger than the buffers, so that the kernel has to wait for room."""
    beats, each = 1000, 64
    piece = call(drive, PROBE, MANY, each, table(beats * 8))
    assert piece.ok, piece.text
    expected = [(b << 32) | i for b in range(1, beats + 1) for i in range(each)]
    assert np.array_equal(np.frombuffer(piece.outputs[0], "<u8"), np.array(expected, dtype="<u8"))
    assert piece.report.wait_out > 0


def test_early_end_and_no_result(drive: Drive) -> None:
    piece = call(drive, PROBE, EARLY, 0, table())
    assert piece.ok, piece.text
    assert piece.outputs[0] == DATA[:8]
    assert piece.report.bytes_in < BYTES
    piece = call(drive, PROBE, EMPTY, 0, table())
    assert piece.ok, piece.text
    assert piece.outputs[0] == b""
    assert piece.report.bytes_in == BYTES


def test_result_to_blocks(drive: Drive) -> None:
    target = Extent(1000, 25)
    with drive.function(PROBE) as name:
        job = Job(name, [[table(100_000)]], [[[target]]], args=struct.pack("<2I", XOR, 0x11223344))
        assert all(p.ok for p in drive.run_job(job))
    assert drive.read(target.lba, 100_000) == xored(DATA[:100_000], 0x11223344)


# ---- kernels and programs ----


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Adds 1 to every byte, on a core."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "inc.c").write_text(
        "#include <assasin.h>\nint compute(void) { for (;;) ASSASIN_STORE_U8(0, ASSASIN_LOAD_U8(0, end) + 1u); end: return 0; }\n"
    )
    make = ["make", "-s", "-C", ROOT / "firmware/offload", "elf", f"SRC={folder}/inc.c", f"OUT={folder}", "ARCHS=sb"]
    subprocess.run(make, check=True, env={**os.environ, "MAKEFLAGS": ""})
    return (folder / "inc.elf").read_bytes()


def test_program_and_kernel(drive: Drive, program: bytes) -> None:
    """Either behind the other, and both orders at once as pieces."""
    args = struct.pack("<2I", XOR, 0xFFFFFFFF)
    up = (np.frombuffer(DATA[:50_000], "u1") + np.uint8(1)).tobytes()
    with drive.function(program) as inc, drive.function(PROBE) as inv:
        (piece,) = drive.run_job(Job(chain(Node(inc), Node(inv, args=args)), [[table(50_000)]]))
        assert piece.ok, piece.text
        assert piece.outputs[0] == xored(up, 0xFFFFFFFF)
        pieces = drive.run_job(Job(chain(Node(inv, args=args), Node(inc)), [[table(50_000)], [Input.of(DATA[:999])]]))
    down = [(np.frombuffer(xored(d, 0xFFFFFFFF), "u1") + np.uint8(1)).tobytes() for d in (DATA[:50_000], DATA[:999])]
    assert [p.outputs[0] for p in pieces] == down
    assert all(p.nodes[0].report.core == 2 for p in pieces)


def test_trees(drive: Drive) -> None:
    """Kernel behind kernel, more nodes than cores: each in its own slot."""
    args = struct.pack("<2I", XOR, 5)
    with drive.function(PROBE) as first, drive.function(PAIR) as second:
        tree = Tree(
            [Node(first, args=args), Node(second, streams_in=2, args=struct.pack("<2I", XOR, 0))],
            [Edge(OUTSIDE, 0, 0, 0), Edge(0, 0, 1, 0), Edge(OUTSIDE, 1, 1, 1), Edge(1, 0, OUTSIDE, 0)],
        )
        length = 80_000
        (piece,) = drive.run_job(Job(tree, [[table(length), Input.of(DATA[:length])]]))
    assert piece.ok, piece.text
    expected = np.frombuffer(xored(DATA[:length], 5), "<u8") + np.frombuffer(DATA[:length], "<u8")
    assert piece.outputs[0] == expected.tobytes()
    assert sorted(n.report.core for n in piece.nodes) == [2, 3]


# ---- kernels as NVMe Computational Programs ----

ADMIN, IO = 0, 1
MEMORY_NS, PROGRAM_NS = 2, 3
LOAD_PROGRAM, ACTIVATE, RANGE_SETS = 0x85, 0x88, 0x89
EXECUTE, READ_MEMORY, COPY = 0x01, 0x02, 0x01
ELF_TYPE, KERNEL_TYPE = 0xC0, 0xC1
INVALID_FIELD, PROGRAM_DATA, PROGRAM_TYPE, NO_PROGRAM = 0x002, 0x18E, 0x190, 0x196
PROGRAM_FAILED = 0x100 | contract.NVME_VENDOR_STATUS_PROGRAM_FAILED


def command(drive: Drive, queue: int, opcode: int, nsid: int, data: bytes = b"", **dwords: int) -> Completion:
    """The completion of a command that the drive may refuse; at most a block of data travels to it."""
    with drive.dma(BLOCK) as (bus, memory):
        memory[: len(data)] = data
        return drive.raw(queue, Command.of(opcode, nsid, prp1=bus if data else 0, **dwords))


def described(kernel: Kernel) -> bytes:
    """struct scomp_kernel."""
    return struct.pack("<IHBBI52x", contract.SCOMP_KERNEL_MAGIC, 1, kernel.inputs, kernel.scalars, kernel.id)


def load_program(drive: Drive, data: bytes, kind: int) -> Completion:
    size = len(data)
    return command(drive, ADMIN, LOAD_PROGRAM, PROGRAM_NS, data, dw10=kind << 16, dw11=size, dw12=77, dw14=size)


def activate(drive: Drive, on: bool) -> int:
    return command(drive, ADMIN, ACTIVATE, PROGRAM_NS, dw10=on << 16).status


@contextmanager
def active_program(drive: Drive, kernel: Kernel) -> Iterator[None]:
    """A kernel as program 0."""
    assert load_program(drive, described(kernel), KERNEL_TYPE).status == 0
    assert activate(drive, True) == 0
    try:
        yield
    finally:
        assert activate(drive, False) == 0
        assert command(drive, ADMIN, LOAD_PROGRAM, PROGRAM_NS, dw10=1 << 24).status == 0


@contextmanager
def range_set(drive: Drive, *ranges: tuple[int, int]) -> Iterator[int]:
    """The id of a memory range set of (start, bytes) each."""
    data = b"".join(struct.pack("<IIQ16x", MEMORY_NS, length, at) for at, length in ranges)
    made = command(drive, ADMIN, RANGE_SETS, PROGRAM_NS, data, dw11=len(ranges))
    assert made.status == 0
    try:
        yield made.dw0
    finally:
        assert command(drive, ADMIN, RANGE_SETS, PROGRAM_NS, dw10=1 | made.dw0 << 16).status == 0


def execute(drive: Drive, ranges: int, inputs: int, outputs: int, args: bytes, kcycles: int = 0) -> Completion:
    words = {"dw2": ranges << 16, "dw4": len(args), "dw10": inputs | outputs << 8, "dw11": kcycles}
    return command(drive, IO, EXECUTE, PROGRAM_NS, args, **words)


def memory(drive: Drive, at: int, length: int) -> bytes:
    """Bytes of the local memory, which is read in multiples of four."""
    data = bytearray((length + 3) // 4 * 4)
    drive.execute(IO, Command.of(READ_MEMORY, MEMORY_NS, dw10=at, dw12=len(data)), data)
    return bytes(data[:length])


@pytest.fixture(scope="module")
def local(drive: Drive) -> Drive:
    """The drive with the first 64 KiB of DATA in its local memory, from 0 on."""
    source = struct.pack("<IIQIIQ", 1, 0, 0, 15, 0, 0)
    assert command(drive, IO, COPY, MEMORY_NS, source, dw2=16 * BLOCK, dw10=0, dw12=2 << 8).status == 0
    return drive


def test_program_of_a_kernel(local: Drive) -> None:
    """Load, activate, a range set of inputs and output, execute: what comes out is what a job of the kernel gives."""
    mask, length, to = 0x1234_5678, 50_001, 1 << 20
    with active_program(local, PROBE), range_set(local, (0, length), (to, 65536)) as ranges:
        done = execute(local, ranges, 1, 1, struct.pack("<2I", XOR, mask))
        assert (done.status, done.dw0, done.dw1) == (0, length, 0)
        assert memory(local, to, length) == xored(DATA[:length], mask)
        log = local.log_page(0x82, 128)
        assert (log[0], log[64] & 7, log[65], struct.unpack_from("<Q", log, 72)[0]) == (16, 5, KERNEL_TYPE, 77)
        assert [local.log_page(0x83, 96)[i] for i in (0, 32, 64)] == [2, ELF_TYPE, KERNEL_TYPE]
    with active_program(local, PAIR), range_set(local, (0, 8192), (16384, 8192), (to, 8192)) as ranges:
        assert execute(local, ranges, 2, 1, struct.pack("<2I", XOR, 0)).dw0 == 8192
    expected = np.frombuffer(DATA[:8192], "<u8") + np.frombuffer(DATA[16384 : 16384 + 8192], "<u8")
    assert memory(local, to, 8192) == expected.tobytes()
    works(local)


def test_program_and_job_share_the_slot(local: Drive) -> None:
    """The one waits for the other: neither is refused nor lost."""
    args = struct.pack("<2I", COUNT, 5)
    with (
        active_program(local, PROBE),
        local.function(PROBE) as name,
        range_set(local, (0, 65536), (1 << 20, 4096)) as ranges,
    ):
        completions: list[Completion] = []

        def tick() -> None:
            completions.append(execute(local, ranges, 1, 1, args))

        pieces = local.run_job(Job(name, [[table()]] * 3, args=args, tick=tick))
    assert all(p.ok for p in pieces)
    assert completions
    assert all((c.status, c.dw0) == (0, 24) for c in completions)


def test_programs_that_are_refused(local: Drive) -> None:
    """Data of the other type, kernels that no slot holds, calls that do not fit, a kernel that never ends."""
    for data, kind, reason in (
        (described(Kernel("probe", "2", 1, 2)), KERNEL_TYPE, contract.SCOMP_ELF_ERROR_NO_KERNEL),
        (described(PROBE) + bytes(4), KERNEL_TYPE, contract.SCOMP_ELF_ERROR_BAD_KERNEL),
        (bytes(64), KERNEL_TYPE, contract.SCOMP_ELF_ERROR_NOT_ELF),
        (described(PROBE), ELF_TYPE, contract.SCOMP_ELF_ERROR_NOT_ELF),
    ):
        refused = load_program(local, data, kind)
        assert (refused.status, refused.dw0) == (PROGRAM_DATA, reason)
        assert activate(local, True) == NO_PROGRAM
    assert load_program(local, described(PROBE), 0xC2).status == PROGRAM_TYPE
    with active_program(local, PROBE), range_set(local, (0, 65536), (1 << 20, 65536), (2 << 20, 65536)) as ranges:
        args = struct.pack("<2I", XOR, 0)
        assert execute(local, ranges, 2, 1, args).status == INVALID_FIELD
        assert execute(local, ranges, 1, 2, args).status == INVALID_FIELD
        assert execute(local, ranges, 1, 1, args[:4]).status == INVALID_FIELD
        stuck = execute(local, ranges, 1, 1, struct.pack("<2I", NEVER, 0), kcycles=300)
        assert (stuck.status, stuck.dw0) == (PROGRAM_FAILED, contract.SCOMP_STATUS_WATCHDOG)
        endless = execute(local, ranges, 1, 1, struct.pack("<2I", NO_LAST, 0))
        assert (endless.status, endless.dw0, endless.dw1) == (
            PROGRAM_FAILED,
            contract.SCOMP_STATUS_TRAP,
            contract.SLOT_TRAP_NO_END,
        )
    works(local)


# ---- what does not fit ----


def test_kernel_that_is_not_there(drive: Drive) -> None:
    with pytest.raises(DriveError, match="no slot of this drive holds the kernel") as e:
        drive.load(Kernel("probe", "2", 1, 2))
    assert e.value.name == "EINVAL"
    with pytest.raises(DriveError, match="an id other than 0"):
        drive.load(struct.pack("<IHBBI52x", contract.SCOMP_KERNEL_MAGIC, 1, 1, 0, 0))
    with pytest.raises(DriveError, match="an id other than 0"):
        drive.load(struct.pack("<IHBBI51xB", contract.SCOMP_KERNEL_MAGIC, 1, 1, 0, PROBE.id, 1))


def test_call_that_does_not_fit(drive: Drive) -> None:
    with pytest.raises(DriveError, match="number of input streams"):
        call(drive, PROBE, XOR, 0, table(), table())
    with pytest.raises(DriveError, match="number of input streams"):
        call(drive, PROBE, XOR, 0, table(), streams_out=2)
    with drive.function(PROBE) as name, pytest.raises(DriveError, match="bytes of arguments"):
        drive.run(name, [[table()]], args=bytes(12))
    with drive.function(PROBE) as name, pytest.raises(DriveError, match="more calls of a kernel than slots hold it"):
        drive.run_job(Job(chain(Node(name, args=bytes(8)), Node(name, args=bytes(8))), [[table()]]))


# ---- kernels that misbehave ----


def works(drive: Drive) -> None:
    """The drive and both slots go on as ever."""
    for kernel, inputs in ((PROBE, 1), (PAIR, 2)):
        piece = call(drive, kernel, COUNT, 1, *[table(10_000)] * inputs)
        assert piece.ok, piece.text
    assert drive.read(0, 10_000) == DATA[:10_000]


def test_kernel_that_never_finishes(drive: Drive) -> None:
    piece = call(drive, PROBE, NEVER, 0, table(), watchdog_kcycles=500)
    assert piece.status == contract.SCOMP_STATUS_WATCHDOG
    assert piece.report.cycles >= 500_000
    works(drive)


def test_kernel_without_an_end_of_its_result(drive: Drive) -> None:
    piece = call(drive, PROBE, NO_LAST, 0, table(10_000))
    assert (piece.status, piece.cause) == (contract.SCOMP_STATUS_TRAP, contract.SLOT_TRAP_NO_END)
    assert "TLAST" in piece.text
    works(drive)


def test_abort_during_a_kernel(drive: Drive) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), drive.function(PROBE) as name:
        drive.run(name, [[table()]], args=struct.pack("<2I", NEVER, 0), tick=stop)
    works(drive)


VISITOR = """
import os, struct, sys
sys.path.insert(0, sys.argv[1])
from assasin.drive import Drive, Extent, Input, Kernel
drive = Drive(sys.argv[2])
name = drive.load(Kernel("probe", "1", 1, 2))
drive.run(name, [[Input([Extent(0, 8)], 32768)]], args=struct.pack("<2I", 2, 0), tick=lambda: os._exit(7))
"""
"""Leaves in the middle of a kernel that never finishes."""


@contextmanager
def started(name: str, folder: Path, faults: Mapping[int, str] | None = None) -> Iterator[Board]:
    """A board of its own with both kernels; on its first blocks is DATA."""
    board = Board(f"pytest-slots-{name}-{os.getpid()}")
    kernels = {0: compile_kernel(folder / "probe.so"), 1: pair(folder / "pair.so")}
    board.start(CONFIG, "test", format=True, kernels=kernels, kernel_faults=faults)
    try:
        with Drive(board.address) as drive:
            drive.write(0, DATA)
        yield board
    finally:
        board.stop()
        board.erase()


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """A second board, for what needs a connection of its own."""
    with started("other", tmp_path_factory.mktemp("others")) as board:
        yield board


def test_reset_during_a_kernel(other: Board) -> None:
    """The next visitor resets the controller: the kernel goes with it."""
    python = str(ROOT / "host-driver" / "python")
    left = subprocess.run([sys.executable, "-c", VISITOR, python, other.address], timeout=60, check=False)
    assert left.returncode == 7
    with Drive(other.address) as drive:
        works(drive)


def test_kernel_that_computes_for_ever(other: Board) -> None:
    """Its thread is left behind: the slot is of no use any more, all else is."""
    with Drive(other.address) as drive:
        for _ in range(2):
            piece = call(drive, PROBE, SPIN, 0, table(), watchdog_kcycles=100)
            assert piece.status == contract.SCOMP_STATUS_WATCHDOG
        assert call(drive, PAIR, COUNT, 1, table(10_000), table(10_000)).ok
    assert "has computed for 5 s without reading or writing" in other.paths.log.read_text()


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drive]:
    """A board on which the first slot's IP has no clock."""
    with started("broken", tmp_path_factory.mktemp("broken"), {0: "no-answer"}) as board, Drive(board.address) as drive:
        yield drive


def test_kernel_whose_port_does_not_answer(broken: Drive, program: bytes) -> None:
    """The job ends soon, with what to look at; again and again; other slots, cores and blocks are as ever."""
    for _ in range(2):
        piece = call(broken, PROBE, XOR, 1, table(10_000))
        assert (piece.status, piece.cause) == (contract.SCOMP_STATUS_TRAP, contract.SLOT_TRAP_NO_ANSWER)
        assert "AXI4-Lite port does not answer: check that the IP's ap_clk, ap_rst_n" in piece.text
        assert piece.report.cycles < 100_000
        good = call(broken, PAIR, COUNT, 1, table(10_000), table(10_000))
        assert good.ok, good.text
        assert struct.unpack("<3Q", good.outputs[0])[0] == 10_000
    with broken.function(program) as inc:
        (piece,) = broken.run(inc, [[table(10_000)]])
    assert piece.outputs[0] == (np.frombuffer(DATA[:10_000], "u1") + np.uint8(1)).tobytes()
    assert broken.read(0, BYTES) == DATA
    broken.write(1000, DATA[:BLOCK])
    assert broken.read(1000, BLOCK) == DATA[:BLOCK]


def test_program_whose_port_does_not_answer(broken: Drive) -> None:
    with active_program(broken, PROBE), range_set(broken, (0, 4096), (1 << 20, 4096)) as ranges:
        done = execute(broken, ranges, 1, 1, struct.pack("<2I", XOR, 0))
    assert (done.status, done.dw0, done.dw1) == (PROGRAM_FAILED, contract.SCOMP_STATUS_TRAP, contract.SLOT_TRAP_NO_ANSWER)
    with active_program(broken, PAIR), range_set(broken, (0, 4096), (4096, 4096), (1 << 20, 4096)) as ranges:
        assert execute(broken, ranges, 2, 1, struct.pack("<2I", XOR, 0)).dw0 == 4096


def test_a_tree_with_a_broken_kernel(broken: Drive, program: bytes) -> None:
    """The node that is broken is named, and the others stop."""
    args = struct.pack("<2I", XOR, 0)
    with broken.function(program) as inc, broken.function(PROBE) as bad:
        (piece,) = broken.run_job(Job(chain(Node(inc), Node(bad, args=args)), [[table(50_000)]]))
    assert (piece.status, piece.cause) == (contract.SCOMP_STATUS_TRAP, contract.SLOT_TRAP_NO_ANSWER)
    assert piece.report.node == 1


def test_faults_that_are_none(board: Board, tmp_path: Path) -> None:
    good = compile_kernel(tmp_path / "probe.so")
    for faults, why in (
        ({0: "no-idea"}, "there is no fault 'no-idea'"),
        ({1: "no-answer"}, "the slot is empty"),
    ):
        with pytest.raises(BoardError, match=why):
            board.start(CONFIG, "test", kernels={0: good}, kernel_faults=faults)
    assert board.pid() is not None


# ---- shared objects that are none ----


@pytest.mark.parametrize(
    ("defines", "why"),
    [
        ({"ABI": 2}, "is built for ABI 2, this board speaks 1"),
        ({"ID": "0x12345678u"}, "id 0x12345678 is not 0xb07d4d17, the CRC-32 of 'probe/1'"),
        ({"INPUTS": 3}, "3 inputs; a slot has 1 to 2"),
        ({"II_NUM": 1, "II_DEN": 2}, "initiation interval 1/2 cycles"),
    ],
)
def test_wrong_kernels(board: Board, tmp_path: Path, defines: dict[str, object], why: str) -> None:
    """Each is refused with what is wrong, and a board that serves goes on."""
    path = compile_kernel(tmp_path / "wrong.so", **defines)
    with pytest.raises(BoardError) as e:
        board.start(CONFIG, "test", kernels={0: path})
    assert why in str(e.value)
    assert board.pid() is not None


def test_wrong_files_and_slots(board: Board, tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("not a shared object")
    good = compile_kernel(tmp_path / "probe.so")
    for kernels, why in (
        ({0: text}, "cannot be loaded"),
        ({2: good}, f"{CONFIG} has slots 0 to 1"),
        ({0: Path("/lib/x86_64-linux-gnu/libc.so.6")}, "exports no 'assasin_kernel'"),
    ):
        with pytest.raises(BoardError, match=why):
            board.start(CONFIG, "test", kernels=kernels)
    assert board.pid() is not None


def test_metadata(tmp_path: Path) -> None:
    path = tmp_path / "kernel.toml"
    path.write_text('name = "probe"\nversion = "1"\n[interface]\ninputs = ["in"]\nscalars = [{name = "a"}, {name = "b"}]\n')
    assert Kernel.described(path) == PROBE
    for text, why in (
        ('name = "probe"\nversion = "1"\n', "says nothing about 'interface'"),
        ('name = "p"\nversion = "1"\n[interface]\ninputs = []\n', "0 inputs; a slot takes 1 to 2"),
        ("name =", "kernel.toml: Invalid"),
    ):
        path.write_text(text)
        with pytest.raises(KernelError, match=why):
            Kernel.described(path)
    with pytest.raises(KernelError, match="there is no kernel metadata"):
        Kernel.described(tmp_path / "no.toml")
