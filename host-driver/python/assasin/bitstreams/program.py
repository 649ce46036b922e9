# SPDX-License-Identifier: BSD-3-Clause
"""Tools that put a bitstream into an FPGA: openFPGALoader and Vivado's hardware server over JTAG, the board agent over Ethernet."""

from __future__ import annotations

import re
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from assasin import programs
from assasin.agent import Agent
from assasin.bitstreams.errors import BitstreamError
from assasin.bitstreams.package import Package
from assasin.bitstreams.xilinx import read_bit
from assasin.boards import Board
from assasin.tree import BUILD, ROOT

VIVADO_SCRIPT = ROOT / "board" / "common" / "tcl" / "program.tcl"
LOGS = BUILD / "flash"
XVC_PORT = 2542
"""Where Xilinx Virtual Cable servers listen unless told otherwise."""

_DETECT_SECONDS = 60
_PROGRAM_SECONDS = 600

Say = Callable[[str], None]


class Programmer(ABC):
    """A way into the FPGA of one board."""

    def __init__(self, board: Board) -> None:
        self.board = board

    @abstractmethod
    def program(self, package: Package, say: Say) -> None:
        """
        Checks that the FPGA reached is the board's and configures it. `say` is called with what happens next.

        Raises BitstreamError.
        """

    def _run(self, command: Sequence[str], seconds: float, failed: str) -> str:
        """Runs a tool; its output goes to build/flash/BOARD.log and is returned. Raises BitstreamError with its last lines."""
        LOGS.mkdir(parents=True, exist_ok=True)
        log = LOGS / f"{self.board.name}.log"
        try:
            done = programs.run(command, seconds, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            text = done.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired as e:
            text = (e.stdout or b"").decode(errors="replace")
            raise BitstreamError(f"{failed}: {command[0]} did not end within {seconds:.0f} s; see {log.relative_to(ROOT)}") from e
        finally:
            log.write_text(f"{' '.join(command)}\n{locals().get('text', '')}")
        text = re.sub(r"\x1b\[[0-9;]*m", "", text)
        if done.returncode:
            last = "\n".join(text.replace("\r", "\n").strip().splitlines()[-4:])
            raise BitstreamError(f"{failed}: {last or f'exit code {done.returncode}'}\n(whole output: {log.relative_to(ROOT)})")
        return text


def _tool(names: Sequence[str], how: str) -> str:
    """The first of these programs that is installed. Raises BitstreamError."""
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    raise BitstreamError(f"{names[0]} is not installed, or not on PATH: {how}")


class OpenFpgaLoader(Programmer):
    """openFPGALoader and a JTAG cable, or an XVC server at (host, port)."""

    def __init__(self, board: Board, cable: str | None = None, xvc: tuple[str, int] | None = None) -> None:
        super().__init__(board)
        self._tool = _tool(["openFPGALoader"], "install it with: apt install openfpgaloader, or take --via vivado or --via agent")
        if xvc:
            self._cable = ["--cable", "xvc-client", "--ip", xvc[0], "--port", str(xvc[1])]
            return
        cable = cable or board.program.cable
        if not cable:
            raise BitstreamError(
                f"board/{board.name}/board.toml names no cable: give one with --cable (openFPGALoader --list-cables)"
            )
        self._cable = ["--cable", cable]

    def program(self, package: Package, say: Say) -> None:
        """See Programmer."""
        wanted = _device(self.board)
        known = self._run([self._tool, "--list-fpga"], _DETECT_SECONDS, "openFPGALoader lists no FPGAs")
        if not re.search(rf"\s{re.escape(wanted)}\s", known):
            raise BitstreamError(f"this openFPGALoader does not know {wanted}: take a newer one, --via vivado or --via agent")
        say("looking for the FPGA")
        chain = self._run([self._tool, *self._cable, "--detect"], _DETECT_SECONDS, "no FPGA found: check cable, power and driver")
        models = re.findall(r"^\s*model\s+(\S.*?)\s*$", chain, re.MULTILINE)
        if wanted not in models:
            raise BitstreamError(
                f"the cable leads to {', '.join(models) or 'no FPGA that is known'}, the board {self.board.name} has {wanted}: "
                "this is another board, or another cable"
            )
        say(f"programming {wanted}")
        self._run([self._tool, *self._cable, "--write-sram", str(package.image)], _PROGRAM_SECONDS, "programming failed")


class Vivado(Programmer):
    """Vivado's (or Vivado Lab's) hardware server at `url`, started by Vivado itself when there is none."""

    def __init__(self, board: Board, url: str = "localhost:3121") -> None:
        super().__init__(board)
        how = "source its settings64.sh, or take --via openfpgaloader or --via agent"
        self._tool = _tool(["vivado", "vivado_lab"], how)
        self._url = url

    def program(self, package: Package, say: Say) -> None:
        """See Programmer."""
        say(f"programming {_device(self.board)} through {self._url}")
        command = [self._tool, "-mode", "batch", "-nojournal", "-nolog", "-notrace", "-source", str(VIVADO_SCRIPT), "-tclargs"]
        self._run(
            [*command, self._url, package.manifest.part, str(package.image.resolve())], _PROGRAM_SECONDS, "programming failed"
        )


class OverAgent(Programmer):
    """The board agent on the Zynq's Linux (board/agent)."""

    def __init__(self, board: Board, host: str, port: int) -> None:
        super().__init__(board)
        self._at = host, port

    def program(self, package: Package, say: Say) -> None:
        """See Programmer."""
        with Agent(*self._at) as agent:
            name = agent.status().board
            if name != self.board.name:
                raise BitstreamError(
                    f"the agent at {agent.name} serves the board {name}, not {self.board.name}: give its own address"
                )
            data = read_bit(package.image).for_fpga_manager()
            say(f"sending {len(data):,} bytes to {agent.name}")
            agent.program(data)


def _device(board: Board) -> str:
    """The part without package and speed grade: xc7z045, xczu17eg."""
    part = board.part.name if board.part else "none"
    found = re.match(r"xc7[a-z]\d+t?(?=[a-z])|xc[a-z]+\d+[a-z]*", part)
    if not found:
        raise BitstreamError(f"board/{board.name}/board.toml: part {part} is not a Xilinx part: it cannot be programmed")
    return found[0]
