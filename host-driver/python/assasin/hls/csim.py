# SPDX-License-Identifier: BSD-3-Clause
"""C simulation: a kernel and its test bench with the open headers, under the address and undefined-behaviour sanitizers."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from assasin.hls import signature, toolchain
from assasin.hls.kernel import Kernel, KernelError

LIMIT_SECONDS = 60.0
OUTPUT_LIMIT = 1 << 20
"""Bytes of a test bench's output that are kept."""

_COUNTS = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)
_REPORT = re.compile(r"^(?:==\d+==)?(.*(?:ERROR: AddressSanitizer|runtime error):? .*)$", re.MULTILINE)
_EMPTY = "read while empty"
_LEFT = "contains leftover data"


@dataclass(frozen=True)
class Result:
    """What a C simulation came to."""

    kernel: str
    passed: int
    failed: int
    compile_seconds: float
    run_seconds: float
    messages: tuple[str, ...]
    """What speaks against the kernel, in words."""

    @property
    def ok(self) -> bool:
        """Checks were made and all of them passed, and nothing else was found."""
        return self.passed > 0 and self.failed == 0 and not self.messages


def build(kernel: Kernel) -> Path:
    """The test bench's program. Raises KernelError when the metadata disagrees with the C++, or that does not compile."""
    signature.check(kernel)
    target = toolchain.csim_target()
    toolchain.compiled_ahead(target)
    folder = kernel.out / "csim"
    sources = [kernel.folder / s for s in dict.fromkeys((*kernel.sources, *kernel.testbench))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda s: toolchain.compile_object(target, s, folder, [kernel.folder]), sources))
    program = folder / f"{kernel.name}_tb"
    new = program.with_name(f"{program.name}.{os.getpid()}")
    toolchain.run([*target.command(), *map(str, objects), "-o", str(new)], f"{kernel.name}'s test bench")
    new.rename(program)
    return program


def _execute(program: Path, limit: float) -> tuple[int | None, str]:
    """Exit code (None: ended here) and output. Ends a program that reads a stream that will stay empty, or takes too long."""
    process = subprocess.Popen([str(program)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    assert process.stdout is not None
    late = threading.Timer(limit, process.kill)
    late.start()
    out = bytearray()
    ended = False
    try:
        while chunk := os.read(process.stdout.fileno(), 1 << 16):
            out += chunk[: max(0, OUTPUT_LIMIT - len(out))]
            if not ended and (_EMPTY.encode() in out or len(out) >= OUTPUT_LIMIT):
                ended = True
                process.kill()
        code = process.wait()
        ended |= not late.is_alive()
    finally:
        late.cancel()
        process.stdout.close()
        process.kill()
        process.wait()
    return (None if ended else code), out.decode(errors="replace")


def _place(kernel: Kernel, stack: str) -> str:
    """Where it happened, out of a sanitizer's stack: the innermost frame in the kernel's folder."""
    frame = re.search(rf"^ *#\d+ .* in ([\w:~]+).*?{re.escape(str(kernel.folder))}/(\S+)$", stack, re.MULTILINE)
    return f", in {frame[1]}() at {kernel.folder.name}/{frame[2]}" if frame else ""


def simulate(kernel: Kernel, limit: float = LIMIT_SECONDS) -> Result:
    """Builds and runs the kernel's test bench; `limit`: seconds it may take. Raises KernelError when there is nothing to run."""
    start = time.monotonic()
    program = build(kernel)
    compiled = time.monotonic()
    code, out = _execute(program, limit)
    seconds = time.monotonic() - compiled
    counts = _COUNTS.findall(out)
    passed, failed = (int(counts[-1][0]), int(counts[-1][1])) if counts else (0, 0)
    messages = [line for line in out.splitlines() if line.startswith("FAILED: ")][:20]
    if _EMPTY in out:
        messages.append(
            "the kernel reads a stream that is empty and would stay so in hardware: "
            "read each input up to the beat with last, not further"
        )
    elif _LEFT in out:
        messages.append("a stream has beats left that nobody read: in hardware whoever writes to it would wait")
    elif code is None:
        messages.append(f"the test bench has not ended within {limit:g} s, or printed without end: does a loop wait for last?")
    report = _REPORT.search(out)
    if report:
        messages.append(report[1].strip() + _place(kernel, out[report.end() :]))
    elif "terminate called" in out or "terminating" in out:
        messages.append(
            "the kernel or its test bench throws an exception that nobody catches; a kernel may not throw: hardware cannot"
        )
    elif code is not None and code < 0:
        messages.append(f"the test bench was ended by signal {-code} ({signal.strsignal(-code)})")
    elif code not in (None, 0) and not failed:
        messages.append(f"the test bench ended with exit code {code}" + ("" if counts else " and no line 'N passed, N failed'"))
    if code == 0 and not counts:
        raise KernelError(f"{kernel.name}'s test bench says no 'N passed, N failed': end it with `return Checks::report();`")
    return Result(kernel.name, passed, failed, compiled - start, seconds, tuple(messages))
