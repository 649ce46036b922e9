# SPDX-License-Identifier: BSD-3-Clause
"""Parts of the guest and of files as input that need no guest; what needs one is `assasin vm test`."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from assasin.board import Board
from assasin.drive import DriveError
from assasin.files import HeldFile
from assasin.tree import BUILD, ROOT
from assasin.vm import Guest
from assasin.vm_image import Archive, ImageError


def entries(archive: bytes) -> dict[str, tuple[int, bytes]]:
    """Names, modes and data of a cpio archive."""
    found, at = {}, 0
    while True:
        assert archive[at : at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = archive[at + 110 : at + 110 + name_size - 1].decode()
        start = at + (110 + name_size + 3) // 4 * 4
        if name == "TRAILER!!!":
            return found
        assert name not in found
        found[name] = (mode, archive[start : start + size])
        at = start + (size + 3) // 4 * 4


def test_an_archive_holds_what_was_put_in(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.so.1").write_bytes(b"library")
    (tmp_path / "lib" / "a.so").symlink_to("a.so.1")
    archive = Archive()
    archive.file("usr/bin/tool", b"#!/bin/sh\n", executable=True)
    archive.link("bin/sh", "busybox")
    archive.device("dev/console", 5, 1)
    archive.copy(tmp_path, "lib/a.so")
    found = entries(archive.finish())
    assert list(found) == ["usr", "usr/bin", "usr/bin/tool", "bin", "bin/sh", "dev", "dev/console", "lib", "lib/a.so", "lib/a.so.1"]
    assert found["usr/bin/tool"] == (stat.S_IFREG | 0o755, b"#!/bin/sh\n")
    assert found["bin/sh"] == (stat.S_IFLNK | 0o777, b"busybox")
    assert stat.S_ISCHR(found["dev/console"][0]) and stat.S_ISDIR(found["usr"][0])
    assert found["lib/a.so"][1] == b"a.so.1" and found["lib/a.so.1"][1] == b"library"
    with pytest.raises(ImageError, match="lib/b"):
        archive.copy(tmp_path, "lib/b")


def test_a_guest_needs_a_board() -> None:
    with pytest.raises(Exception, match="no board is running under the name 'nobody'"):
        Guest(Board("nobody"))


@pytest.mark.parametrize(
    ("make", "code", "what"),
    [
        (lambda p: None, errno.ENOENT, "No such file"),
        (lambda p: p.mkdir(), errno.EINVAL, "not a regular file"),
        (lambda p: p.touch(), errno.EINVAL, "empty"),
        (lambda p: p.write_bytes(bytes(8192)), errno.ENODEV, "block device|not directly on a namespace"),
    ],
)
def test_files_that_cannot_be_held(tmp_path: Path, make: object, code: int, what: str) -> None:
    make(tmp_path / "file")
    with pytest.raises(DriveError, match=what) as e:
        HeldFile(tmp_path / "file")
    assert e.value.code == code


def test_a_run_over_a_file_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(8192))
    command = [sys.executable, "-m", "assasin", "run", "scan", "--file", str(tmp_path / "file")]
    for words, wanted in (
        ([], "block device|namespace"),
        (["--lba", "0"], "--file is the whole input"),
        (["--dtype", "<i4"], "add --out FILE"),
    ):
        environment = os.environ | {"PYTHONPATH": str(ROOT / "host-driver" / "python")}
        done = subprocess.run([*command, *words], capture_output=True, text=True, env=environment)
        assert done.returncode != 0
        assert any(w in done.stderr for w in wanted.split("|")), done.stderr


def test_the_tool_says_what_is_wrong() -> None:
    tool = BUILD / "host" / "assasin-offload"
    for words, code, wanted in (
        ([], 2, "usage"),
        (["scan"], 2, "say what to run on"),
        (["scan", "--drive", "virtual:/nothing", "--lba", "0"], 2, "say what to run on"),
        (["scan", "--file", "/nothing"], 1, "No such file"),
        (["scan", "--drive", "virtual:/nothing", "--lba", "0", "--bytes", "0"], 2, "--bytes"),
        (["scan", "--drive", "virtual:/nothing", "--lba", "0", "--bytes", "4096", "--args", "123"], 2, "--args"),
        (["--drive", "virtual:/nothing"], 1, "no board answers"),
        (["--drive", "kernel:/dev/null"], 1, "not a namespace"),
    ):
        done = subprocess.run([tool, *words], capture_output=True, text=True)
        assert done.returncode == code, (words, done)
        assert wanted in done.stderr, (words, done.stderr)
    assert subprocess.run([tool, "--help"], capture_output=True, text=True).stdout.startswith("usage")
