# SPDX-License-Identifier: BSD-3-Clause
"""
The log of an external power meter: a CSV file with a heading line.

Columns, by name and unit, in any order, letter case and spaces ignored: a time (`time_s`, `timestamp`, `time`: seconds, or ISO
8601 with
a zone or in local time) and a power (`power_w`, `power_mw`, also `W`, `mW`), or a voltage and a current (`voltage_v`,
`voltage_mv`,
`current_a`, `current_ma`). Other columns are left alone. Separators: comma, semicolon, tabulator.
"""

from __future__ import annotations

import csv
import datetime
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assasin import later
from assasin.power.errors import PowerError
from assasin.power.trace import Floats, Trace, of_readings

if TYPE_CHECKING:
    import numpy as np
else:
    np = later.module("numpy")

_TIMES = {"time", "times", "timestamp", "timestamps", "datetime", "seconds"}
"""Letters of the headings: time_s is times."""
_UNITS = {"w": ("power", 1.0), "mw": ("power", 1e-3), "v": ("voltage", 1.0), "mv": ("voltage", 1e-3)}
_UNITS |= {"a": ("current", 1.0), "ma": ("current", 1e-3)}
_GAP_FACTOR = 5.0
LEAST_READINGS = 3
_LEAST_CONTRAST = 4.0
"""Automatic offset: the step of power at the command's ends must be so many times the noise around it."""


def _columns(heading: Sequence[str], path: Path) -> tuple[int, dict[str, tuple[int, float]]]:
    """Index of the time, and of power, or voltage and current, with their scale to W, V, A."""
    time: int | None = None
    found: dict[str, tuple[int, float]] = {}
    for i, raw in enumerate(heading):
        name = re.sub(r"[^a-z]", "", raw.lower())
        if name in _TIMES and time is None:
            time = i
            continue
        for quantity in ("power", "voltage", "current", ""):
            unit = name.removeprefix(quantity)
            if unit in _UNITS and quantity in ("", _UNITS[unit][0]):
                found.setdefault(_UNITS[unit][0], (i, _UNITS[unit][1]))
                break
    if time is None:
        raise PowerError(f"{path}: no column of times in '{','.join(heading)}': name one time_s or timestamp")
    if "power" in found:
        return time, {"power": found["power"]}
    if "voltage" in found and "current" in found:
        return time, {k: found[k] for k in ("voltage", "current")}
    raise PowerError(
        f"{path}: neither a power nor a voltage and a current in '{','.join(heading)}': name the columns power_w, or "
        "voltage_v and current_a"
    )


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return datetime.datetime.fromisoformat(text).timestamp()


def load(path: Path) -> tuple[Floats, Floats]:
    """Times in seconds and watts of a log. Raises PowerError with the line that is wrong."""
    try:
        lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError as e:
        raise PowerError(f"meter log {path}: {e.strerror}") from e
    if not lines:
        raise PowerError(f"meter log {path} is empty: start the meter's log before the command")
    separator = next((s for s in ";\t," if s in lines[0]), ",")
    rows = csv.reader(lines, delimiter=separator)
    time, quantities = _columns(next(rows), path)
    times: list[float] = []
    watts: list[float] = []
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        try:
            t = _seconds(row[time].strip())
            value = 1.0
            for column, scale in quantities.values():
                value *= float(row[column]) * scale
        except (ValueError, IndexError) as e:
            if rows.line_num == len(lines):
                # The meter is still writing this line.
                break
            raise PowerError(
                f"{path}, line {rows.line_num}: '{lines[rows.line_num - 1]}' is no reading ({e}): correct or remove it"
            ) from e
        if not np.isfinite(t) or not np.isfinite(value):
            raise PowerError(
                f"{path}, line {rows.line_num}: '{lines[rows.line_num - 1]}' has no finite value: correct or remove it"
            )
        if times and t < times[-1]:
            raise PowerError(
                f"{path}, line {rows.line_num}: time goes back from {times[-1]:.6f} to {t:.6f}: was the meter's clock set "
                "meanwhile?"
            )
        if times and t == times[-1]:
            continue
        times.append(t)
        watts.append(value)
    if len(times) < LEAST_READINGS:
        raise PowerError(f"{path} has {len(times)} readings: log at least {LEAST_READINGS}, from before the command to after it")
    return np.array(times), np.array(watts)


def trace(path: Path, begin: float, end: float, offset: float | None, longest_gap: float | None) -> tuple[Trace, float]:
    """
    Power of a log in this machine's time, and the offset used.

    `begin`, `end`: of the command, seconds of CLOCK_REALTIME. `offset`: what to add to the meter's times; None: found by the
    step of
    power at the command's begin and end. `longest_gap`: seconds between readings that are still no gap; None: five usual
    intervals. Raises PowerError for a gap within the command, and for a log that does not cover it.
    """
    times, watts = load(path)
    usual = float(np.median(np.diff(times)))
    if offset is None:
        offset = find_offset(times, watts, begin, end)
    times = times + offset
    longest = longest_gap if longest_gap is not None else _GAP_FACTOR * usual
    result = of_readings(times, {"meter": watts}, longest)
    if times[0] > begin or times[-1] < end:
        raise PowerError(
            f"{path} covers {_clock(times[0])} to {_clock(times[-1])} (offset {offset:+.3f} s), but the command ran from "
            f"{_clock(begin)} "
            f"to {_clock(end)}: start the log earlier, end it later, or correct its clock with --meter-offset"
        )
    for a, b in result.gaps:
        if a < end and b > begin:
            raise PowerError(
                f"{path} has a gap of {b - a:.3f} s at {_clock(a)}, {a - begin:.3f} s into the command (readings usually "
                f"every {usual:.4g} s): "
                f"measure again, or accept it with --max-gap {b - a:.3g}"
            )
    return result, offset


def find_offset(times: Floats, watts: Floats, begin: float, end: float) -> float:
    """
    What to add to a meter's times so that the command's begin and end fall on the steps of its power. Raises PowerError when the
    power does not stand out enough.
    """
    length = end - begin
    span = times[-1] - times[0]
    if span <= length:
        raise PowerError(f"the log lasts {span:.3f} s, the command {length:.3f} s: log from well before it to well after it")
    energy = np.concatenate(([0.0], np.cumsum((watts[1:] + watts[:-1]) / 2 * np.diff(times))))
    step = float(np.median(np.diff(times)))
    starts = np.arange(times[0], times[-1] - length, step / 2)
    inside = np.interp(starts + length, times, energy) - np.interp(starts, times, energy)
    outside = (energy[-1] - inside) / (span - length)
    contrast = np.abs(inside / length - outside)
    best = int(np.argmax(contrast))
    start = float(starts[best])
    within = (times >= start) & (times <= start + length)
    noise = max(float(np.std(watts[within])) if within.any() else 0.0, float(np.std(watts[~within])) if (~within).any() else 0.0)
    error = noise / np.sqrt(max(1, min(int(within.sum()), int((~within).sum()))))
    if contrast[best] <= _LEAST_CONTRAST * error or contrast[best] == 0:
        raise PowerError(
            f"the log's power does not change enough with the command to find it ({contrast[best]:.3g} W against a noise of "
            f"{error:.3g} W): "
            "set the meter's clock and give --meter-offset SECONDS"
        )
    return begin - start


def _clock(seconds: float) -> str:
    try:
        return datetime.datetime.fromtimestamp(seconds).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return f"{seconds:.3f} s"
