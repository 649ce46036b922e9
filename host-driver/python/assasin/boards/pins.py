# SPDX-License-Identifier: BSD-3-Clause
"""pins.csv of a board: which package pin a port of the top level is on, and its electrical settings."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from assasin.boards.record import BoardFileError

COLUMNS = ("signal", "pin", "bank", "iostandard", "attrs")

_SIGNAL = re.compile(r"[a-z][a-z0-9_]*(\[\d+\])?")
_PIN = re.compile(r"[A-Z]{1,2}\d{1,2}")
_ATTRIBUTE = re.compile(r"[A-Z_]+=[A-Z0-9_]+")


@dataclass(frozen=True)
class Pin:
    """One package pin."""

    signal: str
    """Port of the top level, with index where it is a vector: nand0_dq[3]."""
    pin: str
    """Package pin: AJ25. Empty for one half of a differential pair whose place the other half fixes."""
    bank: int | None
    """I/O bank, where it is known."""
    iostandard: str
    """I/O standard; empty for transceiver pins, which have none."""
    attrs: tuple[tuple[str, str], ...]
    """Further properties of the port, such as ("SLEW", "FAST")."""

    @property
    def port(self) -> str:
        """Port without its index."""
        return self.signal.partition("[")[0]

    @property
    def partner(self) -> str | None:
        """Signal of the other half of a differential pair, None for a single-ended signal."""
        port, bracket, index = self.signal.partition("[")
        if port[-2:] not in ("_p", "_n") or not (self.iostandard.startswith("DIFF_") or not self.iostandard):
            return None
        return port[:-1] + ("n" if port[-1] == "p" else "p") + bracket + index


def read_pins(path: Path, label: str) -> tuple[Pin, ...]:
    """Pins of one file; messages call it `label`. Raises BoardFileError."""
    pins: list[Pin] = []
    signals: dict[str, int] = {}
    places: dict[str, int] = {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        header = next(rows, [])
        if tuple(header) != COLUMNS:
            raise BoardFileError(f"{label}: the first line is '{','.join(header)}', must be '{','.join(COLUMNS)}'")
        for row in rows:
            line = rows.line_num
            pins.append(_pin(row, f"{label}:{line}"))
            for seen, key, what in ((signals, pins[-1].signal, "signal"), (places, pins[-1].pin, "pin")):
                if key and key in seen:
                    raise BoardFileError(f"{label}:{line}: {what} {key} is there already, on line {seen[key]}")
                seen[key] = line
    placed = {pin.signal for pin in pins if pin.pin}
    for pin in pins:
        if not pin.pin and pin.partner not in placed:
            raise BoardFileError(f"{label}:{signals[pin.signal]}: {pin.signal} has no pin, nor has another half of a pair")
    return tuple(pins)


def _pin(row: list[str], where: str) -> Pin:
    if len(row) != len(COLUMNS):
        raise BoardFileError(f"{where}: {len(row)} columns, {len(COLUMNS)} belong there")
    signal, pin, bank, standard, attributes = row
    if not _SIGNAL.fullmatch(signal):
        raise BoardFileError(f"{where}: signal '{signal}' is not a port name such as nand0_dq[3]")
    if pin and not _PIN.fullmatch(pin):
        raise BoardFileError(f"{where}: pin '{pin}' is not a package pin such as AJ25")
    if not re.fullmatch(r"\d{0,3}", bank):
        raise BoardFileError(f"{where}: bank '{bank}' is not a number")
    attrs = []
    for attribute in filter(None, attributes.split(";")):
        if not _ATTRIBUTE.fullmatch(attribute):
            raise BoardFileError(f"{where}: attribute '{attribute}' is not NAME=VALUE")
        name, _, value = attribute.partition("=")
        attrs.append((name, value))
    return Pin(signal, pin, int(bank) if bank else None, standard, tuple(attrs))
