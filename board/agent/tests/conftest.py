# SPDX-License-Identifier: BSD-3-Clause
"""The agent, built with sanitizers, on a fake board."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "host-driver" / "python"), str(Path(__file__).parent)]

from assasin.agent import Agent  # noqa: E402
from fakes import CONFIG, Start, Tree  # noqa: E402

OUT = ROOT / "build" / "agent-sanitized"


@pytest.fixture(scope="session")
def binary() -> Path:
    flags = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
    subprocess.run(["make", "-s", "-C", ROOT / "board/agent", f"OUT={OUT}", f"CFLAGS={flags}"], check=True)
    return OUT / "assasin-agent"


@pytest.fixture(scope="session")
def configfs(binary: Path) -> Path:
    """Folders that get their attributes when they are made, for LD_PRELOAD."""
    library = binary.parent / "configfs.so"
    source = Path(__file__).with_name("configfs.c")
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", source, "-o", library], check=True)
    return library


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "root")


@pytest.fixture
def start(binary: Path, tree: Tree, tmp_path: Path) -> Iterator[Start]:
    """Starts the agent with a configuration; gives its address. At the end it must not have died, nor a sanitizer spoken."""
    running = []

    def run(config: str = CONFIG, preload: Path | None = None) -> tuple[str, int]:
        file = tmp_path / "agent.conf"
        file.write_text(config)
        log = (tmp_path / "agent.log").open("w+")
        command = [binary, "--config", file, "--port", "0", "--root", tree.root]
        extra = {"LD_PRELOAD": str(preload), "ASAN_OPTIONS": "verify_asan_link_order=0"} if preload else {}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ | extra)
        running.append((process, log))
        assert process.stdout is not None
        line = process.stdout.readline()
        match = re.fullmatch(r"assasin-agent: listening at ([\d.]+):(\d+)\n", line)
        assert match, line + (tmp_path / "agent.log").read_text()
        return match[1], int(match[2])

    yield run
    for process, log in running:
        assert process.poll() is None
        process.terminate()
        process.wait(10)
        log.seek(0)
        assert "ERROR" not in (text := log.read()) and "runtime error" not in text, text


@pytest.fixture
def agent(start: Start) -> Iterator[Agent]:
    with Agent(*start()) as connection:
        yield connection
