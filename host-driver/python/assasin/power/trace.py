# SPDX-License-Identifier: BSD-3-Clause
"""Power over time, whatever it comes from: per rail, the mean power of each interval between two readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assasin import later

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
else:
    np = later.module("numpy")
    Floats = Any


@dataclass(frozen=True)
class Trace:
    """
    Power of rails (or modelled components) over time.

    `edges`: n + 1 times in seconds, not decreasing. `watts`: rail -> n mean powers, of the intervals between edges. `groups`:
    rail
    -> what it belongs to, for subtotals; rails without one are their own. `gaps`: times without readings, over which power is
    """

    edges: Floats
    watts: Mapping[str, Floats]
    groups: Mapping[str, str] = field(default_factory=dict)
    gaps: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        for rail, values in self.watts.items():
            if len(values) != max(0, len(self.edges) - 1):
                raise ValueError(f"rail {rail}: {len(values)} powers for {len(self.edges)} edges")

    @property
    def begin(self) -> float:
        """First edge, seconds."""
        return float(self.edges[0])

    @property
    def end(self) -> float:
        """Last edge, seconds."""
        return float(self.edges[-1])

    @property
    def total(self) -> Floats:
        """Power of all rails together, for each interval."""
        return np.asarray(np.sum(list(self.watts.values()), axis=0), np.float64)

    def by_group(self) -> dict[str, list[str]]:
        """Rails of each group; nothing when there are no groups."""
        groups: dict[str, list[str]] = {}
        for rail, group in self.groups.items():
            groups.setdefault(group, []).append(rail)
        return groups

    def joules(self, begin: float, end: float, rail: str | None = None) -> float:
        """Energy from `begin` to `end` (seconds), of one rail or of all. Time outside the trace has none."""
        overlap = np.minimum(self.edges[1:], end) - np.maximum(self.edges[:-1], begin)
        power = self.total if rail is None else self.watts[rail]
        return float(np.sum(np.maximum(overlap, 0) * power))

    def mean_watts(self, begin: float, end: float) -> float | None:
        """Mean power from `begin` to `end`, as far as the trace goes; None when it has none of that time."""
        covered = min(self.end, end) - max(self.begin, begin)
        return self.joules(begin, end) / covered if covered > 0 else None

    def missing(self, begin: float, end: float) -> float:
        """Seconds from `begin` to `end` that lie in gaps or outside the trace."""
        inside = [(max(a, begin), min(b, end)) for a, b in self.gaps]
        outside = max(0.0, min(self.begin, end) - begin) + max(0.0, end - max(self.end, begin))
        return outside + sum(max(0.0, b - a) for a, b in inside)


def of_readings(times: Floats, watts: Mapping[str, Floats], longest: float) -> Trace:
    """
    The trace of momentary readings: between two of them power is taken to change linearly. Intervals longer than `longest`
    seconds
    are gaps.
    """
    between = np.diff(times)
    gaps = tuple((float(times[i]), float(times[i + 1])) for i in np.flatnonzero(between > longest))
    return Trace(times, {rail: (values[1:] + values[:-1]) / 2 for rail, values in watts.items()}, gaps=gaps)
