# SPDX-License-Identifier: BSD-3-Clause
"""Virtual and native boards as background processes. Each has a name and keeps its state under build/run/NAME."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from assasin import identity
from assasin.errors import AssasinError
from assasin.tree import BUILD, ROOT

if TYPE_CHECKING:
    from assasin.bitstreams.package import Package

DEFAULT_CONFIG = "AssasinSb8x8"
"""Named hardware configurations are <architecture><cores>x<channels>; hw/src/main/scala/assasin/soc/Configs.scala makes them."""

ARCHITECTURES = (
    "Baseline",
    "Prefetch",
    "AssasinSp",
    "AssasinSb",
    "AssasinSbCache",
    "AssasinSbX",
    "AssasinV",
    "AssasinVp",
    "AssasinVf",
    "ChannelLocal",
    "AssasinSbHls",
    "ChipyardAssasin",
    "ChipyardAssasinRvd",
)
"""What a configuration's name may begin with. AssasinSbHls: with slots for kernels; Chipyard: the drive in a Chipyard SoC."""

PROFILES = ("paper", "test")
"""What a cycle is worth and the models' timing: board/virtual/profiles/NAME.toml."""

STOP_SECONDS = 60.0
BOOT_SECONDS = 300.0


class BoardError(AssasinError):
    """A board cannot be started, is not there, or has failed; the message says what to do."""


@dataclass(frozen=True)
class Paths:
    """Files of one named board."""

    folder: Path

    @property
    def door(self) -> Path:
        """Socket of the remote-PCI protocol."""
        return self.folder / "door"

    @property
    def console(self) -> Path:
        """Socket of the firmware's console."""
        return self.folder / "door.console"

    @property
    def bars(self) -> Path:
        """Socket of the side entrance: registers for bring-up tools."""
        return self.folder / "door.bars"

    @property
    def status(self) -> Path:
        """JSON that the board keeps up to date."""
        return self.folder / "status.json"

    @property
    def pid(self) -> Path:
        """Process id of the board."""
        return self.folder / "pid"

    @property
    def log(self) -> Path:
        """What the board's process printed."""
        return self.folder / "board.log"

    @property
    def firmware(self) -> Path:
        """The firmware with this board's identity."""
        return self.folder / "firmware.bin"

    @property
    def console_log(self) -> Path:
        """What the firmware printed."""
        return self.folder / "console.log"


def shortest(path: Path) -> str:
    """The path in the form that fits a unix socket address best."""
    return min(str(path), os.path.relpath(path), key=len)


def profile_file(name: str) -> Path:
    """Where the profile called `name` would be."""
    return ROOT / "board" / "virtual" / "profiles" / f"{name}.toml"


