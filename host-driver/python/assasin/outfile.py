# SPDX-License-Identifier: BSD-3-Clause
"""Files that a command leaves: whole under their name, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from assasin.errors import AssasinError


class OutputError(AssasinError):
    """An output file cannot be made where it should be."""


def _special(path: Path) -> bool:
    """Whether there is something else than a file: a device or a pipe is written to, not replaced."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def _target(path: Path) -> tuple[Path, Path]:
    """The file behind `path`, and the one to write to until that is whole. Raises OutputError."""
    path = Path(os.path.realpath(path))
    if path.is_dir():
        raise OutputError(f"{path} is a folder: name a file in it")
    if not path.parent.is_dir():
        raise OutputError(f"there is no folder {path.parent}: make it first, or write somewhere else")
    return path, path if _special(path) else path.with_name(f".{path.name[:200]}.{os.getpid()}")


@contextmanager
def whole(path: Path, size: int = 0) -> Iterator[BinaryIO]:
    """
    The file `path`, to be written in the `with` block. It gets its name, and replaces an older one, when the block has ended
    without an error; until then nothing is there. Entered before the work that makes the contents, it refuses a place that cannot
    be written to, or that has no room for `size` bytes, before that work. Raises OutputError, and OSError with the path.
    """
    path, fresh = _target(path)
    try:
        with fresh.open("wb") as f:
            if size and fresh is not path:
                _reserve(f, size)
            yield f
        if fresh is not path:
            with contextlib.suppress(FileNotFoundError):
                shutil.copymode(path, fresh)
            fresh.replace(path)
    except OSError as e:
        if e.filename is None or Path(str(e.filename)) == fresh:
            e.filename, e.filename2 = str(path), None
        raise
    finally:
        if fresh is not path:
            with contextlib.suppress(OSError):
                fresh.unlink()


def require(path: Path) -> None:
    """Refuses a place that no file can be made in, before the work that makes the contents. Raises OutputError, or OSError."""
    path, fresh = _target(path)
    if fresh is path:
        return
    try:
        fresh.touch()
        fresh.unlink()
    except OSError as e:
        e.filename = str(path)
        raise


def _reserve(f: BinaryIO, size: int) -> None:
    """Takes the space. File systems that cannot do that say so when the file is written."""
    try:
        os.posix_fallocate(f.fileno(), 0, size)
    except OSError as e:
        if e.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
            raise
