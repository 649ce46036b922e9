# SPDX-License-Identifier: BSD-3-Clause
"""A Linux guest in QEMU that has a virtual board's drive as its PCIe device."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from assasin import vm_image, vm_qtest
from assasin.board import Board, BoardError, shortest
from assasin.drive import function_image
from assasin.errors import AssasinError
from assasin.tree import BUILD

QEMU = "qemu-system-x86_64"
VIRTIOFSD = Path("/usr/lib/qemu/virtiofsd")
"""Shares a folder with the guest; part of Debian's qemu-system-common."""

MEMORY_MIB = 768
SLOT = 5
"""PCI slot of the drive. Its INTA is pin 21 of q35's I/O APIC, which is where the board sends INTx."""

PCI_ADDRESS = f"0000:00:{SLOT:02x}.0"
"""The drive's address in the guest. Further drives have the slots behind it."""

READY_SECONDS = 300.0
DOOR_SECONDS = 5.0
STOP_SECONDS = 20.0


class GuestError(AssasinError):
    """The guest cannot be started, has ended or does not answer; the message says what to do."""


@dataclass(frozen=True)
class Output:
    """What a command printed, stdout and stderr as they came, and its exit code."""

    code: int
    text: str

    def require(self, what: str) -> str:
        """The text. Raises GuestError when the command failed."""
        if self.code != 0:
            raise GuestError(f"{what} failed in the guest, exit code {self.code}: {self.text.strip()[-600:]}")
        return self.text


def require_programs() -> None:
    """Raises GuestError when QEMU is not installed."""
    if shutil.which(QEMU) is None:
        raise GuestError(f"{QEMU} is not there: run scripts/setup")


def _knock(door: Path) -> socket.socket:
    """A connection to the board, which takes one visitor at a time and hangs up on others."""
    deadline = time.monotonic() + DOOR_SECONDS
    while True:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            s.connect(shortest(door))
        except OSError as e:
            s.close()
            raise GuestError(f"the board at {door} does not answer: {e.strerror}") from e
        # Nothing comes unasked, so a readable socket is one that was closed.
        if not select.select([s], [], [], 0.3)[0]:
            return s
        s.close()
        if time.monotonic() > deadline:
            raise GuestError(
                "another visitor is connected to the board: end the other guest or command first, or use another board (--name)"
            )


def _qtest(board: Board) -> Path:
    """Where a board listens for QEMU's qtest connection."""
    return board.paths.door.with_name(board.paths.door.name + ".qt")


