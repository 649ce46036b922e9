# SPDX-License-Identifier: BSD-3-Clause
"""Runs an offload's native build under the sanitizers: what it puts out, and what they find."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TIME_OUT = 124
"""Exit code of runtime/check.c when the piece takes too long."""
_RUNTIME_ERROR = re.compile(r"^(\S.*?):(\d+):(?:\d+:)? runtime error: (.*)$", re.MULTILINE)
_ADDRESS = re.compile(r"ERROR: AddressSanitizer: ([\w-]+)(.*)$", re.MULTILINE)
_ACCESS = re.compile(r"^(READ|WRITE) of size (\d+)", re.MULTILINE)
_FRAME = re.compile(r"^ *#\d+ \S+ (?:in )?(\S+) (\S.*?):(\d+)(?::\d+)?$", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """Something that is wrong: where, when that is known, and what."""

    what: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}" if self.file else self.what


@dataclass(frozen=True)
class Result:
    """`exit_code` is None when compute did not return."""

    exit_code: int | None
    outputs: list[bytes]
    findings: tuple[Finding, ...]


def _place(report: str, source: Path) -> tuple[str, int]:
    """The innermost frame of a sanitizer's stack that is in the source's folder; the file's name alone."""
    for _, path, line in _FRAME.findall(report):
        if Path(path).name == source.name or Path(path).parent == source.parent:
            return Path(path).name, int(line)
    return "", 0


def _findings(text: str, source: Path) -> list[Finding]:
    found = [Finding(what, Path(path).name, int(line)) for path, line, what in _RUNTIME_ERROR.findall(text)]
    address = _ADDRESS.search(text)
    if address:
        access = _ACCESS.search(text, address.end())
        what = f"{address[1]}: {access[1].lower()}s {access[2]} bytes outside of an object" if access else address[1]
        found.append(Finding(what, *_place(text[address.end() :], source)))
    return list(dict.fromkeys(found))


def run(program: Path, source: Path, inputs: Sequence[bytes], args: bytes, outputs: int, seconds: int = 5) -> Result:
    """Runs one piece. `seconds`: after so many it counts as an endless loop; at least 1."""
    room = (1 << 22) + 64 * sum(map(len, inputs))
    with tempfile.TemporaryDirectory(prefix="assasin-") as name:
        folder = Path(name)
        (folder / "args").write_bytes(args)
        files: list[Path] = []
        for i, data in enumerate(inputs):
            files.append(folder / f"in.{i}")
            files[-1].write_bytes(data)
        command: list[str | Path] = [program, str(seconds), str(room), str(outputs), folder / "out", folder / "args", *files]
        # Leaks: a core has no heap. Findings of the undefined-behaviour sanitizer do not end the run, so that all are seen.
        options = {"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:color=never", "UBSAN_OPTIONS": "print_stacktrace=0"}
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                check=False,
                env=os.environ | options,
                timeout=seconds + 5,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            return Result(None, [], (Finding(f"compute has not ended within {seconds} s"),))
        text = done.stderr.decode(errors="replace")
        found = _findings(text, source)
        said = done.stdout.decode(errors="replace").strip()
        if done.returncode == TIME_OUT:
            where = _place(text, source)
            found.append(Finding(f"compute has not ended within {seconds} s: an endless loop? It is here", *where))
        elif done.returncode < 0:
            found.append(Finding(f"compute was ended by signal {-done.returncode}"))
        elif done.returncode and not found:
            found.append(Finding(text.strip() or f"the native run ended with code {done.returncode}"))
        elif said.startswith("fault "):
            found.append(Finding(said.removeprefix("fault ")))
        code = int(said.removeprefix("exit ")) if said.startswith("exit ") and not done.returncode else None
        out = [p.read_bytes() if p.exists() else b"" for p in (folder / f"out.{i}" for i in range(outputs))]
        return Result(code, out, tuple(found))
