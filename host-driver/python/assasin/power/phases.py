# SPDX-License-Identifier: BSD-3-Clause
"""What of a trace belongs to what: phases of a command, and its offloads one by one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assasin import later
from assasin.power.activity import ActivityLog
from assasin.power.marks import Operation
from assasin.power.trace import Trace

if TYPE_CHECKING:
    import numpy as np
else:
    np = later.module("numpy")

OTHER = "other"
"""What is in no operation: start-up, the program's own work, waiting."""
ORDER = ("offload", "write", "read")
"""Which one counts where operations overlap, and the order in reports."""


@dataclass(frozen=True)
class Span:
    """A time of one phase, seconds in the trace's time."""

    what: str
    begin: float
    end: float
    bytes: int = 0
    ok: bool = True


def of_operations(operations: Sequence[Operation], ns_per_cycle: float | None) -> list[Span]:
    """
    Operations in the trace's time: the drive's, when `ns_per_cycle` is given (operations without its clock are left out), else
    the
    host's.
    """
    spans = []
    for o in operations:
        if ns_per_cycle is None:
            spans.append(Span(o.what, o.begin_s, o.end_s, o.bytes, o.ok))
        elif o.begin_clock is not None and o.end_clock is not None:
            scale = ns_per_cycle * 1e-9
            spans.append(Span(o.what, o.begin_clock * scale, o.end_clock * scale, o.bytes, o.ok))
    return spans


def of_activity(log: ActivityLog) -> list[Span]:
    """
    Phases by what the drive did, interval by interval, for programs that leave no marks (a guest's, another driver's): offload
    while a core or kernel runs, else write or read by the side that PCIe moved more to.
    """
    cores = log.cores("cycles").sum(axis=1) + log.slots("cycles").sum(axis=1)
    pages = log.channels("data_bytes").sum(axis=1)
    inward, outward = log.grown("h2c_bytes"), log.grown("c2h_bytes")
    edges = log.edges
    spans: list[Span] = []
    for i in range(len(edges) - 1):
        if cores[i]:
            what, count = "offload", int(pages[i])
        elif max(inward[i], outward[i]) < 4096:
            continue
        elif inward[i] > outward[i]:
            what, count = "write", int(inward[i])
        else:
            what, count = "read", int(outward[i])
        begin, end = float(edges[i]), float(edges[i + 1])
        if spans and spans[-1].what == what and spans[-1].end == begin:
            spans[-1] = Span(what, spans[-1].begin, end, spans[-1].bytes + count)
        else:
            spans.append(Span(what, begin, end, count))
    return spans


def flatten(spans: Sequence[Span], begin: float, end: float) -> list[Span]:
    """The time from `begin` to `end` as a row of spans without overlap, ORDER deciding, OTHER between. Bytes are left out."""
    cuts = sorted({begin, end, *(t for s in spans for t in (s.begin, s.end) if begin < t < end)})
    row: list[Span] = []
    for a, b in itertools.pairwise(cuts):
        active = {s.what for s in spans if s.begin < b and s.end > a}
        what = next((w for w in ORDER if w in active), OTHER)
        if row and row[-1].what == what:
            row[-1] = Span(what, row[-1].begin, b)
        else:
            row.append(Span(what, a, b))
    return row


@dataclass(frozen=True)
class Share:
    """Energy of one phase of a command, or of one offload."""

    phase: str
    seconds: float
    joules: float
    mean_w: float | None
    bytes: int
    nj_per_byte: float | None
    """Nanojoules a byte."""
    begin_s: float
    """From the begin of the command."""
    groups: dict[str, float]
    """Joules of each group of rails."""


def _share(phase: str, row: Sequence[Span], count: int, trace: Trace, begin: float) -> Share:
    seconds = sum(s.end - s.begin for s in row)
    joules = sum(trace.joules(s.begin, s.end) for s in row)
    return Share(
        phase,
        seconds,
        joules,
        joules / seconds if seconds > 0 else None,
        count,
        joules / count * 1e9 if count else None,
        (row[0].begin - begin) if row else 0.0,
        {
            group: sum(trace.joules(s.begin, s.end, rail) for s in row for rail in rails)
            for group, rails in trace.by_group().items()
        },
    )


def by_phase(trace: Trace, spans: Sequence[Span], begin: float, end: float) -> list[Share]:
    """Energy of each phase from `begin` to `end`; together they are all of it."""
    row = flatten(spans, begin, end)
    shares = []
    for what in (*ORDER, OTHER):
        mine = [s for s in row if s.what == what]
        if mine:
            count = sum(s.bytes for s in spans if s.what == what and begin <= s.begin <= end)
            shares.append(_share(what, mine, count, trace, begin))
    return shares


def by_offload(trace: Trace, spans: Sequence[Span], begin: float, end: float) -> list[Share]:
    """Energy of each offload from its begin to its end, whatever else happened meanwhile."""
    return [_share(s.what, [s], s.bytes, trace, begin) for s in spans if s.what == "offload" and begin <= s.begin <= end]


def median_joules(shares: Sequence[Share]) -> float | None:
    """Median energy of offloads; None without any."""
    return float(np.median([s.joules for s in shares])) if shares else None