class Guest:
    """
    A guest on the board `board`, which must run. In a `with` block it runs from the beginning; leaving the block ends it.

    `share`: folder of the host's that the guest sees as /share. `terminal`: the guest's console is this process's terminal, else it
    goes to console.log and run() sends commands. `modules`: replacements of kernel modules in the guest, name to file.
    `kernel_options`: appended to the kernel's command line. `others`: boards of further drives, which interrupt by MSI-X alone.
    Files are under build/run/NAME/vm.
    """

    def __init__(
        self,
        board: Board,
        share: Path | None = None,
        terminal: bool = False,
        kernel_options: str = "",
        modules: dict[str, Path] | None = None,
        others: Sequence[Board] = (),
    ) -> None:
        self.board = board.require()
        self._others = [other.require() for other in others]
        self._interrupts: vm_qtest.Interrupts | None = None
        self.folder = board.paths.folder / "vm"
        self.share = share
        self._terminal = terminal
        self._kernel_options = kernel_options
        self._modules = modules or {}
        self._qemu: subprocess.Popen[bytes] | None = None
        self._sharer: subprocess.Popen[bytes] | None = None
        self._agent: socket.socket | None = None
        self._buffer = b""

    @property
    def console_log(self) -> Path:
        """The guest's console, when it has no terminal."""
        return self.folder / "console.log"

    @property
    def qemu_log(self) -> Path:
        """What QEMU printed."""
        return self.folder / "qemu.log"

    def __enter__(self) -> Guest:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Starts QEMU. Raises GuestError or ImageError."""
        require_programs()
        image = vm_image.image()
        self.folder.mkdir(parents=True, exist_ok=True)
        for old in ("agent", "share", "console.log"):
            (self.folder / old).unlink(missing_ok=True)
        self._write_initrd(image)
        doors: list[socket.socket] = []
        try:
            doors += [_knock(board.paths.door) for board in (self.board, *self._others)]
            if self._others:
                self._interrupts = vm_qtest.Interrupts(self._qtest, [_qtest(board) for board in (self.board, *self._others)])
            if self.share is not None:
                self._start_sharing(self.share)
            with self.qemu_log.open("wb") as log:
                self._qemu = subprocess.Popen(
                    self._command(image, [door.fileno() for door in doors]),
                    stdin=None if self._terminal else subprocess.DEVNULL,
                    stdout=None if self._terminal else log,
                    stderr=None if self._terminal else log,
                    pass_fds=[door.fileno() for door in doors],
                    # Control-C at the terminal is the guest's.
                    start_new_session=not self._terminal,
                )
        except BaseException:
            self.stop()
            raise
        finally:
            for door in doors:
                door.close()

    def _write_initrd(self, image: vm_image.Image) -> None:
        own = vm_image.Archive()
        for name in ("init", "agent"):
            own.file(name, (vm_image.GUEST / name).read_bytes(), executable=True)
        for tool in (BUILD / "host" / name for name in ("assasin-offload", "fsynced")):
            if tool.exists():
                own.file(f"usr/bin/{tool.name}", tool.read_bytes(), executable=True)
        for elf in sorted((BUILD / "offload").glob("*/*.elf")):
            own.file(f"usr/lib/assasin/{elf.parent.name}/{elf.name}", function_image(elf.read_bytes()))
        for name, file in self._modules.items():
            own.file(f"lib/modules/{name}", file.read_bytes())
        with (self.folder / "initrd").open("wb") as f:
            f.write(image.initrd.read_bytes())
            f.write(own.finish())

    def _start_sharing(self, share: Path) -> None:
        if not share.is_dir():
            raise GuestError(f"{share} is no folder: there is nothing to share")
        if not VIRTIOFSD.exists():
            raise GuestError(f"{VIRTIOFSD} is not there, so no folder can be shared: run scripts/setup, or leave --share out")
        command = [str(VIRTIOFSD), f"--socket-path={shortest(self.folder / 'share')}", "-o", f"source={share.resolve()}"]
        command += ["-o", "cache=auto", "-o", "sandbox=chroot"]
        if os.geteuid() != 0:
            # It insists on being root; root of a namespace of its own is enough.
            command = ["unshare", "--user", "--map-root-user", "--mount", *command]
        with (self.folder / "share.log").open("wb") as log:
            self._sharer = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 5
        while not (self.folder / "share").exists():
            if self._sharer.poll() is not None or time.monotonic() > deadline:
                raise GuestError(f"the folder cannot be shared: see {self.folder / 'share.log'}")
            time.sleep(0.02)

    @property
    def _qtest(self) -> Path:
        """Where QEMU finds who interrupts it."""
        return self.folder / "interrupts" if self._others else _qtest(self.board)

    def _command(self, image: vm_image.Image, doors: Sequence[int]) -> list[str]:
        # nvme-cli maps registers of the drive, which kernels refuse while a driver has them, unless told.
        options = ["console=ttyS0", "quiet", "panic=-1", "iomem=relaxed", "no_timer_check", self._kernel_options]
        if not self._terminal:
            options.append("assasin.agent")
        command = [QEMU, "-nodefaults", "-no-user-config", "-display", "none"]
        # One processor: with several, QEMU 7.2's proxy device loses writes that two of them make at once.
        command += ["-accel", "tcg", "-cpu", "max", "-smp", "1", "-m", f"{MEMORY_MIB}M"]
        command += ["-object", f"memory-backend-memfd,id=ram,size={MEMORY_MIB}M,share=on", "-machine", "q35,memory-backend=ram"]
        command += ["-chardev", f"socket,id=qt,path={shortest(self._qtest)}"]
        command += ["-object", "qtest,id=qtest0,chardev=qt,log=/dev/null"]
        for n, door in enumerate(doors):
            command += ["-device", f"x-pci-proxy-dev,id=csd{n},fd={door},addr={SLOT + n}"]
        if self._terminal:
            command += ["-serial", "mon:stdio"]
        else:
            command += ["-chardev", f"file,id=console,path={shortest(self.console_log)}", "-serial", "chardev:console"]
            command += ["-chardev", f"socket,id=agent,path={shortest(self.folder / 'agent')},server=on,wait=off"]
            command += ["-serial", "chardev:agent"]
        if self.share is not None:
            command += ["-chardev", f"socket,id=share,path={shortest(self.folder / 'share')}"]
            command += ["-device", "vhost-user-fs-pci,chardev=share,tag=share"]
        command += [
            "-kernel",
            str(image.kernel),
            "-initrd",
            str(self.folder / "initrd"),
            "-append",
            " ".join(filter(None, options)),
        ]
        return command

    @property
    def running(self) -> bool:
        """Whether QEMU runs."""
        return self._qemu is not None and self._qemu.poll() is None

    @property
    def pid(self) -> int | None:
        """QEMU's process."""
        return self._qemu.pid if self._qemu is not None else None

    def _ended(self) -> GuestError:
        """What to say when QEMU has ended unasked."""
        with contextlib.suppress(FileNotFoundError):
            said = self.qemu_log.read_text(errors="replace").strip()
            last = self.console_log.read_text(errors="replace").strip().splitlines()[-5:]
            return GuestError(f"the guest has ended: {said[-400:]}\n" + "\n".join(last))
        return GuestError("the guest has ended")

    def wait_ready(self, seconds: float = READY_SECONDS) -> None:
        """Waits until the guest takes commands, which it does when its drive is there or did not come. Raises GuestError."""
        deadline = time.monotonic() + seconds
        while self._agent is None:
            if not self.running:
                raise self._ended()
            s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                s.connect(shortest(self.folder / "agent"))
                self._agent = s
            except OSError as e:
                s.close()
                if time.monotonic() > deadline:
                    raise GuestError("QEMU opens no connection to the guest") from e
                time.sleep(0.05)
        self._receive(rb"\x01ready\x01\n", deadline, "coming up")

    def _receive(self, end: bytes, deadline: float, what: str) -> tuple[bytes, re.Match[bytes]]:
        """Bytes before the pattern `end`, and its match."""
        assert self._agent is not None
        while True:
            if match := re.search(end, self._buffer):
                text, self._buffer = self._buffer[: match.start()], self._buffer[match.end() :]
                return text, match
            left = deadline - time.monotonic()
            if left <= 0:
                raise GuestError(f"{what}: the guest did not answer in time; its console: {self.console_log}")
            if not select.select([self._agent], [], [], min(left, 1.0))[0]:
                if not self.running:
                    raise self._ended()
                continue
            data = self._agent.recv(65536)
            if not data:
                raise self._ended()
            self._buffer += data

    def run(self, command: str, seconds: float = 300.0) -> Output:
        """Runs a shell command, one line, in the guest. Raises GuestError when it does not end in time."""
        if "\n" in command:
            raise ValueError(f"a command for the guest is one line: {command!r}")
        if self._agent is None:
            self.wait_ready()
        assert self._agent is not None
        self._agent.sendall(command.encode() + b"\n")
        text, match = self._receive(rb"\x01(\d+)\x01\n", time.monotonic() + seconds, command)
        return Output(int(match[1]), text.decode(errors="replace"))

    def power_off(self, seconds: float = 120.0) -> None:
        """Shuts the guest down as its own `poweroff` does: its drivers take leave of their devices. Raises GuestError."""
        if self._agent is None:
            self.wait_ready()
        assert self._agent is not None and self._qemu is not None
        self._agent.sendall(b"sync; poweroff -f\n")
        try:
            self._qemu.wait(seconds)
        except subprocess.TimeoutExpired as e:
            raise GuestError(f"the guest did not power off within {seconds:.0f} s: see {self.console_log}") from e
        self.stop()

    def reboot(self, seconds: float = READY_SECONDS) -> None:
        """Lets the guest reboot, its devices with it, and waits until it takes commands again. Raises GuestError."""
        if self._agent is None:
            self.wait_ready()
        assert self._agent is not None
        self._agent.sendall(b"sync; reboot -f\n")
        self._receive(rb"\x01ready\x01\n", time.monotonic() + seconds, "rebooting")

    def wait(self) -> int:
        """Waits until the guest ends by itself. Returns QEMU's exit code."""
        assert self._qemu is not None
        # Control-C in raw mode reaches the guest; one from elsewhere ends both.
        code = self._qemu.wait()
        self.stop()
        return code

    def kill(self) -> None:
        """The guest crashes: SIGKILL."""
        assert self._qemu is not None
        self._qemu.kill()
        self._qemu.wait()
        self.stop()

    def stop(self) -> None:
        """Ends QEMU and what belongs to it."""
        if self._agent is not None:
            self._agent.close()
            self._agent = None
        self._buffer = b""
        for process in (self._qemu, self._sharer):
            if process is None or process.poll() is not None:
                continue
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._qemu = self._sharer = None
        if self._interrupts is not None:
            self._interrupts.stop()
            self._interrupts = None
        (self.folder / "initrd").unlink(missing_ok=True)


__all__ = ["Board", "BoardError", "Guest", "GuestError", "Output"]