class Status(dict[str, Any]):
    """What a board's status file says. What it should say and does not is a BoardError; get() does not mind."""

    def __init__(self, path: Path, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._path = path

    def __missing__(self, key: str) -> NoReturn:
        raise BoardError(f"{self._path} does not say '{key}': it is damaged, or the board is still starting; start the board anew")


def read_status(path: Path) -> Status:
    """What the status file says; empty when there is none, or it makes no sense."""
    values = None
    with contextlib.suppress(FileNotFoundError, ValueError):
        values = json.loads(path.read_text())
    return Status(path, values if isinstance(values, dict) else {})


def last_words(address: str) -> str:
    """What a virtual board that is gone has left: why it ended, if it said so, and where its log is. Empty for other drives."""
    folder = Path(address.removeprefix("virtual:")).parent
    log = folder / "board.log"
    if not log.exists():
        return ""
    message = read_status(folder / "status.json").get("message")
    return f". {'The board said: ' + str(message) + '. ' if message else ''}Its log: {log}"


class Board:
    """The board called `name`, running or not; start() starts a virtual one."""

    KIND: ClassVar[str] = "virtual"
    """What `assasin flash` calls such a board."""

    _PROGRAMS: ClassVar = (b"assasin-board", b"assasin-native")
    """Names of the processes that boards are, whatever kind of board a command takes the name for."""

    in_use: ClassVar[Board | None] = None
    """The one that this process has started or asked for last."""

    def __init__(self, name: str = "virtual") -> None:
        self.name = name
        self.paths = Paths(BUILD / "run" / name)

    @property
    def address(self) -> str:
        """What assasin_open() takes."""
        return f"virtual:{shortest(self.paths.door)}"

    def status(self) -> Status:
        """The board's latest status; empty when there is none."""
        return read_status(self.paths.status)

    def visitor(self) -> str | None:
        """Who is connected to the running board's drive, in words; None when nobody is, or the board does not say."""
        pid = self.status().get("visitor_pid")
        if not pid:
            return None
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").decode(errors="replace").split("\0")
        except OSError:
            words = []
        command = re.sub(r"^\S*python\S* -m assasin", "assasin", " ".join(words))
        return f"process {pid}" + (f" ({command[:80]})" if command else "")

    def pcie_latency(self) -> int | None:
        """Cycles that the running board's profile takes from the drive to host memory, one way; None when it does not say."""
        settings = profile_file(str(self.status().get("profile")))
        if not settings.exists():
            return None
        return tomllib.loads(settings.read_text()).get("pcie", {}).get("latency_cycles")

    def pid(self) -> int | None:
        """Process id when the board runs."""
        try:
            pid = int(self.paths.pid.read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError, ValueError):
            return None
        return pid if any(b in command for b in self._PROGRAMS) and state != "Z" else None

    def simulated(self) -> tuple[int, float]:
        """
        Cycles that the chip has been evaluated in so far, without those that it slept through; and seconds of processor time that
        the board has taken for all it did. Raises BoardError unless it runs.
        """
        pid = self.require().pid()
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return int(self.status()["cycles"]), sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")

    def require(self) -> Board:
        """Raises BoardError unless the board runs."""
        if self.pid() is None:
            status = self.status()
            why = f" (the last one ended: {status['message']})" if status.get("message") else ""
            kind = "native" if self.name == "native" else "virtual"
            option = "" if self.name == kind else f" --name {self.name}"
            raise BoardError(f"no board is running under the name '{self.name}'{why}; start one with: assasin flash {kind}{option}")
        Board.in_use = self
        return self

    def stop(self) -> bool:
        """Ends the board's process. Returns whether there was one. Raises BoardError when it does not end."""
        pid = self.pid()
        if pid is None:
            self.paths.pid.unlink(missing_ok=True)
            return False
        os.kill(pid, signal.SIGTERM)
        self._await_end(pid)
        return True

    def kill(self) -> None:
        """Takes the board's power away: SIGKILL."""
        pid = self.require().pid()
        if pid is None:
            raise BoardError("the board ended by itself just now: see `assasin status`")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        self._await_end(pid)

    def _await_end(self, pid: int) -> None:
        deadline = time.monotonic() + STOP_SECONDS
        while self.pid() == pid:
            # Reaps the process when it is this process's child.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            if time.monotonic() > deadline:
                raise BoardError(f"the board (process {pid}) did not end within {STOP_SECONDS:.0f} s: see {self.paths.log}")
            time.sleep(0.05)
        self.paths.pid.unlink(missing_ok=True)

    def start(
        self,
        config: str = DEFAULT_CONFIG,
        profile: str = PROFILES[0],
        image: Path | None = None,
        format: bool = False,
        kernels: Mapping[int, Path] | None = None,
        tick: Callable[[str], None] | None = None,
        package: Package | None = None,
        kernel_faults: Mapping[int, str] | None = None,
        serial: str | None = None,
        media: str = "",
        nand_age: float = 0,
        spare: int = 0,
        parity: bool | None = None,
    ) -> Status:
        """
        Starts the board (a running one of this name is stopped first) and waits until it serves.

        `image`: folder of the NAND image, by default one a configuration and profile under the board's folder. `format`: erase it.
        `kernels`: shared objects (assasin hls build) for the chip's slots. `package`: simulator and firmware; without it what is
        built. `tick`: called with the board's state while waiting. `kernel_faults`: what is wrong with kernels, for tests
        (assasin-board --kernel-fault). `serial`: the drive's serial number from now on; without it the one beside the image, at
        first a new one. `media`: how badly the NAND behaves, KEY=VALUE,... (board/virtual/nand/README.md). `nand_age`: hours that
        the medium has lain since it was used last. `spare`: per cent of a new or erased medium that the drive keeps back for
        itself, 0: as many as it does by itself. `parity`: whether such a medium gets parity over dies, None: as the drive does
        by itself. Returns the board's status. Raises BoardError.
        """
        settings = self._settings(profile)
        slots = [word for slot, path in (kernels or {}).items() for word in ("--kernel", f"{slot}={path}")]
        slots += [word for slot, fault in (kernel_faults or {}).items() for word in ("--kernel-fault", f"{slot}={fault}")]
        image = image or self.paths.folder / f"image-{config}-{profile}"
        program, built = self._program(config, package)
        firmware = self._personalised(built, image, serial, spare, parity)
        command = [*program, "--image", str(image), "--profile", str(settings), "--firmware", str(firmware)]
        command += [
            "--socket",
            shortest(self.paths.door),
            "--status",
            str(self.paths.status),
            "--console",
            str(self.paths.console_log),
        ]
        if format:
            command.append("--format")
        command += slots
        if media:
            command += ["--media", media]
        if nand_age:
            command += ["--nand-age", str(nand_age)]
        if slots or media or self.KIND == "native":
            # What does not fit must not cost the board that runs.
            looked = subprocess.run([*command, "--check"], capture_output=True, text=True, check=False)
            if looked.returncode:
                raise BoardError(looked.stderr.strip() or f"{command[0]} --check ended with exit code {looked.returncode}")
        self.stop()
        Board.in_use = self
        self.paths.folder.mkdir(parents=True, exist_ok=True)
        for old in (self.paths.status, self.paths.door):
            old.unlink(missing_ok=True)
        with self.paths.log.open("ab") as log:
            start = log.tell()
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            self.paths.pid.write_text(f"{process.pid}\n")
            return self._await_serving(process, start, config, tick)
        except BaseException:
            # One who was interrupted, or cannot write down who it is, leaves no board behind.
            process.terminate()
            process.wait()
            self.paths.pid.unlink(missing_ok=True)
            raise

    def _program(self, config: str, package: Package | None) -> tuple[list[str], Path]:
        """The board's command up to its options, and the firmware. Raises BoardError."""
        package = package or self._built(config)
        return [str(package.image)], package.firmware

    def _personalised(self, firmware: Path, image: Path, serial: str | None, spare: int, parity: bool | None) -> Path:
        """The firmware with the identity of the drive whose NAND image is in `image`, and what its next format is to do."""
        try:
            own = identity.of_image(image, serial)
        except identity.IdentityError as e:
            raise BoardError(str(e)) from e
        self.paths.folder.mkdir(parents=True, exist_ok=True)
        image_bytes = identity.personalised(firmware.read_bytes(), own, override=True, spare=spare, parity=parity)
        self.paths.firmware.write_bytes(image_bytes)
        return self.paths.firmware

    def _await_serving(
        self, process: subprocess.Popen[bytes], log_start: int, config: str, tick: Callable[[str], None] | None
    ) -> Status:
        deadline = time.monotonic() + BOOT_SECONDS
        while True:
            status = self.status()
            state = status.get("state", "starting")
            if process.poll() is not None:
                self.paths.pid.unlink(missing_ok=True)
                with self.paths.log.open("rb") as log:
                    log.seek(log_start)
                    lines = log.read().decode(errors="replace").strip().splitlines()
                raise BoardError(
                    "\n".join(lines[-4:]) or f"the board ended with exit code {process.returncode}: see {self.paths.log}"
                )
            if state == "serving" and self.paths.door.exists():
                self._require_config(status, config)
                return status
            if time.monotonic() > deadline:
                self.stop()
                raise BoardError(f"the board did not come up within {BOOT_SECONDS:.0f} s (state: {state}): see {self.paths.log}")
            if tick:
                tick(state)
            time.sleep(0.1)

    def _require_config(self, status: Status, config: str) -> None:
        """Raises BoardError when the simulator that has come up is of another configuration than its manifest says."""
        if status.get("config") != config:
            self.stop()
            raise BoardError(
                f"the image is a simulator of {status.get('config')}, its manifest says {config}: package it again with "
                f"assasin bitstream package virtual {config}"
            )

    @staticmethod
    def _built(config: str) -> Package:
        """The simulator and firmware in build/, packaged and verified."""
        # A package's own module needs this one.
        from assasin.bitstreams import virtual

        return virtual.ready(config)

    @staticmethod
    def _settings(profile: str) -> Path:
        settings = profile_file(profile)
        if not settings.exists():
            known = sorted(p.stem for p in settings.parent.glob("*.toml"))
            raise BoardError(f"there is no profile '{profile}'; there are: {', '.join(known)}")
        return settings

    def connect_console(self) -> socket.socket:
        """A connection to the firmware's console. Raises BoardError."""
        self.require()
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            s.connect(shortest(self.paths.console))
        except OSError as e:
            s.close()
            raise BoardError(f"the console at {self.paths.console} does not answer: {e.strerror}") from e
        return s

    def erase(self) -> None:
        """Removes everything of a stopped board, images included."""
        if self.pid() is not None:
            raise BoardError(f"the board '{self.name}' runs: stop it first")
        shutil.rmtree(self.paths.folder, ignore_errors=True)


class NativeBoard(Board):
    """A board called `name` whose start() starts a native one: the firmware as a host program (board/native)."""

    KIND: ClassVar[str] = "native"

    def _program(self, config: str, package: Package | None) -> tuple[list[str], Path]:
        folder = BUILD / "native"
        program, firmware = folder / "assasin-native", folder / "assasin-fw.so"
        for path in (program, firmware):
            if not path.exists():
                raise BoardError(f"{path.relative_to(ROOT)} is not there: build it with scripts/build native")
        return [str(program), "--config", config], firmware


def board_of(kind: str, name: str) -> Board:
    """The board called `name`, whose start() starts one of this kind."""
    return NativeBoard(name) if kind == NativeBoard.KIND else Board(name)


def described(status: Status) -> str:
    """A running board in words: kind, configuration and profile."""
    return (
        f"{status.get('board', 'virtual')} (simulated), {status['config']}, profile {status['profile']} "
        f"({status['ns_per_cycle']:g} ns a cycle)"
    )
