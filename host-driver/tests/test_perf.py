# SPDX-License-Identifier: BSD-3-Clause
"""What perf.py makes of reports and of looks at the drive's counters."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from assasin import perf, random_reads
from assasin.drive import DriveError
from assasin.job import Piece, Report
from assasin.tree import contract

CHANNELS = 2


def piece(core: int, t_start: int, t_first_page: int, t_last_page: int) -> Piece:
    """A piece of which only its times matter."""
    values: dict[str, Any] = {f.name: 0 for f in dataclasses.fields(Report)}
    values |= {"core": core, "pages": 9, "t_start": t_start, "t_first_page": t_first_page, "t_last_page": t_last_page}
    rest: dict[str, Any] = {f.name: 0 for f in dataclasses.fields(Piece)}
    return Piece(**(rest | {"report": Report(**values)}))


def look(time: int, rate: float) -> contract.ScompPerf:
    """The counters at `time` when every channel has moved `rate` bytes a cycle so far."""
    counters = contract.ScompPerf(time=time, channels=CHANNELS, page_bytes=4096, bus_cycles_page=4546)
    for i in range(CHANNELS):
        counters.data_bytes[i] = int(time * rate)
        counters.bus_busy[i] = time
    return counters


def test_a_core_that_has_not_started_is_not_fed() -> None:
    """Core 1 has its first page at 10,000 and starts at 60,000: until then its full ring holds up the channels."""
    pieces = [piece(0, 5_000, 8_000, 400_000), piece(1, 60_000, 10_000, 500_000)]
    looks = [look(t, 0.5 if t <= 50_000 else 0.9) for t in range(0, 600_000, 10_000)]
    steady = perf.steady(pieces, looks)
    assert steady is not None
    assert steady.cycles == 340_000
    assert abs(steady.bytes_per_cycle - CHANNELS * 0.9) < 1e-6
    assert steady.channel_utilisation == 1


def test_a_core_that_started_early_counts_from_its_first_page_on() -> None:
    pieces = [piece(0, 0, 40_000, 300_000), piece(1, 0, 20_000, 400_000)]
    steady = perf.steady(pieces, [look(t, 0.9) for t in range(0, 600_000, 10_000)])
    assert steady is not None
    assert steady.cycles == 260_000


def test_a_short_window_is_not_worth_a_figure() -> None:
    pieces = [piece(0, 0, 10_000, 35_000)]
    assert perf.steady(pieces, [look(t, 0.9) for t in range(0, 60_000, 10_000)]) is not None
    assert perf.steady([piece(0, 30_000, 10_000, 35_000)], [look(t, 0.9) for t in range(0, 60_000, 10_000)]) is None


def test_a_look_that_waited_for_the_host_does_not_make_reads_cheap() -> None:
    """The second of the looks took 900,000 cycles, the others 100; 8 reads took 4,000, of which the processor slept 1,600."""

    def counters(time: int, slept: int, commands: int = 0) -> contract.ScompStages:
        return contract.ScompStages(time=time, fw_sleep=slept, commands=commands, reads=commands)

    looks = [counters(1000, 0), counters(1100, 40), counters(901_100, 890_000), counters(901_200, 890_040)]
    found = random_reads._figures(8, 8, looks, counters(905_200, 891_640, 8), None)
    assert found.cycles == (4000 - 100) / 8
    assert found.firmware == (4000 - 100 - (1600 - 40)) / 8


def test_reads_shorter_than_every_look_are_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host had no processor in the first looks: each took 900,000 cycles, the reads 4,000, which left less than nothing."""
    slow = [i * 900_000 for i in range(5)] + [3_604_000]
    quick = [4_000_000 + i * 100 for i in range(5)] + [4_004_400]
    times = iter([*slow, *quick])
    monkeypatch.setattr(random_reads, "stages", lambda drive: contract.ScompStages(time=next(times)))
    monkeypatch.setattr(random_reads, "_run", lambda *a: None)

    @contextlib.contextmanager
    def dma(length: int) -> Iterator[tuple[int, bytearray]]:
        yield 0, bytearray(length)

    drive: Any = SimpleNamespace(info=SimpleNamespace(block_bytes=4096, queue_depth=64), dma=dma)
    (found,) = random_reads.measure(drive, bytes(4096), 0, 8, [1], None)
    assert found.cycles == (4000 - 100) / 8
    times = iter(slow * random_reads.TRIES)
    with pytest.raises(DriveError, match="the host is too busy"):
        random_reads.measure(drive, bytes(4096), 0, 8, [1], None)
