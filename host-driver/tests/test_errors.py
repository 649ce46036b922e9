# SPDX-License-Identifier: BSD-3-Clause
"""libassasin when the other side disappears, keeps silent or talks nonsense."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from assasin.drive import Command, Drive, DriveError, Extent, Input
from assasin.job import Job, Node, chain
from assasin.tree import contract
from fake_board import FakeBoard, Reply


@pytest.fixture
def board(tmp_path: Path) -> Iterator[FakeBoard]:
    b = FakeBoard(tmp_path / "door")
    yield b
    b.close()


def connect(board: FakeBoard, **options: float) -> Drive:
    return Drive(f"virtual:{board.path}", **options)


def refused(code: int, what: str, call: object, *args: object) -> DriveError:
    with pytest.raises(DriveError, match=what) as e:
        call(*args)
    assert e.value.name == errno.errorcode[code], e.value
    return e.value


def test_nobody_at_the_door(tmp_path: Path) -> None:
    refused(errno.ENOENT, "assasin flash virtual", Drive, f"virtual:{tmp_path}/none")


def test_a_socket_path_that_is_too_long(tmp_path: Path) -> None:
    refused(errno.EINVAL, "characters", Drive, f"virtual:{tmp_path}/{'x' * 120}")


@pytest.mark.parametrize("address", ["usb:1", "", "virtual:", "kernel:", "ioctl:", "vfio:"])
def test_an_address_that_names_no_drive(address: str) -> None:
    refused(errno.EINVAL, "virtual:PATH", Drive, address)


def test_devices_that_are_no_drive(tmp_path: Path) -> None:
    refused(errno.ENOENT, "no PCI function", Drive, "vfio:0000:ff:1f.7")
    for scheme in ("kernel", "ioctl"):
        refused(errno.ENOENT, "nothing", Drive, f"{scheme}:{tmp_path}/nothing")
        refused(errno.EINVAL, "not a namespace", Drive, f"{scheme}:/dev/null")


@pytest.mark.parametrize("options", [{"queue_depth": 1}, {"memory_bytes": 5000}, {"memory_bytes": 4096}])
def test_options_out_of_range(board: FakeBoard, options: dict[str, int]) -> None:
    refused(errno.EINVAL, "out of range", lambda: connect(board, **options))


def test_another_visitor_is_there(board: FakeBoard) -> None:
    board.hang_up_at_once = True
    refused(errno.EBUSY, "another visitor", connect, board)


def test_another_pci_function(board: FakeBoard) -> None:
    board.device_id = 0x00108086
    refused(errno.ENXIO, "8086:0010.*not an ASSASIN drive", connect, board)


def test_a_server_that_speaks_something_else(board: FakeBoard) -> None:
    board.garbage = True
    refused(errno.EPROTO, "remote-PCI", connect, board)


def test_replies_in_single_bytes(board: FakeBoard) -> None:
    board.dribble = True
    drive = connect(board)
    assert drive.register(0x801C) == 0x02040202
    drive.close()


def test_a_closed_drive_says_so(board: FakeBoard) -> None:
    drive = connect(board)
    drive.close()
    drive.close()
    drive.abandon()
    arguments: dict[str, tuple[object, ...]] = {
        "register": (0,),
        "set_register": (0, 0),
        "clock": (),
        "dma": (4096,),
        "execute": (0, Command.of(6)),
        "submit": (Command.of(6), 0, 0, None, 0),
        "wait": (),
        "raw": (0, Command.of(6)),
        "read": (0, 4096),
        "write": (0, b"x"),
        "compare": (0, b"x"),
        "trim": ([Extent(0, 1)],),
        "write_zeroes": (0, 1),
        "flush": (),
        "identify": (1,),
        "log_page": (2, 512),
        "perf": (),
        "media": (),
        "nand_block": (0, 0),
        "slots": (),
        "load": (b"x",),
        "unload": (0,),
        "session": (),
        "sessions": (),
        "limit": (0, None),
        "end_session": (1,),
        "function": (b"x",),
        "arch": (),
        "variant": (),
        "run": (0, [[Input([Extent(0, 1)], 1)]]),
        "run_job": (Job(0, [[Input([Extent(0, 1)], 1)]]),),
        "start": (Job(0, [[Input([Extent(0, 1)], 1)]]),),
        "run_async": (Job(0, [[Input([Extent(0, 1)], 1)]]),),
        "event_fd": (),
        "poll": (),
    }
    methods = {n for n in vars(Drive) if not n.startswith("_")} - {"close", "abandon"}
    assert methods == set(arguments), "a method that this test does not call"
    for name, values in arguments.items():

        def call(name: str = name, values: tuple[object, ...] = values) -> None:
            result = getattr(drive, name)(*values)
            if asyncio.iscoroutine(result):
                result = asyncio.run(result)
            with result if hasattr(result, "__enter__") else nullcontext():
                pass

        refused(errno.EBADF, "the drive is closed", call)


def test_a_server_that_says_nothing(board: FakeBoard) -> None:
    board.mute = True
    refused(errno.ETIMEDOUT, "did not answer a configuration access within 1 s", lambda: connect(board, stall_s=1))


def test_a_controller_that_never_gets_ready(board: FakeBoard) -> None:
    board.never_ready = True
    board.clock_runs = False
    refused(errno.ETIMEDOUT, "CSTS.RDY = 1.*stood still", lambda: connect(board, stall_s=1))


def test_a_controller_that_works_for_ever(board: FakeBoard) -> None:
    board.never_ready = True
    refused(errno.ETIMEDOUT, "CSTS.RDY = 1.*not done after 2 s", lambda: connect(board, limit_s=2))


def test_a_fatal_controller(board: FakeBoard) -> None:
    board.fatal = True
    refused(errno.EIO, "fatal", connect, board)


def test_a_trapped_firmware_is_reported_with_its_pc(board: FakeBoard) -> None:
    drive = connect(board)
    board.on_command = lambda qid, dw: None
    board.fw_state = 2 | 5 << 8
    refused(errno.EIO, "flush: .*trap, cause 5 at PC 0x1234", drive.flush)
    refused(errno.EIO, "trap", drive.flush)


def test_the_board_dies_while_a_command_is_in_flight(board: FakeBoard) -> None:
    drive = connect(board)
    board.on_command = lambda qid, dw: None
    threading.Timer(0.3, board.die).start()
    start = time.monotonic()
    refused(errno.ENODEV, "process has ended", drive.flush)
    assert time.monotonic() - start < 5
    refused(errno.ENODEV, "process has ended", drive.read, 0, 4096)
    refused(errno.ENODEV, "not shut down cleanly", drive.close)


def test_a_command_that_is_lost(board: FakeBoard) -> None:
    drive = connect(board, stall_s=1)
    board.on_command = lambda qid, dw: None
    board.clock_runs = False
    refused(errno.ETIMEDOUT, "flush: no answer.*stood still", drive.flush)


def test_completions_for_commands_that_are_not_in_flight_are_ignored(board: FakeBoard) -> None:
    drive = connect(board)

    def answer(qid: int, dw: tuple[int, ...]) -> Reply:
        board.complete(1, 77, 6)
        board.complete(1, 60000, 6)
        return 0, 0

    board.on_command = answer
    drive.flush()
    drive.close()


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (0x080, errno.ERANGE, "LBA out of range"),
        (0x081, errno.ENOSPC, "full"),
        (0x013, errno.EINVAL, "PRP"),
        (0x001, errno.EINVAL, "opcode"),
        (0x281, errno.EIO, "unrecovered read error"),
        (0x3FF, errno.EIO, "unknown status"),
    ],
)
def test_nvme_errors_have_words_and_errno(board: FakeBoard, status: int, code: int, words: str) -> None:
    drive = connect(board)
    board.on_command = lambda qid, dw: (status, 0)
    e = refused(code, f"reading blocks 8..8: .*{words}", drive.read, 8, 4096)
    assert e.status == status
    board.on_command = lambda qid, dw: (0, 0)
    drive.flush()


def test_many_commands_are_in_flight(board: FakeBoard) -> None:
    drive = connect(board)
    waiting: list[tuple[int, ...]] = []

    def answer(qid: int, dw: tuple[int, ...]) -> None:
        waiting.append(dw)
        if len(waiting) == 64:
            for w in reversed(waiting):
                board.prp_store(w, b"".join(struct.pack("<Q", w[10] + i).ljust(4096, b".") for i in range(w[12] + 1)))
                board.complete(1, w[0] >> 16, 0)

    board.on_command = answer
    data = drive.read(16, 64 * 32768)
    assert [struct.unpack_from("<Q", data, i)[0] for i in range(0, len(data), 4096)] == list(range(16, 16 + 512))
    drive.close()


def test_a_transfer_of_half_a_block_is_refused(board: FakeBoard) -> None:
    drive = connect(board)
    refused(errno.EINVAL, "multiple of the block", drive.write, 0, b"")


def test_too_much_data_in_one_command(board: FakeBoard) -> None:
    drive = connect(board)
    refused(errno.EMSGSIZE, "at most 131072", lambda: drive.execute(1, Command.of(2, 1), bytearray(131072 + 4)))
    refused(errno.ENOMEM, "DMA memory", lambda: drive.execute(1, Command.of(2, 1), bytearray(1 << 27)))


def test_an_elf_refusal_names_the_reason(board: FakeBoard) -> None:
    drive = connect(board)
    board.on_command = lambda qid, dw: (0x1C1, contract.SCOMP_ELF_ERROR_NO_ENTRY)
    refused(errno.EINVAL, "refuses the ELF file: its entry point", drive.load, b"\x7fELF")


def chunk(
    piece: int, data: bytes = b"", stream: int = 0, position: int = 0, last: bool = False, magic: int = contract.SCOMP_CHUNK_MAGIC
) -> bytes:
    if last and not data:
        data = struct.pack("<II15Q", 0, 0, 0, *([0] * 14))
    head = struct.pack("<IIBBHIQ", magic, piece, stream, int(last), 0, len(data), position).ljust(64, b"\0")
    return head + data + bytes(-len(data) % 64)


JOB = [[Input([Extent(0, 1)], 4096)]]


def job_that_sends(board: FakeBoard, *reads: bytes, exec_reply: Reply = (0, 0)) -> None:
    """Lets the board answer IO_READ with these buffers, the last one marked so, and then IO_EXEC."""
    left = list(reads)
    execs: list[int] = []

    def answer(qid: int, dw: tuple[int, ...]) -> Reply | None:
        opcode = dw[0] & 0xFF
        if opcode == contract.SCOMP_OPCODE_IO_EXEC:
            execs.append(dw[0] >> 16)
            return None
        if opcode == contract.SCOMP_OPCODE_IO_READ:
            if not left:
                return 0x1C3, 0
            data = left.pop(0)
            board.prp_store(dw, data)
            if not left:
                board.complete(1, execs[0], *exec_reply)
            return 0, len(data) | (0 if left else 1 << 31)
        board.complete(1, execs[0], *exec_reply)
        return 0, 0

    board.on_command = answer


def test_output_arrives_in_order_over_several_reads(board: FakeBoard) -> None:
    drive = connect(board)
    body = struct.pack("<II15Q", 3, 0, 4096, 100, *([7] * 13))
    job_that_sends(board, chunk(0, b"a" * 70), chunk(0, b"b" * 30, position=70) + chunk(0, body, last=True))
    (piece,) = drive.run(0, JOB)
    assert piece.ok
    assert piece.outputs == [b"a" * 70 + b"b" * 30]
    assert (piece.report.core, piece.report.bytes_in, piece.report.bytes_out) == (3, 4096, 100)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (chunk(0, b"x", magic=0), "magic 00000000"),
        (chunk(1, b"x"), "piece 1 of a job of 1"),
        (chunk(0, b"x", stream=1), "output stream 1 of a job that has 1"),
        (chunk(0, b"x", position=8), "continues at byte 8, expected 0"),
        (chunk(0, b"x" * 100)[:128], "chunk of 100 bytes in a buffer that holds 64"),
        (chunk(0, b"x")[:40], "40 bytes where a chunk was due"),
        (chunk(0, b"short report", last=True), "report of 12 bytes"),
        (chunk(0, last=True) + chunk(0, b"x"), "after its end"),
        (chunk(0, b"x") + chunk(0, last=True), "produced 0 bytes, but 1 arrived"),
        (chunk(0, b"x"), "0 of 1 ended"),
    ],
)
def test_output_that_contradicts_itself(board: FakeBoard, sent: bytes, words: str) -> None:
    drive = connect(board)
    job_that_sends(board, sent)
    refused(errno.EPROTO, words, drive.run, 0, JOB)
    board.on_command = lambda qid, dw: (0, 0)
    drive.flush()


def test_a_refused_request_names_the_field(board: FakeBoard) -> None:
    drive = connect(board)
    board.on_command = lambda qid, dw: (0x1C2, 9) if dw[0] & 0xFF == contract.SCOMP_OPCODE_IO_EXEC else (0x1C3, 0)
    refused(errno.EINVAL, "byte 9: number of output streams", drive.run, 0, JOB)


def test_a_drive_that_forgets_to_say_which_output_was_the_last(board: FakeBoard) -> None:
    drive = connect(board)
    board.on_command = lambda qid, dw: (0x1C3, 0) if dw[0] & 0xFF == contract.SCOMP_OPCODE_IO_READ else (0, 0)
    refused(errno.EPROTO, "the last", drive.run, 0, JOB)


def test_a_request_that_one_command_cannot_carry(board: FakeBoard) -> None:
    drive = connect(board)
    extents = [Extent(i, 1) for i in range(9000)]
    refused(errno.EMSGSIZE, "fewer pieces or extents", drive.run, 0, [[Input(extents, 9000 * 4096)]])
    refused(errno.EINVAL, "1..1024 pieces, not 1025", drive.run, 0, JOB * 1025)
    refused(errno.EINVAL, "1..1024 pieces, not 0", drive.run, 0, [])


class Feeding:
    """A drive that takes fed streams: it keeps at most one feed a stream, knows the job only after a few tries, and ends."""

    def __init__(self, board: FakeBoard, lengths: list[int], tries: int = 2) -> None:
        self.board, self.lengths, self.tries = board, lengths, tries
        self.taken = [b"" for _ in lengths]
        self.most_waiting = 0
        self.waiting: list[tuple[int, ...]] = []
        self.reads: list[int] = []
        self.exec = -1
        self.stop_at = -1
        board.on_command = self.answer

    def answer(self, qid: int, dw: tuple[int, ...]) -> Reply | None:
        opcode = dw[0] & 0xFF
        if opcode == contract.SCOMP_OPCODE_IO_EXEC:
            self.exec = dw[0] >> 16
            return None
        if opcode == contract.SCOMP_OPCODE_IO_READ:
            if self.exec < 0:
                return 0x1C3, 0
            self.reads.append(dw[0] >> 16)
            self.read = dw
            return None
        assert opcode == contract.SCOMP_OPCODE_IO_FEED
        self.tries -= 1
        if self.tries >= 0:
            return 0x1C3, 0
        self.waiting.append(dw)
        self.most_waiting = max(self.most_waiting, len(self.waiting))
        stream = dw[11] >> 16
        data = self.board.prp_load(dw, dw[12])
        if stream == self.stop_at:
            self.board.complete(1, dw[0] >> 16, 0, 0)
        else:
            self.taken[stream] += data
            self.board.complete(1, dw[0] >> 16, 0, dw[12])
        if all(i == self.stop_at or len(t) == n for i, (t, n) in enumerate(zip(self.taken, self.lengths, strict=True))):
            report = chunk(0, struct.pack("<II15Q", 0, 0, sum(self.lengths), 0, *([0] * 13)), last=True)
            self.board.prp_store(self.read, report)
            self.board.complete(1, self.read[0] >> 16, 0, len(report) | 1 << 31)
            for cid in self.reads[:-1]:
                self.board.complete(1, cid, 0x1C3)
            self.board.complete(1, self.exec, 0, 0)
        return None


def test_streams_from_the_host_arrive_whole_and_in_order(board: FakeBoard) -> None:
    drive = connect(board)
    data = [bytes(range(256)) * 1000 + b"end", b"", b"x" * 32768, b"y" * 5]
    feeding = Feeding(board, [len(d) for d in data])
    (piece,) = drive.run(0, [[Input.of(d) for d in data]])
    assert piece.ok
    assert feeding.taken == data


def test_a_piece_that_ends_early_takes_no_more_input(board: FakeBoard) -> None:
    drive = connect(board)
    feeding = Feeding(board, [1 << 20, 300], tries=0)
    feeding.stop_at = 0
    (piece,) = drive.run(0, [[Input.of(bytes(1 << 20)), Input.of(bytes(300))]])
    assert piece.ok
    assert feeding.taken == [b"", bytes(300)]


def test_a_refused_feed_says_why(board: FakeBoard) -> None:
    drive = connect(board)
    waiting: list[int] = []

    def answer(qid: int, dw: tuple[int, ...]) -> Reply | None:
        if dw[0] & 0xFF == contract.SCOMP_OPCODE_IO_FEED:
            return 0x1C6, contract.SCOMP_FEED_ERROR_LENGTH
        if dw[0] & 0xFF == contract.SCOMP_OPCODE_IO_ABORT:
            for cid in waiting:
                board.complete(1, cid, 0x007)
            return 0, 0
        waiting.append(dw[0] >> 16)
        return None

    board.on_command = answer
    e = refused(errno.EINVAL, "does not fit the job: more bytes than the stream still takes", drive.run, 0, [[Input.of(b"abc")]])
    assert e.status == 0x1C6


def test_a_refusal_names_the_place_in_the_request(board: FakeBoard) -> None:
    drive = connect(board)
    at = 64 + 16 + 8

    def refuse(status: int, where: int) -> None:
        board.on_command = lambda qid, dw: ((status, where) if dw[0] & 0xFF == contract.SCOMP_OPCODE_IO_EXEC else (0x1C3, 0))

    job = Job(chain(Node(0)), JOB)
    refuse(0x1C0, 64)
    refused(errno.EBADF, "byte 64: node 0: its function", drive.run_job, job)
    refuse(0x1C2, at - 4)
    refused(errno.EINVAL, "edge 1: it names a stream", drive.run_job, job)
    refuse(0x080, at + 16)
    refused(errno.ERANGE, "LBA out of range, byte 104: extent 0", drive.run_job, job)


def test_jobs_that_make_no_sense_are_refused_before_they_are_sent(board: FakeBoard) -> None:
    drive = connect(board)
    sent = [command for command in board.commands if command[0] != 0]
    refused(errno.EINVAL, "3 nodes needs as many cores, this drive has 2", drive.run_job, Job(chain(*[Node(0)] * 3), JOB))
    refused(errno.EINVAL, "at most 8 nodes, not 9", drive.run_job, Job(chain(*[Node(0)] * 9), JOB))
    refused(errno.EINVAL, "3 bytes, but neither extents nor data", drive.run, 0, [[Input([], 3)]])
    twice = [[[Extent(7, 2), Extent(8, 1)]]]
    refused(errno.EEXIST, "output stream 0 of piece 0 overlap at block 8", drive.run_job, Job(0, JOB, twice))
    with pytest.raises(ValueError, match="piece 1 has 2 input streams, piece 0 has 1"):
        Job(0, [JOB[0], JOB[0] * 2])
    with pytest.raises(ValueError, match="inputs of 1 pieces, but outputs of 2"):
        Job(0, JOB, [[None], [None]])
    # How many slots the drive has is asked on the admin queue.
    assert [command for command in board.commands if command[0] != 0] == sent


def test_closing_shuts_the_controller_down(board: FakeBoard) -> None:
    connect(board).close()
    assert board._regs[0x14] >> 14 & 3 == 1


def test_the_caller_can_look_at_the_drive_while_a_job_runs(board: FakeBoard) -> None:
    drive = connect(board)
    done = chunk(0, struct.pack("<II15Q", 0, 0, 0, 0, *([0] * 13)), last=True)
    flushes: list[int] = []
    waiting: list[tuple[int, ...]] = []

    def answer(qid: int, dw: tuple[int, ...]) -> Reply | None:
        if dw[0] & 0xFF == 0:
            flushes.append(dw[0] >> 16)
            if len(flushes) == 3:
                read = next(w for w in waiting if w[0] & 0xFF == contract.SCOMP_OPCODE_IO_READ)
                board.prp_store(read, done)
                for w in waiting:
                    ok = w[0] & 0xFF == contract.SCOMP_OPCODE_IO_EXEC or w is read
                    board.complete(1, w[0] >> 16, 0 if ok else 0x1C3, len(done) | 1 << 31 if w is read else 0)
            return 0, 0
        waiting.append(dw)
        return None

    board.on_command = answer
    (piece,) = drive.run(0, JOB, tick=drive.flush)
    assert piece.ok
    assert len(flushes) == 3


def ends_only_by_abort(board: FakeBoard) -> list[int]:
    """A board whose jobs end when they are aborted and not before; the commands of those that run."""
    execs: list[int] = []

    def answer(qid: int, dw: tuple[int, ...]) -> Reply | None:
        opcode = dw[0] & 0xFF
        if opcode == contract.SCOMP_OPCODE_IO_ABORT:
            for cid in execs:
                board.complete(1, cid, 0x007)
            execs.clear()
            return 0, 0
        if opcode in (contract.SCOMP_OPCODE_IO_EXEC, contract.SCOMP_OPCODE_IO_READ):
            execs.append(dw[0] >> 16)
            return None
        return 0, 0

    board.on_command = answer
    return execs


def test_an_exception_while_a_job_runs_aborts_it(board: FakeBoard) -> None:
    drive = connect(board)
    execs = ends_only_by_abort(board)

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drive.run(0, JOB, tick=interrupt)
    assert not execs
    drive.flush()


# ---- interrupts ----


def interrupted(words: str, call: Callable[..., object], *args: object, after: float | None = 0.3) -> None:
    """Ctrl-C (None: `call` causes it itself) while `call` waits in C for what does not come: it ends soon, and says so."""
    if after is not None:
        threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as e:
        call(*args)
    assert time.monotonic() - start < 3
    assert words in "; ".join(getattr(e.value, "__notes__", [])), e.value


def test_ctrl_c_while_a_command_is_lost(board: FakeBoard) -> None:
    drive = connect(board)
    board.on_command = lambda qid, dw: None
    interrupted("flush: interrupted", drive.flush)
    refused(errno.EINTR, "interrupted", drive.flush)
    drive.abandon()
    assert board._regs[0x14] & 1 == 0, "the controller is reset"


def test_ctrl_c_while_connecting(board: FakeBoard) -> None:
    board.never_ready = True
    interrupted("", connect, board)
    board.never_ready = False
    connect(board).close()


def test_ctrl_c_while_a_register_access_is_not_answered(board: FakeBoard) -> None:
    drive = connect(board)
    board.mute = True
    interrupted("interrupted in a register", drive.flush)
    drive.abandon()


def test_ctrl_c_stops_a_write_and_says_what_is_written(board: FakeBoard) -> None:
    drive = connect(board)
    board.on_command = lambda qid, dw: (0, 0) if dw[10] < 24 else None
    interrupted("blocks 0..23 are written, blocks 24..535 may be", drive.write, 0, bytes(4096 * 4096))
    drive.abandon()


def test_ctrl_c_when_nothing_is_left_in_flight_keeps_the_drive(board: FakeBoard) -> None:
    drive = connect(board)

    def answer(qid: int, dw: tuple[int, ...]) -> Reply | None:
        if dw[10] == 8:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)
        return 0, 0

    board.on_command = answer
    interrupted("are written, the others hold what they held", drive.write, 0, bytes(4096 * 4096), after=None)
    drive.flush()
    drive.close()


def test_ctrl_c_aborts_a_job(board: FakeBoard) -> None:
    drive = connect(board)
    execs = ends_only_by_abort(board)
    interrupted("running a job, which is aborted", drive.run, 0, JOB)
    assert not execs
    drive.flush()
    drive.close()


def test_what_progress_raises_stops_a_transfer(board: FakeBoard) -> None:
    class Enough(Exception):
        pass

    def progress(done: int, total: int) -> None:
        raise Enough

    drive = connect(board)
    for call in (lambda: drive.read(0, 1 << 24, progress), lambda: drive.write(0, bytes(1 << 24), progress)):
        board.commands.clear()
        with pytest.raises(Enough):
            call()
        assert len(board.commands) <= 64
    drive.flush()
