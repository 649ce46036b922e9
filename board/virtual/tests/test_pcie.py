# SPDX-License-Identifier: BSD-3-Clause
"""The board as a PCIe function, with the real chip behind it: XDMA's list channels, the controller memory buffer,
interrupts, resets, visitors that go, and random accesses."""

from __future__ import annotations

import os
import random
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import assasin_contract as contract
import pytest
from test_board import BOARD, Running
from visitor import (
    ASQ,
    BAR0,
    BAR2,
    BAR_READ,
    BAR_WRITE,
    CAP,
    CC,
    CFG_COMMAND,
    CFG_MSIX,
    CFG_PCIE,
    CMB,
    CMBLOC,
    CMBMSC,
    CMBSZ,
    CSTS,
    MEMORY_BUS,
    MSIX_TABLE,
    Nvme,
    Visitor,
)

pytestmark = pytest.mark.skipif(not BOARD.exists(), reason="needs scripts/build AssasinSb2x2: build/board is empty")

RUN, STOPPED, COMPLETED, MAGIC, READ, LIST = 1, 1 << 1, 1 << 2, 1 << 4, 0x1F << 9, 0x1F << 19
DRIVER = RUN | STOPPED | COMPLETED | MAGIC | READ | LIST
WRITEBACK = 1 << 26
WRITE_ERRORS = 0x1F << 14
SPARE_DRAM = 0xF0000000  # nobody else's


@pytest.fixture(scope="module", params=["prompt", "pauses"])
def board(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Running]:
    """A board for all tests here, visitors come and go; then one whose host takes its time on the chip's AXI4 port."""
    waits = ("--host-pauses", str(random.SystemRandom().getrandbits(32))) if request.param == "pauses" else ()
    print(*waits)
    running = Running(tmp_path_factory.mktemp("p"), "--format", *waits)
    yield running
    assert running.stop() == 0
    Running.started.remove(running.process)


def start_list(v: Visitor, to_host: bool, items: list[tuple[int, int, int]], control: int = DRIVER) -> None:
    """Starts a list of (offset in the visitor's memory, device address, bytes)."""
    at = 0x20000
    for i, (host, device, size) in enumerate(items):
        last = i + 1 == len(items)
        source, target = (device, MEMORY_BUS + host) if to_host else (MEMORY_BUS + host, device)
        following = 0 if last else MEMORY_BUS + at + 32 * (i + 1)
        adjacent = 0 if last else len(items) - i - 2
        word = 0xAD4B0000 | adjacent << 8 | (3 if last else 0)
        v.memory[at + 32 * i : at + 32 * i + 32] = struct.pack("<IIQQQ", word, size, source, target, following)
    base = BAR2 + 0x1000 * to_host
    v.write(base + 0x4080, MEMORY_BUS + at & 0xFFFFFFFF)
    v.write(base + 0x4084, MEMORY_BUS >> 32)
    v.write(base + 0x4088, len(items) - 1)
    v.write(base + 0x0004, 0)  # a stop descriptor leaves Run set; only its rise starts a list
    v.write(base + 0x0004, control)


def test_lists_reach_device_memory_at_any_alignment(board: Running) -> None:
    generator = random.Random(11)
    with Visitor(board.door) as v:
        data = generator.randbytes(40000)
        v.memory[0x100001 : 0x100001 + len(data)] = data
        pieces, done = [], 0
        while done < len(data):
            size = min(generator.choice([1, 2, 3, 7, 64, 4095, 4097, 9000]), len(data) - done)
            pieces.append((done, size))
            done += size
        start_list(v, False, [(0x100001 + o, SPARE_DRAM + 3 + o, n) for o, n in pieces])
        v.wait(BAR2 + 0x40, 1, 0)
        assert v.read(BAR2 + 0x44) == STOPPED | COMPLETED
        assert v.read(BAR2 + 0x48) == len(pieces)
        start_list(v, True, [(0x200005 + o, SPARE_DRAM + 3 + o, n) for o, n in pieces])
        v.wait(BAR2 + 0x1040, 1, 0)
        assert v.read(BAR2 + 0x1044) == STOPPED | COMPLETED
        assert v.memory[0x200005 : 0x200005 + len(data)] == data
        # the firmware memory, and a hole in the device's map
        start_list(v, True, [(0x300000, 1, 4001)])
        v.wait(BAR2 + 0x1040, 1, 0)
        assert any(v.memory[0x300000 : 0x300000 + 4001])
        start_list(v, True, [(0, SPARE_DRAM, 8), (0, 0x40000000, 8)])
        v.wait(BAR2 + 0x1040, 1, 0)
        assert v.read(BAR2 + 0x1044) == 1 << 9
        assert v.read(BAR2 + 0x1048) == 1


