# SPDX-License-Identifier: BSD-3-Clause
"""GDB's packets: what GDB repeats is answered once, and GDB is kept waiting."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest
from assasin.bringup.wire import Disconnected, Wire
from assasin.tree import ROOT

SUPPORTED = b"$qSupported#37"
REMINDER = b"%Working#" + f"{sum(b'Working') & 0xFF:02x}".encode()


@pytest.fixture
def ends() -> Iterator[tuple[Wire, socket.socket]]:
    ours, gdb = socket.socketpair()
    gdb.settimeout(10)
    with ours, gdb:
        yield Wire(ours.fileno(), ours.fileno()), gdb


def test_a_repeated_packet_is_answered_once(ends: tuple[Wire, socket.socket]) -> None:
    wire, gdb = ends
    gdb.sendall(b"+" + 3 * SUPPORTED + b"-")
    assert wire.receive() == b"qSupported"
    wire.send("first")
    gdb.sendall(b"+" + b"$?#3f")
    assert wire.receive() == b"?"
    wire.send("second")
    assert gdb.recv(1000) == b"+$first#%02x+$second#%02x" % (sum(b"first") & 0xFF, sum(b"second") & 0xFF)


def test_the_same_packet_again_after_the_answer_is_a_new_one(ends: tuple[Wire, socket.socket]) -> None:
    wire, gdb = ends
    for _ in range(3):
        gdb.sendall(b"$g#67")
        assert wire.receive() == b"g"
        wire.send("00")
        gdb.sendall(b"+")


def test_without_acknowledgements_every_packet_counts(ends: tuple[Wire, socket.socket]) -> None:
    wire, gdb = ends
    wire.acknowledge = False
    gdb.sendall(b"$g#67$g#67")
    for _ in range(2):
        assert wire.receive() == b"g"
        wire.send("00")
    assert gdb.recv(1000) == 2 * b"$00#60"


def test_a_damaged_packet_is_asked_for_again(ends: tuple[Wire, socket.socket]) -> None:
    wire, gdb = ends
    gdb.sendall(b"$g#00$g#67")
    assert wire.receive() == b"g"
    assert gdb.recv(1000) == b"-+"


def test_gdb_is_kept_waiting(ends: tuple[Wire, socket.socket]) -> None:
    wire, gdb = ends
    with wire.working():
        assert gdb.recv(1000).startswith(REMINDER)
        with wire.working():
            assert gdb.recv(1000).startswith(REMINDER)
    gdb.settimeout(1.5)
    with pytest.raises(TimeoutError):
        gdb.recv(1000)


def test_gdb_that_goes_meanwhile_is_noticed_afterwards(ends: tuple[Wire, socket.socket]) -> None:
    wire, gdb = ends
    with wire.working():
        gdb.close()
        time.sleep(1.2)
    with pytest.raises(Disconnected):
        wire.receive()


def test_the_command_makes_gdb_wait_while_it_is_imported(slow_assasin: list[str]) -> None:
    """What a pipe gets from `assasin gdb --stdio` before its imports are done."""
    with subprocess.Popen(
        [*slow_assasin, "gdb", "--stdio", "--name", "there-is-none"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "host-driver" / "python")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        said, error = process.communicate(b"+" + SUPPORTED)
    assert said.startswith(5 * REMINDER)
    assert b"+" not in said
    assert b"there-is-none" in error
    assert process.returncode == 1
