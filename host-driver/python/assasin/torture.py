# SPDX-License-Identifier: BSD-3-Clause
"""`assasin torture`: power cuts at every moment, and whether the drive keeps what it has promised (docs/torture.md)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import click

from assasin import terminal
from assasin.board import Board, BoardError
from assasin.cli import Command, ConfigName, json_option
from assasin.errors import AssasinError
from assasin.tree import BUILD, ROOT

FOLDER = BUILD / "torture"
COUNTS = ("cuts", "boot_cuts", "boots", "cases", "commands", "blocks_read", "refused")
VIRTUAL_NAME = "torture"


class TortureError(AssasinError):
    """The program is not there, or has ended as it should not; the message says what to do."""

    exit_code: ClassVar[int] = 2
    """1 says that the drive failed."""


def program() -> tuple[Path, dict[str, str]]:
    """The program that plays cases, and its environment. Raises TortureError."""
    folder = BUILD / "native"
    for path in (folder / "assasin-torture", folder / "assasin-fw.so"):
        if not path.exists():
            raise TortureError(f"{path.relative_to(ROOT)} is not there: build it with scripts/build native")
    return folder / "assasin-torture", {**os.environ, "ASSASIN_FW_SO": str(folder / "assasin-fw.so")}


def events(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """What the program says, a line each."""
    assert process.stdout is not None
    for line in process.stdout:
        yield json.loads(line)


def run(
    arguments: Sequence[str], say: Callable[[dict[str, Any]], None], answer: Callable[[dict[str, Any]], str | None] | None = None
) -> tuple[int, dict[str, Any]]:
    """Runs the program; returns its exit code and its last words. Ctrl-C goes to the program, which ends by itself."""
    path, environment = program()
    last: dict[str, Any] = {}
    stdin = subprocess.PIPE if answer else subprocess.DEVNULL
    # Ctrl-C reaches the program as well, which has a handler of its own and says how far it came.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(
            [str(path), *arguments],
            env=environment,
            text=True,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=1,
        )
        for event in events(process):
            if event.get("end"):
                last = event
            elif answer and event.get("power"):
                reply = answer(event)
                assert process.stdin is not None
                process.stdin.write(f"{reply}\n")
                process.stdin.flush()
            else:
                say(event)
        assert process.stderr is not None
        words = process.stderr.read().strip()
        code = process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    if not last:
        raise TortureError(words or f"{path.relative_to(ROOT)} ended with exit code {code}")
    return code, last


def left(done: int, total: int, seconds: float) -> str:
    """How long the rest will take, in words."""
    if not done:
        return "?"
    rest = (total - done) * seconds / done
    return f"{rest / 3600:.1f} h" if rest > 5400 else f"{rest / 60:.0f} min" if rest > 90 else f"{max(rest, 0):.0f} s"


def told(event: dict[str, Any]) -> str | None:
    """A finding, or what became of it, in words."""
    if "found" in event:
        why = str(event["why"]).splitlines()[0]
        return f"{event['found']}: {why}\n  assasin torture --replay {event['file']}"
    if "shrunk" in event:
        return f"shrunk to {event['lives']} lives and {event['commands']} commands: assasin torture --replay {event['shrunk']}"
    return str(event["note"]) if "note" in event else None


class Power:
    """Gives a board power when the program asks for it; the program takes it away itself."""

    def __init__(self, board: Board, config: str, profile: str, media: str) -> None:
        self.board = board
        self.config, self.profile, self.media = config, profile, media

    def __call__(self, event: dict[str, Any]) -> str:
        """Answers `on`, the board's process and address; `dead` and why; or `error` when it is not the drive that failed."""
        self.off()
        # What a board says in it is then of this start.
        self.board.paths.status.unlink(missing_ok=True)
        media = f"{self.media},seed={event['seed']}"
        try:
            self.board.start(self.config, self.profile, format=bool(event.get("format")), media=media)
        except AssasinError as e:
            came_up = self.board.status().get("state") in ("failed", "violation")
            return f"{'dead' if came_up else 'error'} {str(e).splitlines()[-1]}"
        return f"on {self.board.pid()} {self.board.address}"

    def off(self) -> None:
        """Takes the board's power away, unless the program has done that; it may be about to."""
        if self.board.pid() is not None:
            with contextlib.suppress(BoardError):
                self.board.kill()