def test_lists_do_not_reach_the_firmware(board: Running) -> None:
    """The XDMA driver's own test writes from device address 0 on, which is the firmware's code."""
    with Visitor(board.door) as v:
        start_list(v, True, [(0x100000, 0, contract.TCM_SIZE)])
        v.wait(BAR2 + 0x1040, 1, 0)
        code = v.memory[0x100000 : 0x100000 + 0x10000]
        v.memory[0x200000 : 0x200000 + contract.TCM_SIZE] = random.Random(12).randbytes(contract.TCM_SIZE)
        for device, size in [(0, 0x10000), (0, 1), (0x1001, 4096), (contract.TCM_SIZE - 4096, 4096)]:
            start_list(v, False, [(0x200000, device, size)], DRIVER | WRITE_ERRORS)
            v.wait(BAR2 + 0x40, 1, 0)
            assert v.read(BAR2 + 0x44) & WRITE_ERRORS
        start_list(v, True, [(0x100000, 0, 0x10000)])
        v.wait(BAR2 + 0x1040, 1, 0)
        assert v.memory[0x100000 : 0x100000 + 0x10000] == code
        nvme = Nvme(v)
        assert nvme.admin(6, 0, MEMORY_BUS + 0x40000, (1,))[1] == 0
        assert any(v.memory[0x40000:0x41000])


def test_list_channels_signal_by_message_and_write_back(board: Running) -> None:
    with Visitor(board.door) as v:
        v.config_write(CFG_MSIX + 2, 0x8000, 2)
        for vector in range(4):
            v.write(BAR2 + MSIX_TABLE + 16 * vector, MEMORY_BUS + 0x10000 + 4 * vector, 8)
            v.write(BAR2 + MSIX_TABLE + 16 * vector + 8, 1000 + vector)
            v.write(BAR2 + MSIX_TABLE + 16 * vector + 12, 0)
        v.write(BAR2 + 0x20A0, 0x03020100)
        v.write(BAR2 + 0x2014, 0xF)
        v.write(BAR2 + 0x1090, STOPPED | COMPLETED)
        start_list(v, True, [(0, SPARE_DRAM, 4096)])
        deadline = time.monotonic() + 30
        while struct.unpack("<4I", v.memory[0x10000:0x10010]) != (0, 0, 1002, 0):
            assert time.monotonic() < deadline
        v.write(BAR2 + 0x88, MEMORY_BUS + 0x11000 & 0xFFFFFFFF)
        v.write(BAR2 + 0x8C, MEMORY_BUS >> 32)
        start_list(v, False, [(0, SPARE_DRAM, 4096)] * 5, RUN | WRITEBACK)
        while struct.unpack("<I", v.memory[0x11000:0x11004])[0] != 5:
            assert time.monotonic() < deadline


def test_queues_in_the_controller_memory_buffer(board: Running) -> None:
    with Visitor(board.door) as v:
        assert v.read(BAR0 + CAP + 4) >> 25 & 1
        v.write(BAR0 + CMBMSC, 1)
        assert v.read(BAR0 + CMBLOC) == CMB
        assert v.read(BAR0 + CMBSZ) == 512 << 12 | 1
        v.write(BAR0 + CMBMSC, BAR0 + CMB | 3, 8)
        nvme = Nvme(v)
        place = 0x1000
        assert nvme.admin(5, 0, MEMORY_BUS + 0x3000, (7 << 16 | 1, 1))[1] == 0
        assert nvme.admin(1, 0, BAR0 + CMB + place, (7 << 16 | 1, 1 << 16 | 1))[1] == 0
        nvme.tails[1], nvme.heads[1], nvme.entries[1] = 0, (0, 1), 8
        page = random.Random(5).randbytes(4096)
        for round_ in range(20):  # the queue wraps
            v.memory[0x40000:0x41000] = page if round_ == 0 else bytes(4096)
            entry = nvme.entry(1 if round_ == 0 else 2, 1, MEMORY_BUS + 0x40000, (3, 0, 0))
            at = BAR0 + CMB + place + 64 * nvme.tails[1]
            sizes = (8, 4, 2, 1)
            size = sizes[round_ % 4]
            for i in range(0, 64, size):
                v.write(at + i, int.from_bytes(entry[i : i + size], "little"), size)
            assert v.read(at, 8) == int.from_bytes(entry[:8], "little")
            nvme.ring(1)
            assert nvme.finish(1)[1] == 0
            assert v.memory[0x40000:0x41000] == page
    with Visitor(board.door) as v:
        assert v.read(BAR0 + CMBMSC) == 0, "the next host places it anew"


