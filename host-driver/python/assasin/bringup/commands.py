# SPDX-License-Identifier: BSD-3-Clause
"""`assasin bringup ...` and `assasin gdb`: loader, debugger and profiler."""

from __future__ import annotations

import functools
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from assasin import identity, terminal
from assasin.bringup import dump as dumps
from assasin.bringup import gdbserver, loader, rv32, wire
from assasin.bringup import nand as blocks_of_nand
from assasin.bringup import profile as profiles
from assasin.bringup.elf import Elf
from assasin.bringup.hart import FIRMWARE, DebugBlock, Hart
from assasin.bringup.link import BringupError, open_link
from assasin.cli import Command, Group, Size, open_drive
from assasin.drive import Drive
from assasin.media import rate_text
from assasin.processor import CORE
from assasin.terminal import percent
from assasin.tree import BUILD, contract

FIRMWARE_ELF = BUILD / "firmware" / "assasin-fw.elf"
_CONSOLE_TX = contract.CTRL_BASE + contract.CTRL_CONSOLE_TX
_CONSOLE_RX = contract.CTRL_BASE + contract.CTRL_CONSOLE_RX
_CONSOLE_FLAG = 1 << 31  # TX: a character is there; RX: no room
_WIDTH = 16  # bytes in a line of a hexadecimal dump


class Word(click.ParamType):
    """A 32-bit number."""

    name = "number"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """See click.ParamType."""
        if isinstance(value, int):
            return value
        try:
            number = int(str(value), 0)
        except ValueError:
            self.fail(f"'{value}' is not a number: write for example 0x80000000", param, ctx)
        if not 0 <= number < 1 << 32:
            self.fail(f"{value} does not fit 32 bits", param, ctx)
        return number


