# SPDX-License-Identifier: BSD-3-Clause
"""How the `assasin` command ends when something goes wrong: one message and an exit code, never a traceback."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.markup import escape

from assasin import interrupts, terminal
from assasin.errors import AssasinError
from assasin.job import DriveError
from assasin.tree import BUILD, ROOT

PIPE_CLOSED = 141
"""Exit code when nobody reads standard output any more: 128 and SIGPIPE, as shells have it."""

_ADVICE = {
    errno.ENOSPC: "the disk is full: free some space or choose another place",
    errno.EDQUOT: "the disk quota is used up: free some space or choose another place",
    errno.EFBIG: "the file would exceed the limit on file sizes (ulimit -f)",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "not permitted",
    errno.ENOENT: "there is no such file or folder",
    errno.ENOTDIR: "a part of this path is a file, not a folder",
    errno.EISDIR: "this is a folder, not a file",
    errno.EMFILE: "too many open files (ulimit -n)",
    errno.ENOMEM: "not enough memory",
}


def describe(e: OSError) -> str:
    """An error of the system in words: the path, what is wrong, what to do."""
    if e.errno is None:
        return str(e)
    words = _ADVICE.get(e.errno) or e.strerror or str(e)
    if e.filename is None:
        return words
    path = os.fsdecode(e.filename) if isinstance(e.filename, str | bytes) else str(e.filename)
    hint = ""
    if e.errno in (errno.EROFS, errno.EACCES, errno.EPERM) and Path(path).is_relative_to(BUILD):
        hint = f"; boards, results and logs are kept in {BUILD}, which this user must be able to write"
    return f"{path}: {words}{hint}"


def _silence() -> None:
    """Lets what is still in the buffer of standard output go nowhere."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _nobody_reads() -> bool:
    """Whether standard output is a pipe whose other end is closed."""
    poll = select.poll()
    try:
        poll.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):
        return False
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _end(text: str, code: int, as_json: bool, **details: Any) -> NoReturn:  # noqa: ANN401
    """Reports and ends the process. A stream that cannot be written to is left alone."""
    if as_json:
        try:
            terminal.dump({"error": text} | details)
            sys.stdout.flush()
        except OSError:
            _silence()
    with contextlib.suppress(OSError):
        terminal.err.print(f"[bold red]assasin:[/] {escape(text)}", highlight=False, soft_wrap=True)
    sys.exit(code)


def fail(e: Exception, as_json: bool) -> NoReturn:
    """Reports an error and ends the command with its exit code."""
    details = {"errno": e.name, "nvme_status": e.status} if isinstance(e, DriveError) else {}
    _end(str(e), e.exit_code if isinstance(e, AssasinError) else 1, as_json, **details)


def _log(e: BaseException) -> Path | None:
    """Writes the traceback to a file."""
    text = f"{' '.join(sys.argv)}\n{''.join(traceback.format_exception(e))}"
    for folder in (BUILD / "log", Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"assasin-{os.getpid()}.txt"
            path.write_text(text)
        except OSError:
            continue
        return path
    return None


@contextmanager
def reported(as_json: bool) -> Iterator[None]:
    """Whatever goes wrong in the `with` block becomes a message and an exit code."""
    try:
        yield
        sys.stdout.flush()
    except (click.exceptions.Exit, click.ClickException):
        raise
    except (KeyboardInterrupt, click.Abort) as e:
        interrupted = e if isinstance(e, KeyboardInterrupt) else e.__context__ or e
        text = "; ".join(getattr(interrupted, "__notes__", [])) or "interrupted"
        _end(text, interrupts.exit_code(interrupted), as_json, interrupted=True)
    except AssasinError as e:
        fail(e, as_json)
    except OSError as e:
        if _nobody_reads():
            _silence()
            sys.exit(PIPE_CLOSED)
        if e.filename is None and e.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            # Files have names (outputs.py); what has none is a standard stream.
            _silence()
            e.filename = "standard output"
        _end(describe(e), 1, as_json)
    except MemoryError:
        _end("this machine has not enough memory for it: work on less data at once", 1, as_json)
    except Exception as e:
        where = _log(e)
        _end(
            f"this is a fault of assasin itself: {type(e).__name__}: {e}"
            + (f"; please report it with {where.relative_to(ROOT) if where.is_relative_to(ROOT) else where}" if where else ""),
            1,
            as_json,
        )


def run(command: Callable[[], Any]) -> int:
    """Runs the command line. Returns the exit code."""
    with reported(False):
        try:
            result = command()
        except click.ClickException as e:
            e.show()
            return e.exit_code
        except click.exceptions.Exit as e:
            return e.exit_code
        return result if isinstance(result, int) else 0