def test_intx_is_pending_until_the_queue_is_taken(board: Running) -> None:
    with Visitor(board.door) as v:
        nvme = Nvme(v)
        at = 64 * nvme.tails[0]
        v.memory[at : at + 64] = nvme.entry(6, 0, MEMORY_BUS + 0x40000, (1,))
        nvme.ring(0)
        deadline = time.monotonic() + 30
        while not v.config_read(0x06, 2) & 8:
            assert time.monotonic() < deadline, "PCI status shows no interrupt"
        assert nvme.finish(0)[1] == 0
        while v.config_read(0x06, 2) & 8:
            assert time.monotonic() < deadline, "the interrupt stays"


def test_function_level_reset_during_io(board: Running) -> None:
    with Visitor(board.door) as v:
        for _ in range(3):
            nvme = Nvme(v)
            for _ in range(8):
                at = 64 * nvme.tails[0]
                v.memory[at : at + 64] = nvme.entry(6, 0, MEMORY_BUS + 0x40000, (1,))
                nvme.ring(0)
            start_list(v, True, [(0x100000, SPARE_DRAM, 1 << 20)])
            v.config_write(CFG_PCIE + 8, 0xA810, 2)
            assert v.config_read(CFG_COMMAND, 2) == 0
            assert v.read(BAR0 + CC) == (1 << 64) - 1, "no BAR decodes after a reset"
            v.place()
            assert v.read(BAR0 + CC) == 0
            assert v.read(BAR2 + 0x1004) == 0
            # A host waits 100 ms after a reset: reads of the device's memory that are on their way still arrive.
            deadline = time.monotonic() + 30
            while v.read(BAR2 + 0x1040) != 0:
                assert time.monotonic() < deadline, "the engine is busy after a reset"
        assert Nvme(v).admin(6, 0, MEMORY_BUS + 0x40000, (1,))[1] == 0


def test_visitors_vanish_during_io_and_the_board_falls_asleep(board: Running) -> None:
    for lists in (False, True):
        with Visitor(board.door) as v:
            nvme = Nvme(v)
            for _ in range(6):
                at = 64 * nvme.tails[0]
                v.memory[at : at + 64] = nvme.entry(6, 0, MEMORY_BUS + 0x40000, (1,))
                nvme.ring(0)
            if lists:
                start_list(v, True, [(0x100000, SPARE_DRAM, 2 << 20)])
    with Visitor(board.door) as v:
        assert Nvme(v).admin(6, 0, MEMORY_BUS + 0x40000, (1,))[1] == 0
    ticks = board_ticks(board)
    deadline = time.monotonic() + 60
    while True:
        time.sleep(1)
        now = board_ticks(board)
        if now - ticks <= 0.05 * os.sysconf("SC_CLK_TCK"):
            return
        ticks = now
        assert time.monotonic() < deadline, "it does not sleep"


