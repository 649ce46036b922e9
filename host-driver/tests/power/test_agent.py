# SPDX-License-Identifier: BSD-3-Clause
"""A board's sensors through its agent: the real one on a sysfs tree of plain files, and ones that do not behave."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from assasin.power.agent import AgentReader
from assasin.power.errors import PowerError
from assasin.power.sampler import Sampler

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def board(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The C agent: its address, and the root of what it takes for its board."""
    subprocess.run(["make", "-s", "-C", ROOT / "board" / "agent"], check=True)
    root = tmp_path / "root"
    for number, label, rest in ((3, "vccint", (850, 4000, 3_400_000)), (1, "vccaux", (1800, 500, 900_000))):
        folder = root / "sys/class/hwmon" / f"hwmon{number}"
        folder.mkdir(parents=True)
        for file, value in zip(
            ("name", "label", "in1_input", "curr1_input", "power1_input"), ("ina226", label, *rest), strict=True
        ):
            (folder / file).write_text(f"{value}\n")
    config = tmp_path / "agent.conf"
    config.write_text("board b\nsensor vccint VCCINT ina226\nsensor vccaux VCCAUX ina226\nsensor ucd rails pmbus 1\n")
    command = [ROOT / "build/agent/assasin-agent", "--config", config, "--listen", "127.0.0.1", "--port", "0", "--root", root]
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    port = re.search(r":(\d+)", process.stdout.readline())
    assert port
    yield f"127.0.0.1:{port[1]}", root
    process.terminate()
    process.wait()
    process.stdout.close()


def test_energy_over_the_agent(board: tuple[str, Path]) -> None:
    sampler = Sampler(AgentReader(board[0], {"vccint", "vccaux"}), 0.005)
    begin = time.time()
    time.sleep(0.2)
    end = time.time()
    trace = sampler.stop()
    assert set(trace.watts) == {"VCCINT", "VCCAUX"}
    assert trace.joules(begin, end) == pytest.approx(4.3 * (end - begin), rel=0.02)


def test_a_sensor_that_vanishes_on_the_board(board: tuple[str, Path]) -> None:
    sampler = Sampler(AgentReader(board[0], {"vccint", "vccaux"}), 0.01)
    shutil.rmtree(board[1] / "sys/class/hwmon/hwmon3")
    time.sleep(1.3)
    with pytest.raises(PowerError, match=r"sensor vccint \(VCCINT\) of board agent at .* has vanished"):
        sampler.stop()


def test_an_essential_sensor_that_was_never_there(board: tuple[str, Path]) -> None:
    with pytest.raises(PowerError, match="sensor ucd of board agent"):
        Sampler(AgentReader(board[0], {"ucd"}), 0.01)


Answer = Callable[[int], bytes]


class Impostor:
    """Says hello, then answers each request line with what `answer` makes of its number; nothing closes."""

    def __init__(self, answer: Answer) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.answer = answer
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        connection, _ = self.listener.accept()
        with connection, connection.makefile("rb") as lines:
            connection.sendall(b'{"agent": "assasin", "protocol": 1}\n')
            for number, _ in enumerate(lines, 1):
                data = self.answer(number)
                if not data:
                    return
                connection.sendall(data)


@pytest.fixture
def impostors() -> Iterator[Callable[[Answer], Impostor]]:
    made: list[Impostor] = []

    def make(answer: Answer) -> Impostor:
        made.append(Impostor(answer))
        return made[-1]

    yield make
    for a in made:
        a.listener.close()


def readings(t_ns: int) -> bytes:
    sensors = [
        {"name": "vccint", "rail": "VCCINT", "mv": 850, "ma": 2941, "uw": 2_500_000},
        {"name": "vccaux", "rail": "VCCAUX", "mv": 1800, "ma": 500, "uw": None},
        {"name": "ams.vccps", "rail": "die", "mv": 850, "ma": None, "uw": None},
    ]
    return json.dumps({"t_ns": t_ns, "sensors": sensors}).encode() + b"\n"


def test_readings_in_this_machines_time(impostors: Callable[[Answer], Impostor]) -> None:
    boot = time.time_ns() - 5 * 10**9
    reader = AgentReader(impostors(lambda _: readings(time.time_ns() - boot)).address)
    for _ in range(3):
        reading = reader.read()
        assert abs(reading.t_ns - time.time_ns()) < 50_000_000
    assert reading.values["vccint"].watts == 2.5
    assert reading.values["vccaux"].watts == pytest.approx(0.9)
    assert reading.values["ams.vccps"].watts is None
    reader.close()


def test_a_slow_exchange_does_not_move_the_clock(impostors: Callable[[Answer], Impostor]) -> None:
    boot = time.time_ns() - 5 * 10**9

    def answer(number: int) -> bytes:
        data = readings(time.time_ns() - boot)
        time.sleep(0.3 if number == 2 else 0)
        return data

    reader = AgentReader(impostors(answer).address)
    reader.read()
    asked = time.time_ns()
    assert abs(reader.read().t_ns - asked) < 50_000_000  # when it was measured, not when it came
    reader.close()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"220 smtp ready\n", "is this an assasin-agent"),
        (b'{"error": "sensors: no board file"}\n', "sensors: no board file"),
        (b'{"t_ns": 1, "sensors": [{"name": "v"}]}\n', "update the board's assasin-agent"),
        (b"", "closed the connection"),
    ],
)
def test_nonsense(impostors: Callable[[Answer], Impostor], line: bytes, words: str) -> None:
    reader = AgentReader(impostors(lambda _: line).address)
    with pytest.raises(PowerError, match=words):
        reader.read()
    reader.close()


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    with pytest.raises(PowerError, match=rf"no agent answers at 127.0.0.1:{port} .*assasin-agent"):
        AgentReader(f"127.0.0.1:{port}")
