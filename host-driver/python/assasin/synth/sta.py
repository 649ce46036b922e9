# SPDX-License-Identifier: BSD-3-Clause
"""
Static timing of a flat netlist of 7-series primitives: the slowest path between chosen ends, without wires. One clock; ports of the
design are no ends.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assasin.synth import SynthError, delays

Select = Callable[[str, str], bool]
"""(instance, type of cell) to whether it counts."""

_UNTIMED = ("GND", "VCC", "$scopeinfo", "BUFG", "IBUF", "OBUF")


def anything(_name: str, _kind: str) -> bool:
    """Every cell."""
    return True


@dataclass(frozen=True)
class SlowPath:
    """A path from a clocked cell to a clocked cell. `ps`: clock to output, logic and set-up."""

    ps: int
    start: str
    end: str
    levels: int
    """Cells between them."""


@dataclass(frozen=True)
class _End:
    net: int
    cell: str
    kind: str
    ps: int


class Timing:
    """The timing graph of one module of a netlist that yosys has written as JSON."""

    def __init__(self, module: dict[str, Any]) -> None:
        self._arcs: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._fan_in: dict[int, int] = defaultdict(int)
        self._starts: list[_End] = []
        self._ends: list[_End] = []
        untimed: set[str] = set()
        for name, cell in module["cells"].items():
            kind = cell["type"]
            if kind in _UNTIMED:
                continue
            try:
                timing = delays.of_cell(kind, cell["parameters"])
            except KeyError:
                untimed.add(kind)
                continue
            self._add(name, kind, timing, cell["connections"])
        if untimed:
            raise SynthError(f"the library has no timing of {', '.join(sorted(untimed))}")
        self._order = self._sorted()

    @staticmethod
    def of_file(path: Path, module: str) -> Timing:
        """The module of a file that `write_json` wrote."""
        return Timing(json.loads(path.read_text())["modules"][module])

    def _add(self, name: str, kind: str, timing: delays.CellTiming, pins: dict[str, list[int | str]]) -> None:
        for a, b, ps in timing.arcs:
            for source in _nets(pins, a):
                for target in _nets(pins, b):
                    self._arcs[source].append((target, ps))
                    self._fan_in[target] += 1
        self._ends += [_End(net, name, kind, ps) for port, ps in timing.setup for net in _nets(pins, port)]
        self._starts += [_End(net, name, kind, ps) for port, ps in timing.launch for net in _nets(pins, port)]

    def _sorted(self) -> list[int]:
        """Nets, each behind those it depends on. Raises SynthError for a loop of logic."""
        left = dict(self._fan_in)
        nets = set(self._arcs) | {e.net for e in self._starts} | set(self._fan_in)
        ready = deque(n for n in nets if not left.get(n))
        order = []
        while ready:
            net = ready.popleft()
            order.append(net)
            for target, _ in self._arcs.get(net, ()):
                left[target] -= 1
                if not left[target]:
                    ready.append(target)
        if len(order) != len(nets):
            raise SynthError(f"a loop of logic through {len(nets) - len(order)} nets has no timing")
        return order

    def slowest(self, start: Select = anything, end: Select = anything) -> SlowPath | None:
        """The slowest path that starts and ends in cells so selected; None when there is none."""
        arrival: dict[int, tuple[int, str, int]] = {}
        for e in self._starts:
            if start(e.cell, e.kind) and (e.net not in arrival or arrival[e.net][0] < e.ps):
                arrival[e.net] = (e.ps, e.cell, 0)
        for net in self._order:
            if net not in arrival:
                continue
            ps, cell, levels = arrival[net]
            for target, delay in self._arcs.get(net, ()):
                if target not in arrival or arrival[target][0] < ps + delay:
                    arrival[target] = (ps + delay, cell, levels + 1)
        found = [
            SlowPath(arrival[e.net][0] + e.ps, arrival[e.net][1], e.cell, arrival[e.net][2])
            for e in self._ends
            if e.net in arrival and end(e.cell, e.kind)
        ]
        return max(found, key=lambda p: p.ps, default=None)


def _nets(pins: dict[str, list[int | str]], port: str) -> Iterable[int]:
    """Nets at `port` or `port[bit]`; constants are none."""
    name, _, index = port.rstrip("]").partition("[")
    bits = pins.get(name, [])
    chosen = bits[int(index) : int(index) + 1] if index else bits
    return [bit for bit in chosen if isinstance(bit, int)]
