# SPDX-License-Identifier: BSD-3-Clause
"""
Static timing of a flat netlist of 7-series primitives: the slowest paths between chosen ends, without wires. One clock. Ports of
the design are no ends, or stand for flip-flops.
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
    start_net: str = ""
    end_net: str = ""
    """Nets by their name in the sources, without the bit: what `start` drives, and what the flip-flop at the end drives."""


@dataclass(frozen=True)
class _End:
    net: int
    cell: str
    kind: str
    ps: int


class Timing:
    """
    The timing graph of one module of a netlist that yosys has written as JSON. `ports`: a flip-flop stands before each input and
    behind each output, so that a module has a period by itself.
    """

    def __init__(self, module: dict[str, Any], ports: bool = False) -> None:
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
        self._names = _names(module.get("netnames", {}))
        self._drives = {name: _first_output(cell) for name, cell in module["cells"].items()}
        if ports:
            self._add_ports(module["ports"])
        self._order = self._sorted()

    @staticmethod
    def of_file(path: Path, module: str, ports: bool = False) -> Timing:
        """The module of a file that `write_json` wrote."""
        return Timing(json.loads(path.read_text())["modules"][module], ports)

    def _add_ports(self, ports: dict[str, dict[str, Any]]) -> None:
        flop = delays.library()["FDRE"]
        launch, setup = dict(flop.launch)["Q"], dict(flop.setup)["D"]
        for name, port in ports.items():
            nets = [bit for bit in port["bits"] if isinstance(bit, int)]
            if port["direction"] == "input":
                self._starts += [_End(net, name, "port", launch) for net in nets]
            else:
                self._ends += [_End(net, name, "port", setup) for net in nets]

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
        return next(iter(self.worst(1, start, end)), None)

    def worst(self, count: int, start: Select = anything, end: Select = anything) -> list[SlowPath]:
        """
        The slowest paths between cells so selected, slowest first: of those that lead into one register, the bits of a net, the
        slowest alone.
        """
        arrival: dict[int, tuple[int, _End, int]] = {}
        for e in self._starts:
            if start(e.cell, e.kind) and (e.net not in arrival or arrival[e.net][0] < e.ps):
                arrival[e.net] = (e.ps, e, 0)
        for net in self._order:
            if net not in arrival:
                continue
            ps, origin, levels = arrival[net]
            for target, delay in self._arcs.get(net, ()):
                if target not in arrival or arrival[target][0] < ps + delay:
                    arrival[target] = (ps + delay, origin, levels + 1)
        found: dict[str, SlowPath] = {}
        for e in self._ends:
            if e.net not in arrival or not end(e.cell, e.kind):
                continue
            ps, origin, levels = arrival[e.net]
            name = self._end_name(e)
            if name not in found or found[name].ps < ps + e.ps:
                found[name] = SlowPath(ps + e.ps, origin.cell, e.cell, levels, self._names.get(origin.net, origin.cell), name)
        return sorted(found.values(), key=lambda p: -p.ps)[:count]

    def _end_name(self, end: _End) -> str:
        driven = self._drives.get(end.cell)
        return end.cell if driven is None else self._names.get(driven, end.cell)


def _names(netnames: dict[str, dict[str, Any]]) -> dict[int, str]:
    """Bits to the shortest name that the sources have for them."""
    found: dict[int, str] = {}
    for name, net in netnames.items():
        if net.get("hide_name"):
            continue
        for bit in net["bits"]:
            if isinstance(bit, int) and (bit not in found or len(name) < len(found[bit])):
                found[bit] = name
    return found


def _first_output(cell: dict[str, Any]) -> int | None:
    """The net that a flip-flop drives; None for another cell."""
    if not cell["type"].startswith(("FD", "LD")):
        return None
    return next(iter(_nets(cell["connections"], "Q")), None)


def _nets(pins: dict[str, list[int | str]], port: str) -> Iterable[int]:
    """Nets at `port` or `port[bit]`; constants are none."""
    name, _, index = port.rstrip("]").partition("[")
    bits = pins.get(name, [])
    chosen = bits[int(index) : int(index) + 1] if index else bits
    return [bit for bit in chosen if isinstance(bit, int)]