def common(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the board's options; the command gets its debug block instead."""

    @functools.wraps(command)
    def wrapper(name: str, via: str | None, **rest: Any) -> Any:  # noqa: ANN401
        with open_link(via or f"virtual:{name}") as link:
            return command(block=DebugBlock(link), **rest)

    wrapper = click.option(
        "--via", help="Another way than a virtual board: pci:0000:01:00.0 (BAR0 as root), xdma:/dev/xdma0, agent:HOST."
    )(wrapper)
    return click.option("--name", default="virtual", show_default=True, envvar="ASSASIN_BOARD", help="Which virtual board.")(
        wrapper
    )


def one_hart(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --core; the command gets the hart: that core, or the firmware processor."""

    @functools.wraps(command)
    def wrapper(block: DebugBlock, core: int | None, **rest: Any) -> Any:  # noqa: ANN401
        return command(hart=block.hart(FIRMWARE if core is None else core), **rest)

    return click.option("--core", type=int, help="ASSASIN core. Without it: the firmware processor.")(wrapper)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead.")


@click.group(cls=Group)
def bringup() -> None:
    """Load, look into and debug a board from outside, whatever its firmware does."""


@bringup.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--boot-arg", type=Word(), help="CTRL.BOOT_ARG: [0] format, [31:16] clock in MHz. Without it: as it is.")
@click.option(
    "--serial",
    metavar="SERIAL",
    help="Serial number of the drive from now on: twelve hexadecimal digits. Without it: the medium's, at first a new one.",
)
@click.option("--halted", is_flag=True, help="Leave the firmware processor halted before its first instruction.")
@common
def load(block: DebugBlock, file: Path, boot_arg: int | None, serial: str | None, halted: bool) -> None:
    """
    Reset the board and start the firmware FILE. Whoever uses the drive loses it.

    FILE is a flat binary or an ELF file; for a tile of a Chipyard SoC the ELF file.
    """
    try:
        own = identity.fresh() if serial is None else identity.parse(serial)
    except identity.IdentityError as e:
        raise BringupError(str(e)) from e
    image = identity.personalised(loader.firmware_image(file), own, override=serial is not None)
    with terminal.spinner(f"loading {len(image)} bytes"):
        if loader.processor_for(file) is CORE:
            loader.load_firmware(block, image, boot_arg, halted)
        elif halted:
            raise BringupError("--halted: the drive's debug block does not reach a tile; use the SoC's own debug module")
        else:
            loader.load_tile_firmware(block.link, image, boot_arg)
    terminal.out.print(f"{file.name}: {len(image)} bytes, {'halted before its first instruction' if halted else 'started'}")


@bringup.command()
@click.argument("address", type=Word())
@click.argument("count", type=Size())
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--core", type=int, help="As this ASSASIN core sees it (instructions, scratchpad). Without it: as the firmware does.")
@common
def read(block: DebugBlock, address: int, count: int, file: Path | None, core: int | None) -> None:
    """Read COUNT bytes of device memory or registers from ADDRESS on, into FILE or as text."""
    if address + count > 1 << 32:
        raise BringupError(f"{address:#x} and {count} bytes: addresses have 32 bits")
    if core is None:
        data = loader.memory_for(block, address, count).read(address, count)
    else:
        hart = block.hart(core)
        with hart.stopped():
            data = hart.read_memory(address, count)
    if file:
        file.write_bytes(data)
        return
    for at in range(0, len(data), _WIDTH):
        line = data[at : at + _WIDTH]
        text = "".join(chr(c) if 32 <= c < 127 else "." for c in line)
        words = " ".join(line[i : i + 4][::-1].hex() if len(line) >= i + 4 else line[i:].hex(" ") for i in range(0, len(line), 4))
        click.echo(f"{address + at:08x}  {words:<{9 * _WIDTH // 4}} {text}")


@bringup.command()
@click.argument("address", type=Word())
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--word", "words", type=Word(), multiple=True, help="Instead of FILE; may be repeated.")
@click.option("--core", type=int, help="As this ASSASIN core sees it. Without it: as the firmware does.")
@common
def write(block: DebugBlock, address: int, file: Path | None, words: tuple[int, ...], core: int | None) -> None:
    """Write FILE or words to device memory or registers from ADDRESS on."""
    if (file is None) == (not words):
        raise click.UsageError("give either FILE or --word")
    data = file.read_bytes() if file else b"".join(w.to_bytes(4, "little") for w in words)
    if core is None:
        loader.memory_for(block, address, len(data), write=True).write(address, data)
    else:
        hart = block.hart(core)
        with hart.stopped():
            hart.write_memory(address, data)


@bringup.command()
@click.option("--seconds", type=float, help="End after this time. Without it: at Ctrl-C or the end of the input.")
@common
def console(block: DebugBlock, seconds: float | None) -> None:
    """The firmware's console through the registers. (A virtual board reads them itself: there, use assasin console.)"""
    link = block.link
    deadline = None if seconds is None else time.monotonic() + seconds
    listening = True
    try:
        while deadline is None or time.monotonic() < deadline:
            said = [word & 0xFF for word in link.access([(_CONSOLE_TX, None)] * 64) if word & _CONSOLE_FLAG]
            sys.stdout.buffer.write(bytes(said))
            sys.stdout.buffer.flush()
            if listening and select.select([sys.stdin], [], [], 0 if said else 0.02)[0]:
                typed = sys.stdin.readline().encode()
                listening = bool(typed)
                for c in typed:
                    while link.read(_CONSOLE_RX) & _CONSOLE_FLAG:
                        time.sleep(0.01)
                    link.write(_CONSOLE_RX, c)
            elif not listening:
                if deadline is None and not said:
                    return
                time.sleep(0.02)
    except KeyboardInterrupt:
        return


@bringup.command()
@click.option("--block", "wanted", multiple=True, help="Only this register block, such as SYS or CORE1; may be repeated.")
@json_option
@common
def dump(block: DebugBlock, wanted: tuple[str, ...], as_json: bool) -> None:
    """All registers, decoded, and all processors; each is halted while it is looked at."""
    problem = None
    try:
        values = dumps.registers(block)
    except BringupError as e:
        problem = str(e)
        values = dumps.host_registers(block)
    blocks = list(dict.fromkeys(v.block for v in values))
    for w in wanted:
        if w not in blocks:
            raise click.UsageError(f"--block {w}: there are {', '.join(blocks)}")
    values = [v for v in values if not wanted or v.block in wanted]
    harts = [] if wanted else dumps.harts(block)
    if as_json:
        terminal.dump({"registers": [asdict(v) for v in values], "harts": harts, "problem": problem})
        return
    for v in values:
        click.echo(str(v))
    for h in harts:
        _print_hart(h)
    if block.held:
        click.echo("The chip is held in reset: nothing else can be read.")
    if problem:
        click.echo(f"Registers beyond BAR0 are missing: {problem}")


def _print_hart(h: dict[str, Any]) -> None:
    click.echo(f"\n{h['name']}: {h['state']}, pc {h['pc']:08x}")
    if "error" in h:
        click.echo(f"  {h['error']}")
        return
    for table, wide in ((h["registers"], 8), (h["csrs"], 6)):
        items = list(table.items())
        for i in range(0, len(items), wide):
            click.echo("  " + "  ".join(f"{name:>{4 if wide == 8 else 9}} {value:08x}" for name, value in items[i : i + wide]))


@bringup.command()
@click.option(
    "--set", "assignments", multiple=True, metavar="REGISTER=VALUE", help="Write pc, a register or a CSR first; may be repeated."
)
@json_option
@common
@one_hart
def regs(hart: Hart, assignments: tuple[str, ...], as_json: bool) -> None:
    """Registers of one processor; it is halted meanwhile, and stays so if it was."""
    with hart.stopped():
        for assignment in assignments:
            _assign(hart, assignment)
        found = dumps.hart(hart)
    if as_json:
        terminal.dump(found)
    else:
        _print_hart(found)


def _assign(hart: Hart, assignment: str) -> None:
    name, _, text = assignment.partition("=")
    try:
        value = int(text, 0) & 0xFFFFFFFF
    except ValueError:
        raise click.UsageError(f"--set {assignment}: write for example a0=0x10") from None
    if name == "pc":
        hart.set_pc(value)
    elif name in rv32.GPR_NAMES:
        hart.set_register(rv32.GPR_NAMES.index(name), value)
    elif name in hart.csrs:
        hart.set_csr(hart.csrs[name], value)
    else:
        raise click.UsageError(f"--set {assignment}: {hart.name} has pc, {', '.join(rv32.GPR_NAMES)}, {', '.join(hart.csrs)}")


@bringup.command()
@common
@one_hart
def halt(hart: Hart) -> None:
    """Halt one processor until `resume`."""
    hart.halt()
    click.echo(f"{hart.name}: {hart.status()}, halted at {hart.pc:08x}")


@bringup.command()
@common
@one_hart
def resume(hart: Hart) -> None:
    """Let a halted processor run."""
    hart.resume()
    click.echo(f"{hart.name}: {hart.status()}")


@bringup.command()
@click.option("-n", "--count", type=click.IntRange(min=1), default=1, show_default=True, help="Instructions.")
@click.option("--elf", "elf_file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="For the names of functions.")
@common
@one_hart
def step(hart: Hart, count: int, elf_file: Path | None) -> None:
    """Halt one processor, or keep it halted, and let it execute instructions one by one."""
    elf = _elf(hart, elf_file)
    hart.halt()
    registers = hart.registers()
    for _ in range(count):
        pc = hart.pc
        word = hart.read_memory(pc, 4)[::-1].hex() if pc < contract.TCM_SIZE else "-" * 8
        done = hart.step()
        now = hart.registers()
        changes = " ".join(
            f"{rv32.GPR_NAMES[n]}={new:08x}" for n, (old, new) in enumerate(zip(registers, now, strict=True)) if old != new
        )
        registers = now
        click.echo(f"{pc:08x}  {word}  {elf.describe(pc) if elf else '':<24} {changes}")
        if not done:
            status = hart.status()
            click.echo(f"not executed: {'it would wait for a stream' if status.running else f'{hart.name} has {status}'}")
            return


def _elf(hart: Hart, given: Path | None) -> Elf | None:
    if given:
        return Elf(given)
    return Elf(FIRMWARE_ELF) if hart.is_firmware and FIRMWARE_ELF.exists() else None


@bringup.command()
@click.option(
    "--seconds", type=click.FloatRange(min=0, min_open=True), default=5.0, show_default=True, help="Of this machine's time."
)
@click.option("--core", "cores", type=int, multiple=True, help="These cores; may be repeated. Without it: all processors.")
@click.option("--elf", "elf_file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="What the cores run.")
@click.option("--top", type=click.IntRange(min=1), default=12, show_default=True, help="Functions to show of each processor.")
@json_option
@common
def profile(block: DebugBlock, seconds: float, cores: tuple[int, ...], elf_file: Path | None, top: int, as_json: bool) -> None:
    """Where processors spend their time, by sampling their PCs from outside; they run at full speed."""
    harts = [block.hart(c) for c in cores] or block.harts
    with terminal.spinner("sampling"):
        found, cycles = profiles.sample(block, harts, seconds)
    core_elf = Elf(elf_file) if elf_file else None
    functions = [p.functions(_elf(hart, None) if hart.is_firmware else core_elf) for hart, p in zip(harts, found, strict=True)]
    if as_json:
        report = [
            {
                "hart": p.hart,
                "samples": p.samples,
                "asleep": p.asleep,
                "waiting_in": p.waiting_in,
                "waiting_out": p.waiting_out,
                "functions": [{"name": name, "busy": busy, "waiting": waiting} for name, busy, waiting in rows],
            }
            for p, rows in zip(found, functions, strict=True)
        ]
        terminal.dump({"cycles": cycles, "profiles": report})
        return
    for p, rows in zip(found, functions, strict=True):
        total = max(p.samples, 1)
        waits = f"waiting for input {percent(p.waiting_in / total)}, for room {percent(p.waiting_out / total)}"
        terminal.table(
            f"{p.hart}: {p.samples} samples, asleep {percent(p.asleep / total)}, {waits}",
            ["function", "busy", "waiting"],
            [[name, percent(busy / total), percent(waiting / total)] for name, busy, waiting in rows[:top]],
        )
    click.echo(f"{cycles:,} cycles passed")


@bringup.command()
@click.option("--first", type=click.IntRange(min=0), default=0, show_default=True, help="First block of every plane.")
@click.option("--last", type=click.IntRange(min=0), help="Last block of every plane. Without it: the part's last.")
@click.option("--channel", "channels", type=click.IntRange(min=0), multiple=True, help="These channels; may be repeated.")
@click.option("--way", "ways", type=click.IntRange(min=0), multiple=True, help="These chip enables; may be repeated.")
@click.option(
    "--blocks",
    "sample",
    type=click.IntRange(min=0),
    default=blocks_of_nand.SAMPLE_BLOCKS,
    show_default=True,
    help="So many of these blocks, spread evenly; 0: all.",
)
@click.option(
    "--step",
    type=click.IntRange(min=0),
    help="Of so many sectors of a block one is read; 1: all; 0: only the factory's marks. "
    f"Without it {blocks_of_nand.SAMPLE_SECTORS} sectors of a block.",
)
@click.option("--all", "every", is_flag=True, help="List also blocks without programmed sectors, failures and marks.")
@click.option("--address", help="Another drive than a virtual board's, as libassasin names it, e.g. vfio:0000:01:00.0.")
@click.option("--name", default="virtual", show_default=True, envvar="ASSASIN_BOARD", help="Which virtual board.")
@json_option
def nand(
    first: int,
    last: int | None,
    channels: tuple[int, ...],
    ways: tuple[int, ...],
    sample: int,
    step: int | None,
    every: bool,
    address: str | None,
    name: str,
    as_json: bool,
) -> None:
    """
    Measure raw bit errors of the NAND blocks, and read the marks of those that came bad. Writes nothing.

    The drive's firmware reads programmed sectors once, without repetition, and says how many bits the code corrected. A
    large part has millions of them, so without --blocks and --step a sample is read, which the output names. Ctrl-C ends
    the reading; what was read until then is printed. Other users of the drive go on meanwhile, more slowly.
    """
    choice = blocks_of_nand.Choice(first, last, channels, ways, sample, step)
    drive = Drive(address) if address else open_drive(name)[1]
    found: list[blocks_of_nand.Block] = []
    interrupted: KeyboardInterrupt | None = None
    with drive, terminal.spinner("reading blocks") as say:
        plan = blocks_of_nand.plan(drive, choice)
        try:
            found.extend(blocks_of_nand.blocks(drive, plan, lambda done, of: say(f"reading blocks: {done} of {of}")))
        except KeyboardInterrupt as e:
            interrupted = e
    _print_blocks(plan, found, every, as_json)
    if interrupted is not None:
        raise interrupted


def _print_blocks(plan: blocks_of_nand.Plan, found: list[blocks_of_nand.Block], every: bool, as_json: bool) -> None:
    """What was read of the blocks of `plan`, which may be fewer."""
    histogram = blocks_of_nand.histogram(found)
    if as_json:
        sample = {"blocks": len(plan.places), "of": plan.of, "step": plan.step}
        terminal.dump({"sample": sample, "blocks": [asdict(b) for b in found], "histogram": dict(histogram)})
        return
    click.echo(f"{plan}")
    if len(found) < len(plan.places):
        click.echo(f"interrupted after {len(found):,} blocks")
    shown = [b for b in found if every or b.read or b.failed or b.marked is not False]
    if shown:
        terminal.table(
            "NAND blocks",
            [
                "channel way LUN plane block",
                "use",
                "erases",
                "read",
                "erased",
                "failed",
                "bits",
                "worst codeword",
                "error rate",
                "mark",
            ],
            [
                [
                    f"{b.channel} {b.way} {b.lun} {b.plane} {b.block}",
                    b.state,
                    str(b.erases),
                    str(b.read),
                    str(b.erased),
                    str(b.failed),
                    str(b.bits),
                    str(b.worst),
                    "-" if b.rate is None else rate_text(b.rate),
                    "unreadable" if b.marked is None else "bad" if b.marked else "-",
                ]
                for b in shown
            ],
        )
    terminal.table(
        "Blocks by raw bit error rate",
        ["error rate", "blocks"],
        [[what, str(count)] for what, count in histogram if count] or [["-", "0"]],
    )
    read, bits = sum(b.read for b in found), sum(b.bits for b in found)
    click.echo(
        f"{len(found):,} blocks: {read:,} sectors read, {bits:,} bits corrected, {sum(b.failed for b in found):,} sectors failed, "
        f"{sum(b.marked is True for b in found):,} marked bad"
    )


@click.command(cls=Command)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=3333, show_default=True, help="TCP port on this machine; 0: any free one."
)
@click.option("--stdio", is_flag=True, help='Serve standard input and output: gdb -ex "target remote | assasin gdb --stdio".')
@click.option("--once", is_flag=True, help="End with the first session.")
@common
@one_hart
def gdb(hart: Hart, port: int, stdio: bool, once: bool) -> None:
    """Serve GDB's remote protocol for one processor: halted while GDB has it, let go when GDB leaves."""
    if stdio:
        # GDB gives what it closes five seconds, then SIGTERM; the end of the input comes first and is enough.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        # Ctrl-C is GDB's, which sends a byte for it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        gdbserver.GdbServer(hart, wire.stdio()).serve()
        return
    with _listening(port) as listener:
        click.echo(f"{hart.name}: gdb-multiarch FILE.elf -ex 'target remote :{listener.getsockname()[1]}'")
        sys.stdout.flush()
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection:
                gdbserver.GdbServer(hart, wire.Wire(connection.fileno(), connection.fileno())).serve()
            if once:
                return


@contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError as e:
            raise BringupError(f"port {port}: {e.strerror}; choose another with --port") from e
        listener.listen(1)
        yield listener
