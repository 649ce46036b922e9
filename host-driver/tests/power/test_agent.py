# SPDX-License-Identifier: BSD-3-Clause
"""The board agent's sensors over TCP."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from assasin.power.agent import AgentReader
from assasin.power.errors import PowerError

Answer = Callable[[int], bytes]


class Agent:
    """Answers each request line with what `answer` makes of its number; nothing closes."""

    def __init__(self, answer: Answer) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.requests: list[bytes] = []
        self.answer = answer
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        connection, _ = self.listener.accept()
        with connection, connection.makefile("rb") as lines:
            for line in lines:
                self.requests.append(line)
                data = self.answer(len(self.requests))
                if not data:
                    return
                connection.sendall(data)


@pytest.fixture
def agents() -> Iterator[Callable[[Answer], Agent]]:
    made: list[Agent] = []

    def make(answer: Answer) -> Agent:
        made.append(Agent(answer))
        return made[-1]

    yield make
    for a in made:
        a.listener.close()


def readings(t_ns: int, uw: int | None = 2_500_000) -> bytes:
    sensors = [
        {"name": "vccint", "rail": "VCCINT", "mv": 850, "ma": 2941, "uw": uw},
        {"name": "vccaux", "rail": "VCCAUX", "mv": 1800, "ma": 500, "uw": None},
        {"name": "ams.vccps", "rail": "die", "mv": 850, "ma": None, "uw": None},
    ]
    return json.dumps({"t_ns": t_ns, "sensors": sensors}).encode() + b"\n"


def test_readings_in_this_machines_time(agents: Callable[[Answer], Agent]) -> None:
    boot = time.time_ns() - 5 * 10**9
    agent = agents(lambda _: readings(time.time_ns() - boot))
    reader = AgentReader("127.0.0.1", agent.port)
    for _ in range(3):
        reading = reader.read()
        assert abs(reading.t_ns - time.time_ns()) < 50_000_000
    assert agent.requests == [b"sensors\n"] * 3
    assert reading.values["vccint"].watts == 2.5
    assert reading.values["vccaux"].watts == pytest.approx(0.9)
    assert reading.values["ams.vccps"].watts is None
    reader.close()


def test_a_slow_exchange_does_not_move_the_clock(agents: Callable[[Answer], Agent]) -> None:
    boot = time.time_ns() - 5 * 10**9

    def answer(number: int) -> bytes:
        data = readings(time.time_ns() - boot)
        time.sleep(0.3 if number == 2 else 0)
        return data

    reader = AgentReader("127.0.0.1", agents(answer).port)
    reader.read()
    asked = time.time_ns()
    assert abs(reader.read().t_ns - asked) < 50_000_000  # when it was measured, not when it came
    reader.close()


def test_a_sensor_that_fails_on_the_board(agents: Callable[[Answer], Agent]) -> None:
    line = json.dumps(
        {"t_ns": 1, "sensors": [{"name": "v", "rail": "R", "mv": None, "ma": None, "uw": None, "error": "no device"}]}
    )
    reader = AgentReader("127.0.0.1", agents(lambda _: line.encode() + b"\n").port)
    assert reader.read().missing == {"v": "no device"}
    reader.close()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"220 smtp ready\n", "does another service listen there"),
        (b"[]\n", "does another service listen there"),
        (b'{"error": "sensors: no board file"}\n', "sensors: no board file"),
        (b'{"t_ns": 1, "sensors": [{"name": "v"}]}\n', "same version"),
        (b'{"t_ns": 1, "sensors": [{"name": "v", "rail": "R", "mv": "x", "ma": 1, "uw": 1}]}\n', "same version"),
    ],
)
def test_nonsense(agents: Callable[[Answer], Agent], line: bytes, words: str) -> None:
    reader = AgentReader("127.0.0.1", agents(lambda _: line).port)
    with pytest.raises(PowerError, match=words):
        reader.read()
    reader.close()


def test_an_agent_that_goes(agents: Callable[[Answer], Agent]) -> None:
    reader = AgentReader("127.0.0.1", agents(lambda number: readings(1) if number == 1 else b"").port)
    reader.read()
    with pytest.raises(PowerError, match="has closed the connection"):
        reader.read()
    reader.close()


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    with pytest.raises(PowerError, match=rf"board agent at 127.0.0.1:{port} does not answer.*assasin-agent"):
        AgentReader("127.0.0.1", port)