def board_ticks(board: Running) -> int:
    fields = Path(f"/proc/{board.process.pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


class Fuzzer:
    """Random accesses of a visitor. CTRL and the firmware's memory are out of its reach: there is no protection of a
    drive against a host that rewrites its firmware."""

    def __init__(self, generator: random.Random) -> None:
        self.random = generator

    def value(self) -> int:
        r = self.random
        return r.choice(
            [r.getrandbits(64), 1 << r.randrange(64), (1 << 64) - 1, r.randrange(16), MEMORY_BUS + r.randrange(1 << 22)]
        )

    def register(self) -> tuple[int, int]:
        """Address and size of an access."""
        r = self.random
        size = r.choice([1, 2, 4, 4, 4, 8])
        bar0 = [r.randrange(0x60), 0x1000 + r.randrange(0x100), r.randrange(0x8000), CMB + r.randrange(CMB)]
        bar2 = [
            r.choice([0x0000, 0x1000]) + r.randrange(0xD4),
            0x2000 + r.randrange(0xB0),
            r.choice([0x4080, 0x5080]) + r.randrange(16),
            0x6000 + r.randrange(0x30),
            0x8000 + r.randrange(0x1000),
        ]
        address = r.choice([BAR0 + r.choice(bar0), BAR2 + r.choice(bar2)])
        return (address if r.randrange(20) == 0 else address - address % size), size

    def step(self, v: Visitor) -> None:
        r = self.random
        kind = r.randrange(100)
        if kind < 55:
            address, size = self.register()
            v.write(address, self.value() & (1 << 8 * size) - 1, size)
        elif kind < 80:
            v.read(*self.register())
        elif kind < 85:
            v.config_write(r.randrange(256), self.value() & 0xFFFFFFFF, r.choice([1, 2, 4]))
        elif kind < 88:
            v.config_read(r.randrange(300), r.choice([1, 2, 4]))
        elif kind < 92:
            v.place()
        elif kind < 95:
            # queues and lists of garbage; the magic of a descriptor is never there
            at = r.randrange(1 << 21)
            v.memory[at : at + 256] = r.randbytes(256).replace(b"\x4b\xad", b"\0\0")
        elif kind < 97:
            v.write(BAR0 + CC, r.choice([0, 0x00460001, 0x00464001, r.getrandbits(32)]))
        elif kind < 98:
            v.share([(MEMORY_BUS, r.choice([1 << 12, 1 << 20, 1 << 22]), v.file)])
        elif kind < 99:
            v.config_write(CFG_PCIE + 8, 0xA810, 2)
        else:
            v.socket.sendall(r.randbytes(r.randrange(1, 40)))
            raise ConnectionError("malformed on purpose")


def test_random_accesses(board: Running) -> None:
    seed = int(os.environ.get("ASSASIN_FUZZ_SEED", "0"), 0) or random.SystemRandom().getrandbits(32)
    seconds = float(os.environ.get("ASSASIN_FUZZ_SECONDS", "20"))
    print(f"ASSASIN_FUZZ_SEED={seed}")
    fuzzer = Fuzzer(random.Random(seed))
    end = time.monotonic() + seconds
    steps = visits = 0
    while time.monotonic() < end:
        with Visitor(board.door) as v:
            visits += 1
            try:
                for _ in range(fuzzer.random.randrange(400)):
                    fuzzer.step(v)
                    steps += 1
                    if time.monotonic() > end:
                        break
            except (TimeoutError, ConnectionError) as e:
                assert not isinstance(e, TimeoutError), f"no answer; seed {seed}, visit {visits}, step {steps}"
        assert board.process.poll() is None, f"seed {seed}, visit {visits}, step {steps}"
    print(f"{steps} accesses, {visits} visits")
    with Visitor(board.door) as v:
        assert v.read(BAR0 + CSTS) & 1 == 0
        assert Nvme(v).admin(6, 0, MEMORY_BUS + 0x40000, (1,))[1] == 0
        assert v.memory[0x40000:0x40002] == b"\xee\x10"
        with pytest.raises(ConnectionError):
            v.call(BAR_READ if seed % 2 else BAR_WRITE, b"short")


def test_bar0_of_32_bits_takes_one_word_an_access(tmp_path: Path) -> None:
    """As through the XDMA IP's AXI4-Lite master: of an entry copied by eight bytes at a time every other word is lost."""
    running = Running(tmp_path, "--format", "--bar0-bits", "32")
    with Visitor(running.door) as v:
        at = BAR0 + CMB + 0x1000
        for word in range(16):
            v.write(at + 4 * word, 0x11111111 * (word % 8 + 1))
        v.write(at, 0xAAAAAAAABBBBBBBB, 8)
        assert [v.read(at + 4 * word) for word in range(3)] == [0xBBBBBBBB, 0x22222222, 0x33333333]
        assert v.read(at, 8) == 0xFFFFFFFFBBBBBBBB
        v.write(BAR0 + ASQ, MEMORY_BUS & 0xFFFFFFFF)
        v.write(BAR0 + ASQ + 4, MEMORY_BUS >> 32)
        assert v.read(BAR0 + ASQ) | v.read(BAR0 + ASQ + 4) << 32 == MEMORY_BUS
    assert running.stop() == 0
    Running.started.remove(running.process)
