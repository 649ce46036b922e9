# SPDX-License-Identifier: BSD-3-Clause
"""Reads Vivado's text reports: report_utilization and report_timing_summary (UG835)."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path

from assasin.errors import AssasinError


class ReportError(AssasinError):
    """A report is missing or not what its name says."""


@dataclass(frozen=True)
class Utilisation:
    """What a design uses of its part."""

    lut: int
    ff: int
    bram36: float
    """Block RAM tiles; half a tile is an 18 Kibit block."""
    uram: int
    dsp: int

    def json(self) -> dict[str, float]:
        """As manifests have it."""
        return asdict(self)


@dataclass(frozen=True)
class Timing:
    """Worst slacks over all clocks."""

    wns_ns: float | None
    """Setup; None when nothing is constrained."""
    whs_ns: float | None
    """Hold."""
    failing: int
    """Endpoints that miss setup or hold."""


# Row names of 7-series and UltraScale+; a footnote's star may follow.
_ROWS = {
    "lut": ("Slice LUTs", "CLB LUTs"),
    "ff": ("Slice Registers", "CLB Registers"),
    "bram36": ("Block RAM Tile",),
    "dsp": ("DSPs",),
    "uram": ("URAM",),
}


def read_utilisation(path: Path) -> Utilisation:
    """A report of report_utilization. Raises ReportError."""
    used: dict[str, float] = {}
    for line in _lines(path, "Utilization Design Information"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) < 4:
            continue
        for item, names in _ROWS.items():
            if cells[0].rstrip("*") in names and item not in used:
                try:
                    used[item] = float(cells[1])
                except ValueError as e:
                    raise ReportError(f"{path}: {cells[0]}: '{cells[1]}' is not a number") from e
    missing = [names[0] for item, names in _ROWS.items() if item not in used and item != "uram"]
    if missing:
        raise ReportError(f"{path}: there is no row '{missing[0]}'")
    return Utilisation(int(used["lut"]), int(used["ff"]), used["bram36"], int(used.get("uram", 0)), int(used["dsp"]))


def read_timing(path: Path) -> Timing:
    """A report of report_timing_summary. Raises ReportError."""
    lines = _lines(path, "Design Timing Summary")
    header = next((i for i, line in enumerate(lines) if re.match(r"\s*WNS\(ns\)\s+TNS\(ns\)", line)), None)
    if header is None or header + 2 >= len(lines):
        raise ReportError(f"{path}: there is no table of WNS and TNS")
    names = re.split(r"\s{2,}", lines[header].strip())
    values = lines[header + 2].split()
    if len(values) < len(names):
        raise ReportError(f"{path}: '{lines[header + 2].strip()}' has {len(values)} values for {len(names)} columns")
    row = dict(zip(names, values, strict=False))
    try:
        wns, whs = (None if row[key] in ("NA", "inf") else float(row[key]) for key in ("WNS(ns)", "WHS(ns)"))
        failing = sum(int(row[key]) for key in ("TNS Failing Endpoints", "THS Failing Endpoints") if row[key] != "NA")
    except (KeyError, ValueError) as e:
        raise ReportError(f"{path}: the timing table is not understood: {e}") from e
    return Timing(wns, whs, failing)


def _lines(path: Path, title: str) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as e:
        raise ReportError(f"{path}: {e.strerror}; run the stage that writes it again") from e
    if title not in text:
        raise ReportError(f"{path}: '{title}' is not in it: this is another report, or half of one")
    return text.splitlines()
