# SPDX-License-Identifier: BSD-3-Clause
"""Loader, debugger and profiler on the real board at 2x2, beside a host that uses the drive, and with its firmware dead."""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from assasin import offloads
from assasin.board import Board
from assasin.bringup import dump, loader, profile, rv32
from assasin.bringup.elf import Elf
from assasin.bringup.hart import AccessError, DebugBlock, Hart
from assasin.bringup.link import BringupError, XdmaLink, open_link
from assasin.drive import Drive, Extent, function_image
from assasin.processor import CORE, ROCKET
from assasin.tree import BUILD, ROOT, contract

CONFIG = "AssasinSb2x2"
BLOCK = 4096
FIRMWARE = BUILD / "firmware" / "assasin-fw.elf"
STAT = BUILD / "offload" / "stat.elf"
DRAM = contract.DRAM_BASE + contract.DRAM_SIZE // 2 + 0x10000
SCRATCHPAD = contract.CORE_SPAD_BASE
GDB = "gdb-multiarch"
ASSASIN = (sys.executable, "-m", "assasin")
GDB_SECONDS = 600

on_board = pytest.mark.system(CONFIG)


@pytest.fixture(scope="module")
def board() -> Iterator[Board]:
    b = Board(f"pytest-bringup-{os.getpid()}")
    b.start(CONFIG, "test", format=True)
    yield b
    b.stop()
    b.erase()


@pytest.fixture
def block(board: Board) -> Iterator[DebugBlock]:
    with open_link(f"virtual:{board.name}") as link:
        yield DebugBlock(link)