@click.command("torture", cls=Command)
@click.option("--board", "kind", type=click.Choice(("native", "virtual")), default="native", show_default=True, help="Which kind.")
@click.option("--cuts", type=click.IntRange(1), default=1000, show_default=True, help="Losses of power.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="The first case; others follow it.")
@click.option("--workers", type=click.IntRange(1), help="Processes of the native board; default: one a processor.")
@click.option("--findings", type=click.IntRange(1), default=5, show_default=True, help="Stop after so many.")
@click.option(
    "--shrink", type=click.IntRange(0), default=60, show_default=True, help="Seconds to make a finding smaller; 0: leave it."
)
@click.option("--faults", is_flag=True, help="Programs and erases that fail and factory bad blocks in every case.")
@click.option("--pairs", is_flag=True, help="Cells that hold two pages: a torn program spoils the page before too.")
@click.option("--age", is_flag=True, help="Hours without power, in which weakly programmed pages fade.")
@click.option("--room", is_flag=True, help="A write that a drive without faults refuses is a finding.")
@click.option("--replay", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Play this case instead.")
@click.option("--around", is_flag=True, help="With --replay: also with its last cut at other moments.")
@click.option("--config", type=ConfigName(), default="AssasinSb2x2", show_default=True, help="Of the virtual board.")
@click.option("--profile", default="test", show_default=True, help="Of the virtual board.")
@json_option
def torture(
    kind: str,
    cuts: int,
    seed: int,
    workers: int | None,
    findings: int,
    shrink: int,
    faults: bool,
    pairs: bool,
    age: bool,
    room: bool,
    replay: Path | None,
    around: bool,
    config: str,
    profile: str,
    as_json: bool,
) -> None:
    """
    Cut a drive's power at every moment and look whether all that it acknowledged is there.

    A seed gives part, faults, commands and the moments. Exit code 0 says that nothing was lost, every drive came up and no rule was
    broken. Leaves build/torture/result.json, and a case for each finding, which --replay plays again.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    if around and not replay:
        raise click.UsageError("--around needs --replay FILE")
    arguments = ["--out", str(FOLDER), "--findings", str(findings), "--shrink-seconds", str(shrink)]
    arguments += [
        word
        for word, on in (("--faults", faults), ("--pairs", pairs), ("--age", age), ("--room", room), ("--around", around))
        if on
    ]
    if workers:
        arguments += ["--workers", str(workers)]
    if replay:
        arguments += ["--replay", str(replay)]
        cuts = 0
    else:
        for old in FOLDER.glob("*.case"):
            old.unlink()
        arguments += ["--cuts", str(cuts), "--seed", str(seed)]
    power = None
    if kind == "virtual":
        if workers or faults or pairs or age:
            raise click.UsageError("--workers, --faults, --pairs and --age are for the native board")
        power = Power(Board(VIRTUAL_NAME), config, profile, "tearing=true")
        arguments += ["--door"]
    found: list[dict[str, Any]] = []
    began = time.monotonic()
    try:
        with terminal.spinner("torture") as line:

            def say(event: dict[str, Any]) -> None:
                if "cuts" in event and cuts:
                    n, s = int(event["cuts"]), time.monotonic() - began
                    bad = sum(int(event.get(k, 0)) for k in ("lost", "unbootable", "rules_broken"))
                    line(f"{n:,} of {cuts:,} cuts, {n / s:.1f} a second, {left(n, cuts, s)} left, {bad} findings")
                elif "shrinking" in event:
                    line(f"shrinking {event['shrinking']}: {event['to']}")
                elif words := told(event):
                    found.append(event)
                    terminal.err.print(words, markup=False, highlight=False)

            code, last = run(arguments, say, power)
    finally:
        if power:
            power.off()
    if replay:
        if as_json:
            terminal.dump({"case": str(replay), "cuts": last["cuts"], "findings": found})
        elif not found:
            terminal.out.print(f"{replay}: nothing is wrong in {last['cuts']} cuts")
        sys.exit(code)
    result = {"board": kind, "seed": seed, "cuts": last["cuts"]}
    result |= {k: last[k] for k in ("lost", "unbootable", "rules_broken")}
    result |= {k: last[k] for k in COUNTS if k in last}
    result |= {"seconds": round(last["seconds"], 1), "interrupted": last["interrupted"], "findings": found}
    (FOLDER / "result.json").write_text(json.dumps(result, indent=2) + "\n")
    if as_json:
        terminal.dump(result)
    else:
        rows = [("cuts", f"{last['cuts']:,}, {last.get('boot_cuts', 0):,} of them while the drive started")]
        rows += [("commands", f"{last['commands']:,}, {last['blocks_read']:,} blocks compared")]
        rows += [("blocks lost", str(last["lost"])), ("drives that did not come up", str(last["unbootable"]))]
        rows += [("rules broken", str(last["rules_broken"])), ("time", f"{last['seconds']:.0f} s")]
        terminal.pairs(f"{kind} board, seed {seed}", rows)
    sys.exit(code)
