# SPDX-License-Identifier: BSD-3-Clause
"""Energy of traces, and its division into phases and offloads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from assasin.power import marks, phases
from assasin.power.errors import PowerError
from assasin.power.phases import OTHER, Span
from assasin.power.trace import Trace, of_readings


def trace() -> Trace:
    return Trace(np.array([0.0, 1.0, 3.0, 4.0]), {"a": np.array([2.0, 4.0, 0.0]), "b": np.array([1.0, 1.0, 1.0])})


def test_energy_of_whole_and_of_parts() -> None:
    t = trace()
    assert t.joules(0, 4) == pytest.approx(2 + 8 + 0 + 4)
    assert t.joules(0.5, 2, "a") == pytest.approx(1 + 4)
    assert t.joules(-5, 0.5) == pytest.approx(1.5)
    assert t.mean_watts(1, 3) == pytest.approx(5)
    assert t.mean_watts(5, 6) is None


def test_power_between_readings_is_a_straight_line() -> None:
    t = of_readings(np.array([0.0, 1.0, 2.0]), {"r": np.array([0.0, 2.0, 2.0])}, longest=10)
    assert t.joules(0, 2) == pytest.approx(1 + 2)


def test_what_is_missing() -> None:
    t = of_readings(np.array([0.0, 1.0, 5.0, 6.0]), {"r": np.ones(4)}, longest=2)
    assert t.gaps == ((1.0, 5.0),)
    assert t.missing(0, 6) == pytest.approx(4)
    assert t.missing(2, 8) == pytest.approx(3 + 2)


def test_rails_must_fit_the_edges() -> None:
    with pytest.raises(ValueError, match="3 powers for 3 edges"):
        Trace(np.arange(3.0), {"r": np.zeros(3)})


def test_phases_are_all_of_the_energy_and_nothing_twice() -> None:
    t = trace()
    spans = [Span("write", 0.5, 2.0, 1000), Span("offload", 1.5, 2.5, 100), Span("read", 3.5, 9.0, 10)]
    shares = phases.by_phase(t, spans, 0.0, 4.0)
    assert [s.phase for s in shares] == ["offload", "write", "read", OTHER]
    assert sum(s.joules for s in shares) == pytest.approx(t.joules(0, 4))
    assert sum(s.seconds for s in shares) == pytest.approx(4)
    offload, write, _, other = shares
    assert (offload.seconds, write.seconds) == (pytest.approx(1.0), pytest.approx(1.0))
    assert offload.nj_per_byte == pytest.approx(5.0 / 100 * 1e9)
    assert other.nj_per_byte is None


def test_offloads_one_by_one() -> None:
    spans = [Span("offload", 0.0, 1.0, 10), Span("offload", 2.0, 4.0, 20), Span("read", 0.0, 4.0, 1), Span("offload", 7.0, 8.0, 1)]
    one, two = phases.by_offload(trace(), spans, 0.0, 4.0)
    assert (one.joules, two.joules) == (pytest.approx(3), pytest.approx(5 + 1))
    assert phases.median_joules([one, two]) == pytest.approx(4.5)
    assert phases.median_joules([]) is None


def line(edge: str, t: int, clock: int | None, what: str = "offload", **more: int) -> str:
    mark = {"t_ns": t, "edge": edge, "what": what, "bytes": 5, "rc": 0, "process": 1, "drive": 2} | more
    return json.dumps(mark | ({} if clock is None else {"clock": clock}))


def test_marks_pair_by_process_and_drive(tmp_path: Path) -> None:
    file = tmp_path / "marks"
    lines = [line("begin", 10, 1), line("begin", 20, 2, process=9), line("end", 30, 3), line("begin", 35, 4, "read")]
    file.write_text("\n".join([*lines, line("end", 40, 5, process=9, rc=-5), line("end", 50, 6, "write")]) + "\n")
    first, second = marks.load(file)
    assert (first.begin_clock, first.end_clock, first.ok) == (1, 3, True)
    assert (second.begin_clock, second.end_clock, second.ok) == (2, 5, False)
    spans = phases.of_operations([first, second], ns_per_cycle=10.0)
    assert spans[0].end == pytest.approx(30e-9)
    assert phases.of_operations([first], None)[0].end == pytest.approx(30e-9)


def test_marks_without_the_drives_clock_are_none_of_its_spans(tmp_path: Path) -> None:
    file = tmp_path / "marks"
    file.write_text(line("begin", 10, None) + "\n" + line("end", 20, None) + "\n")
    assert phases.of_operations(marks.load(file), 1.0) == []
    assert len(phases.of_operations(marks.load(file), None)) == 1


@pytest.mark.parametrize("text", ["garbage", "[]", '{"edge": "begin"}'])
def test_a_file_of_marks_that_something_else_wrote_to(tmp_path: Path, text: str) -> None:
    file = tmp_path / "marks"
    file.write_text(line("begin", 10, 1) + "\n" + text + "\n")
    with pytest.raises(PowerError, match="line 2"):
        marks.load(file)