def command(board: Board, *arguments: str, fails: bool = False) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "assasin", *arguments, "--name", board.name],
        env=os.environ | {"PYTHONPATH": str(ROOT / "host-driver" / "python")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (run.returncode != 0) == fails, run.stderr
    return run.stderr if fails else run.stdout


def serves(board: Board) -> None:
    with Drive(board.address) as drive:
        data = random.Random(1).randbytes(2 * BLOCK)
        drive.write(8, data)
        assert drive.read(8, len(data)) == data
        pieces = offloads.run(drive, "scan", [Extent(8, 2)], len(data))
        assert offloads.scan_result(pieces) == offloads.expected_scan(data)


class Job(threading.Thread):
    """`scan` over a few blocks again and again, in the background, until told to end; `wrong` counts results that are not right."""

    def __init__(self, board: Board) -> None:
        super().__init__()
        self.board = board
        self.over = threading.Event()
        self.runs = self.wrong = 0
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            with Drive(self.board.address) as drive:
                data = random.Random(2).randbytes(8 * BLOCK)
                drive.write(16, data)
                while not self.over.is_set():
                    pieces = offloads.run(drive, "scan", [Extent(16, 8)], len(data))
                    self.runs += 1
                    self.wrong += offloads.scan_result(pieces) != offloads.expected_scan(data)
        except BaseException as e:
            self.problem = e

    def __enter__(self) -> Job:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.join(300)
        assert not self.is_alive()
        assert self.problem is None, self.problem
        assert self.wrong == 0
        assert self.runs > 0


def gdb(board: Board, elf: Path, hart: list[str], commands: list[str], assasin: Sequence[str] = ASSASIN) -> str:
    if shutil.which(GDB) is None:
        pytest.fail(f"{GDB} is missing: scripts/setup installs it")
    server = f"{' '.join(assasin)} gdb --stdio --name {board.name} {' '.join(hart)}"
    script = [
        "set confirm off",
        "set pagination off",
        "set sysroot",
        f"target remote | {server}",
        *commands,
    ]
    run = subprocess.run(
        [GDB, "-q", "-nx", "-batch", *(x for c in script for x in ("-ex", c)), str(elf)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "host-driver" / "python")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=GDB_SECONDS,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout + run.stderr


class TestBoard:
    """Everything that needs a running board."""

    pytestmark = on_board

    def test_memory(self, block: DebugBlock) -> None:
        data = random.Random(3).randbytes(5000)
        for at in (DRAM, DRAM + 1, DRAM + 4094):
            memory = loader.memory_for(block, at, len(data))
            before, after = memory.read(at - 5, 5), memory.read(at + len(data), 5)
            memory.write(at, data)
            assert memory.read(at, len(data)) == data
            assert memory.read(at - 5, 5) == before
            assert memory.read(at + len(data), 5) == after
        assert not block.firmware.asked_to_halt

    def test_registers_by_address(self, block: DebugBlock) -> None:
        memory = loader.memory_for(block, contract.SYS_BASE, 4)
        assert int.from_bytes(memory.read(contract.SYS_BASE + contract.SYS_ID, 4), "little") == 0x41535331

    def test_nothing_there(self, block: DebugBlock) -> None:
        with pytest.raises(AccessError, match="0x70000000"):
            loader.memory_for(block, 0x70000000, 4).read(0x70000000, 4)
        with pytest.raises(BringupError, match="32 bits"):
            loader.memory_for(block, 0xFFFFFFFE, 4).read(0xFFFFFFFE, 4)
        with pytest.raises(BringupError, match="cores 0 to 1"):
            block.hart(2)
        assert not block.firmware.asked_to_halt

    def test_core_memory(self, block: DebugBlock) -> None:
        core = block.hart(1)
        data = random.Random(4).randbytes(1000)
        with core.stopped():
            core.write_memory(SCRATCHPAD + 0x8001, data)
            assert core.read_memory(SCRATCHPAD + 0x8000, 1004)[1:1001] == data
            with pytest.raises(BringupError, match="instruction memory"):
                core.write_memory(0, b"1234")
            with pytest.raises(AccessError, match="core 1"):
                core.read_memory(SCRATCHPAD + contract.CORE_SPAD_SIZE - 2, 4)

    def test_core_registers(self, block: DebugBlock) -> None:
        core = block.hart(0)
        with core.stopped():
            values = [0, *(random.Random(5).getrandbits(32) for _ in range(31))]
            for n, value in enumerate(values):
                core.set_register(n, value)
            assert core.registers() == values
            core.set_pc(0x120)
            assert core.pc == 0x120
            assert core.csr(core.csrs["mhartid"]) == 0
            with pytest.raises(BringupError, match="multiples of 4"):
                core.set_pc(2)

    def test_dump(self, board: Board) -> None:
        found = json.loads(command(board, "bringup", "dump", "--json"))
        values = {f"{v['block']}.{v['register']}": v for v in found["registers"]}
        assert values["SYS.ID"]["value"] == values["CTRL.ID"]["value"] == 0x41535331
        assert values["SYS.CONFIG"]["fields"]["CORES"] == 2
        assert values["CORE1.STATUS"]["fields"]["STATE"] == contract.CORE_STATE_IDLE
        assert {"FLASH0", "FLASH1", "HDMA", "NVME", "DEBUG"} <= {v["block"] for v in found["registers"]}
        assert "CTRL.CONSOLE_TX" not in values
        assert [h["name"] for h in found["harts"]] == ["core 0", "core 1", "the firmware processor"]
        assert found["problem"] is None
        serves(board)

    def test_stepping(self, board: Board) -> None:
        lines = command(board, "bringup", "step", "--count", "8").splitlines()
        assert len(lines) == 8
        for line in lines:
            pc, word, *_ = line.split()
            image = loader.firmware_image(FIRMWARE)
            assert int.from_bytes(image[int(pc, 16) :][:4], "little") == int(word, 16)
        command(board, "bringup", "resume")
        serves(board)

    def test_the_drive_serves_through_halts(self, board: Board, block: DebugBlock) -> None:
        with Job(board) as job:
            r = random.Random(6)
            while job.is_alive() and job.runs < 3:
                hart = r.choice(block.harts)
                with hart.stopped():
                    for _ in range(r.randrange(4)):
                        hart.step()

    def test_profile(self, board: Board, block: DebugBlock) -> None:
        with Job(board) as job:
            while job.is_alive() and job.runs < 1:
                time.sleep(0.05)
            found, cycles = profile.sample(block, block.harts, 3)
        assert cycles > 0
        cores, firmware = found[:2], found[2]
        assert all(p.samples == found[0].samples > 20 for p in found)
        scan = Elf(BUILD / "offload" / "scan.elf")
        names = {name for p in cores for name, _, _ in p.functions(scan)}
        assert "compute" in names
        assert any(p.busy.total() for p in cores)
        assert firmware.asleep < firmware.samples

    def test_gdb_on_a_core(self, board: Board) -> None:
        with Job(board):
            said = gdb(
                board,
                BUILD / "offload" / "scan.elf",
                ["--core", "0"],
                [
                    "break *compute",
                    "continue",
                    "list compute",
                    "backtrace",
                    "info registers pc sp",
                    "x/2i $pc",
                    "stepi",
                    "stepi",
                    "print/x $pc",
                    "print/x *(unsigned char *)($sp - 16)",
                    "print $streamcfg",
                    "delete",
                    "monitor exits on",
                    "monitor status",
                    "continue",
                    "x/i $pc",
                    "detach",
                ],
            )
        assert "Breakpoint 1, compute () at scan.c:" in said
        assert "int compute(void) {" in said
        assert "exited" in said
        assert "ecall" in said

    def test_debug_information_stays_on_the_host(self, board: Board, tmp_path: Path) -> None:
        """An ELF file larger than the drive takes, most of it what a debugger wants to know."""
        elf = (BUILD / "offload" / "sb" / "scan.elf").read_bytes()
        assert len(function_image(elf)) < 4096 < len(elf)
        large = tmp_path / "large.elf"
        large.write_bytes(elf.ljust(contract.SCOMP_MAX_ELF + 1, b"\0"))
        data = random.Random(5).randbytes(BLOCK)
        with Drive(board.address) as drive:
            drive.write(0, data)
            pieces = offloads.run(drive, str(large), [Extent(0, 1)], BLOCK, pieces=1)
        assert offloads.scan_result(pieces) == offloads.expected_scan(data)

    def test_gdb_waits_for_a_server_that_starts_slowly(self, board: Board, slow_assasin: list[str]) -> None:
        """With GDB's own time limit of two seconds, on a machine with nothing to spare."""
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
        try:
            said = gdb(board, FIRMWARE, [], ["backtrace", "print nvme_counters", "detach"], slow_assasin)
        finally:
            for process in busy:
                process.kill()
                process.wait()
        assert "{commands = " in said
        assert "Ignoring packet error" not in said
        serves(board)

    def test_gdb_on_the_firmware(self, board: Board) -> None:
        with Job(board):
            said = gdb(
                board,
                FIRMWARE,
                [],
                [
                    "break nvme_complete",
                    "continue",
                    "backtrace",
                    "continue",
                    "finish",
                    "info registers mcycle",
                    "print nvme_counters",
                    "delete",
                    "detach",
                ],
            )
        assert said.count("Breakpoint 1, nvme_complete") == 2
        assert "firmware_step" in said
        assert "{commands = " in said
        serves(board)

    def test_gdb_leaves_no_trace(self, board: Board, block: DebugBlock) -> None:
        """GDB that goes away with breakpoints set and the hart halted."""
        before = loader.firmware_image(FIRMWARE)[:0x4000]
        gdb(board, FIRMWARE, [], ["break nvme_complete", "hbreak firmware_step", "continue", "kill"])
        deadline = time.monotonic() + 60  # GDB does not wait for the server's end
        while block.read(contract.DEBUG_HALT) and time.monotonic() < deadline:
            time.sleep(0.05)
        with block.firmware.stopped():
            assert block.firmware.read_memory(0, len(before)) == before
        assert all(block.read(contract.DEBUG_BREAK_HARTS + 4 * k) == 0 for k in range(block.breakpoints))
        assert block.read(contract.DEBUG_EBREAK) == block.read(contract.DEBUG_STOPS) == 0
        assert block.read(contract.DEBUG_HALT) == 0
        serves(board)

    def test_breakpoint_registers_run_out(self, block: DebugBlock) -> None:
        core = block.hart(0)
        try:
            for k in range(block.breakpoints):
                core.set_breakpoint(0x100 + 4 * k)
            with pytest.raises(BringupError, match="in use"):
                core.set_breakpoint(0x200)
            core.set_breakpoint(0x100)
        finally:
            core.clear_breakpoint()

    def test_bad_input(self, board: Board, tmp_path: Path) -> None:
        assert "0x70000000" in command(board, "bringup", "read", "0x70000000", "4", fails=True)
        assert "cores 0 to 1" in command(board, "bringup", "regs", "--core", "7", fails=True)
        assert "SYS" in command(board, "bringup", "dump", "--block", "NONE", fails=True)
        assert "mscratch" in command(board, "bringup", "regs", "--set", "x=1", fails=True)
        wrong = tmp_path / "firmware.bin"
        wrong.write_bytes(bytes(contract.TCM_SIZE + 1))
        assert "fit the firmware memory" in command(board, "bringup", "load", str(wrong), fails=True)
        assert "is no firmware" in command(board, "bringup", "load", str(BUILD / "offload" / "aes.elf"), fails=True)
        serves(board)

    def test_dead_firmware(self, board: Board, block: DebugBlock) -> None:
        """A firmware that has trapped is looked into and replaced."""
        firmware = block.firmware
        firmware.halt()
        sp = firmware.register(2)
        firmware.set_register(10, 0x600DF00D)
        pc = firmware.pc
        firmware.write_memory(pc, bytes(4))
        firmware.resume()
        status = firmware.status()
        assert str(status) == "trapped (cause 2: illegal instruction)"
        found = dump.hart(firmware)
        assert found["pc"] == pc
        assert found["registers"]["a0"] == 0x600DF00D
        assert found["registers"]["sp"] == sp
        assert found["csrs"]["mcause"] == 2
        assert dump.registers(block)
        assert not Hart(block, firmware.number).step()
        said = gdb(board, FIRMWARE, [], ["print/x $a0", "info program", "continue", "detach"])
        assert "0x600df00d" in said
        assert "SIGILL" in said

        command(board, "bringup", "load", str(FIRMWARE), "--halted")
        with firmware.stopped():
            assert firmware.pc == 0
            assert firmware.registers() == [0] * 32
            assert firmware.step()
            assert firmware.pc == 4
        firmware.resume()
        serves(board)


@pytest.fixture
def devices(tmp_path: Path) -> Callable[[str], Path]:
    """Files in the place of the XDMA driver's devices, which also are read and written at offsets."""
    sizes = {"user": 0x10000, "h2c_0": 0x1000, "c2h_0": 0x1000}
    for part, size in sizes.items():
        (tmp_path / f"xdma0_{part}").write_bytes(bytes(range(256)) * (size // 256))
    return lambda part: tmp_path / f"xdma0_{part}"


def test_xdma_devices(devices: Callable[[str], Path]) -> None:
    prefix = str(devices("user"))[: -len("_user")]
    with open_link(f"xdma:{prefix}") as link:
        assert isinstance(link, XdmaLink)
        assert link.access([(0x10, None), (0x14, 0x01020304), (0x14, None)]) == [0x13121110, 0x01020304]
        memory = loader.XdmaMemory(link)
        memory.write(0x123, b"abc")
        assert devices("h2c_0").read_bytes()[0x122:0x127] == b"\x22abc\x26"
        assert memory.read(0x20, 3) == b"\x20\x21\x22"
        with pytest.raises(BringupError, match="nothing moves"):
            memory.read(0xFFF, 2)
    with pytest.raises(BringupError, match="nowhere_user"):
        open_link("xdma:/dev/nowhere")


def assembled(path: Path, arch: str, base: int, *symbols: str) -> Path:
    """An ELF file with a word for each symbol."""
    source = path.with_suffix(".S")
    source.write_text(".globl _start\n_start:\n" + "".join(f"{s}: .word {i + 0x100}\n" for i, s in enumerate(symbols)))
    abi = "lp64" if arch.startswith("rv64") else "ilp32"
    flags = [f"-march={arch}", f"-mabi={abi}", "-nostdlib", f"-Wl,-N,-Ttext={base:#x}"]
    subprocess.run(["riscv64-unknown-elf-gcc", *flags, "-o", path, source], check=True, timeout=60)
    return path


@pytest.mark.parametrize("arch", ["rv32imac", "rv64imac"])
def test_a_tiles_firmware_goes_to_dram(devices: Callable[[str], Path], tmp_path: Path, arch: str) -> None:
    """In reset, by DMA, at the place of its segments; and compared."""
    elf = assembled(tmp_path / "tile.elf", arch, ROCKET.base, "one", "two")
    assert [s.address for s in Elf(elf).symbols if s.name == "two"] == [ROCKET.base + 4]
    assert loader.processor_for(elf) is ROCKET
    image = loader.firmware_image(elf)
    assert image == struct.pack("<II", 0x100, 0x101)
    user = devices("user")
    with open_link(f"xdma:{str(user)[: -len('_user')]}") as link:
        # What is written does not come back.
        with pytest.raises(BringupError, match="nothing moves"):
            loader.load_tile_firmware(link, image, 0x12345678)
        reset = contract.CTRL_BASE + contract.CTRL_RESET
        assert user.read_bytes()[reset : reset + 8] == struct.pack("<II", 1, 0x12345678)
        devices("c2h_0").unlink()
        devices("c2h_0").symlink_to(devices("h2c_0"))
        loader.load_tile_firmware(link, image)
        assert user.read_bytes()[reset : reset + 8] == struct.pack("<II", 0, 0x12345678)
    with devices("h2c_0").open("rb") as memory:
        memory.seek(ROCKET.base)
        assert memory.read() == image


def test_firmware_of_another_place_is_refused(tmp_path: Path) -> None:
    other = assembled(tmp_path / "other.elf", "rv32imac", ROCKET.base + 0x100000, "one")
    with pytest.raises(BringupError, match="is no firmware: entry 0xf4100000"):
        loader.firmware_image(other)
    core = assembled(tmp_path / "core.elf", "rv32im", 0, "one")
    assert loader.processor_for(core) is CORE
    (tmp_path / "flat.bin").write_bytes(bytes(contract.TCM_SIZE))
    assert loader.processor_for(tmp_path / "flat.bin") is CORE
    assert len(loader.firmware_image(tmp_path / "flat.bin")) == contract.TCM_SIZE


def test_addresses_of_boards() -> None:
    with pytest.raises(BringupError, match="or agent:"):
        open_link("usb:1")
    with pytest.raises(BringupError, match="lspci"):
        open_link("pci:ffff:ff:1f.7")


def test_symbols() -> None:
    elf = Elf(STAT)
    compute = next(s for s in elf.symbols if s.name == "compute")
    assert elf.describe(compute.address) == "compute"
    assert elf.describe(compute.address + 4) == "compute+0x4"
    assert elf.entry == 0


def test_damaged_elf_files(tmp_path: Path) -> None:
    data = bytearray(STAT.read_bytes())
    path = tmp_path / "x.elf"
    path.write_bytes(b"text")
    with pytest.raises(BringupError, match="not a RISC-V"):
        Elf(path)
    data[32:36] = b"\xff\xff\xff\x7f"
    path.write_bytes(data)
    with pytest.raises(BringupError, match="damaged"):
        Elf(path)


def test_constants_in_a_register() -> None:
    """LUI and ADDI of set_register make the value, whatever its sign bits."""
    for value in (0, 1, 0x7FF, 0x800, 0xFFF, 0x7FFFF800, 0x80000000, 0xFFFFFFFF, 0x12345FFF):
        upper, lower = rv32.set_register(1, value)
        imm = lower >> 20
        assert ((upper & 0xFFFFF000) + (imm - 0x1000 if imm & 0x800 else imm)) & 0xFFFFFFFF == value
