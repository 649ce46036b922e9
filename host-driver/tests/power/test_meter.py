# SPDX-License-Identifier: BSD-3-Clause
"""Logs of external meters: formats, gaps, clocks."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest
from assasin.power import meter
from assasin.power.errors import PowerError


def log(path: Path, *lines: str) -> Path:
    file = path / "log.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.mark.parametrize(
    ("heading", "rows"),
    [
        ("time_s,power_w", ["1,2.5", "2,5", "3,5"]),
        ("Timestamp (s);Power [mW]", ["1;2500", "2;5000", "3;5000"]),
        ("note\tW\ttime", ["a\t2.5\t1", "b\t5\t2", "\t5\t3"]),
        ("time,Voltage (V),Current (mA)", ["1,5,500", "2,10,500", "3,10,500"]),
        ("seconds,current_a,voltage_mv", ["1,0.5,5000", "2,0.5,10000", "", "3,0.5,10000"]),
    ],
)
def test_formats(tmp_path: Path, heading: str, rows: list[str]) -> None:
    times, watts = meter.load(log(tmp_path, heading, *rows))
    assert list(times) == [1, 2, 3]
    assert list(watts) == pytest.approx([2.5, 5, 5])


def test_dates(tmp_path: Path) -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    start = datetime.datetime(2026, 3, 1, 12, tzinfo=zone)
    rows = [f"{(start + datetime.timedelta(seconds=i)).isoformat()},1" for i in range(3)]
    assert meter.load(log(tmp_path, "timestamp,W", *rows))[0][0] == start.timestamp()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["a,power_w", "1,1"], "no column of times"),
        (["time_s,voltage_v", "1,1"], "neither a power nor"),
        (["time_s,power_w", "1,1", "2,x", "3,1"], r"line 3: '2,x' is no reading"),
        (["time_s,power_w", "1,1", "2", "3,1"], r"line 3: '2' is no reading"),
        (["time_s,power_w", "1,1", "2,nan", "3,1"], r"line 3: .*no finite value"),
        (["time_s,power_w", "5,1", "4,1", "6,1"], "time goes back from 5.000000 to 4.000000"),
        (["time_s,power_w", "1,1"], "has 1 readings: log at least 3"),
    ],
)
def test_bad_logs(tmp_path: Path, lines: list[str], words: str) -> None:
    with pytest.raises(PowerError, match=words):
        meter.load(log(tmp_path, *lines))


def test_no_log_and_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(PowerError, match="No such file"):
        meter.load(tmp_path / "nothing.csv")
    (tmp_path / "empty.csv").touch()
    with pytest.raises(PowerError, match="is empty"):
        meter.load(tmp_path / "empty.csv")


def test_a_line_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("time_s,power_w\n1,1\n2,1\n3,1\n4")
    assert len(meter.load(file)[0]) == 3


def rows(times: np.ndarray, watts: np.ndarray) -> list[str]:
    return [f"{t:.6f},{w:.6f}" for t, w in zip(times, watts, strict=True)]


def square(offset: float = 0.0, noise: float = 0.0) -> list[str]:
    """5 W, but 9 W from 1010 s to 1020 s, by a meter whose clock is `offset` seconds behind."""
    times = np.arange(1000, 1030, 0.1)
    watts = np.where((times >= 1010) & (times < 1020), 9.0, 5.0) + noise * np.random.default_rng(7).standard_normal(len(times))
    return rows(times - offset, watts)


def test_energy_with_an_offset(tmp_path: Path) -> None:
    file = log(tmp_path, "time_s,power_w", *square(offset=3600))
    trace, used = meter.trace(file, 1010, 1020, 3600.0, None)
    assert used == 3600
    assert trace.joules(1010, 1020) == pytest.approx(90, rel=0.01)


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_an_offset_that_is_found(tmp_path: Path, noise: float) -> None:
    file = log(tmp_path, "time_s,power_w", *square(offset=-123.4, noise=noise))
    trace, used = meter.trace(file, 1010, 1020, None, None)
    assert used == pytest.approx(-123.4, abs=0.15)
    assert trace.joules(1010, 1020) == pytest.approx(90, rel=0.03)


def test_no_step_to_find(tmp_path: Path) -> None:
    times = np.arange(1000, 1030, 0.1)
    flat = 5 + 0.5 * np.random.default_rng(1).standard_normal(len(times))
    with pytest.raises(PowerError, match=r"does not change enough.*--meter-offset SECONDS"):
        meter.trace(log(tmp_path, "time_s,power_w", *rows(times, flat)), 1010, 1020, None, None)


def test_a_log_that_does_not_cover_the_command(tmp_path: Path) -> None:
    file = log(tmp_path, "time_s,power_w", *square())
    with pytest.raises(PowerError, match=r"covers .* \(offset \+0.000 s\), but the command ran from .*--meter-offset"):
        meter.trace(file, 1025, 1035, 0.0, None)
    with pytest.raises(PowerError, match=r"the log lasts 29.900 s, the command 40.000 s"):
        meter.trace(file, 1000, 1040, None, None)


def test_a_gap_in_the_command_and_one_outside(tmp_path: Path) -> None:
    lines = [r for r in square() if not 1012 < float(r.split(",")[0]) < 1014.05 and not 1002 < float(r.split(",")[0]) < 1004]
    file = log(tmp_path, "time_s,power_w", *lines)
    with pytest.raises(PowerError, match=r"gap of 2.100 s .*, 2.000 s into the command .*--max-gap 2.1"):
        meter.trace(file, 1010, 1020, 0.0, None)
    trace, _ = meter.trace(file, 1010, 1020, 0.0, 2.2)
    assert trace.joules(1010, 1020) == pytest.approx(90, rel=0.01)
    meter.trace(file, 1015, 1020, 0.0, None)  # the gaps are not in it
