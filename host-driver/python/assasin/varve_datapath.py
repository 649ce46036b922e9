# SPDX-License-Identifier: BSD-3-Clause
"""
Figure 8.16 of `assasin bench varve`: filters of TPC-H on tiles whose vectors and data path have 128, 256 and 512 bits.

All forms run on the tile with VarVE-full of that size (docs/varve/bench.md 5.3), as with the other figures of filters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from assasin import varve_filters
from assasin.varve_data import Window
from assasin.varve_filters import GROWING, mean
from assasin.varve_stated import DATAPATH, Stated
from assasin.varve_tile import FULL_TILE, TILES, Measured, Row, missing

FIGURE = "8.16"

FORMS = {"scalar": ("scalar", "scalar-clang"), "zve32x": ("zve32x-m1",), "pup": ("pup",), "full": ("full",)}
"""Programs of a form, of which a filter takes the one with fewest cycles."""

SIZES = {128: TILES / "AssasinVf-d128" / "kernel_tile", 256: FULL_TILE, 512: TILES / "AssasinVf-d512" / "kernel_tile"}
"""Tiles by VLEN and DLEN in bits."""

RATIOS = (("speedup_over_scalar", "scalar", ("zve32x", "pup", "full")), ("speedup_over_zve32x", "zve32x", ("pup", "full")))
"""Metric, what it is over, and of which forms."""


def _rows(workload: str, size: int, found: Sequence[dict[str, Measured]], why: str | None) -> Iterator[Row]:
    """Speed-ups, the geometric mean of what was found on the tile of a size."""
    for metric, over, forms in RATIOS:
        for form in forms:
            stated = DATAPATH.get((form, metric), Stated()) if workload == "geomean" else Stated(plotted=True)
            ours = None if why else mean([m[over].cycles / m[form].cycles for m in found])
            yield _row(workload, size, form, metric, ours, "1", stated, why)


def _row(
    workload: str, size: int, form: str, metric: str, ours: float | None, unit: str, stated: Stated, why: str | None = None
) -> Row:
    config = f"tile of AssasinVf, VLEN and DLEN {size}"
    name = workload if size == 256 else f"{workload}/d{size}"
    return Row(FIGURE, name, form, metric, ours, stated.value, unit, config, plotted=stated.plotted, why=why)


def _why(size: int, found: int) -> str | None:
    """Why there is no mean over the filters on the tile of a size."""
    why = missing(SIZES[size])
    if why:
        return why
    return None if found == GROWING else f"{found} of the {GROWING} filters were measured"


def run(filters: Sequence[str] | None, quick: bool, seed: int, tell: Callable[[str], None]) -> Iterator[Row]:
    """Measures the filters named, default those of tables that grow, on the tiles that are built. Raises VarveBenchError."""
    described = varve_filters.description()
    names = varve_filters.chosen(described, filters, quick)
    taken = [f for f in described["filters"] if f["name"] in names and f["grows"]]
    for size, tile in SIZES.items():
        measured: list[dict[str, Measured]] = []
        for f in taken if tile.exists() else ():
            n = varve_filters.rows_of(f, described["columns"], quick)
            window = Window(f["table"], n, seed)
            half, whole = (varve_filters.call(f, described["columns"], window, k) for k in (n // 2, n))
            found: dict[str, Measured] = {}
            for form, programs in FORMS.items():
                tell(f"{f['name']} as {form}, {n} rows, vectors of {size} bits")
                found[form] = min((varve_filters.measure(p, half, whole, tile) for p in programs), key=lambda m: m.cycles)
            measured.append(found)
            for form, m in found.items():
                yield _row(f["name"], size, form, "cycles", m.cycles, f"cycles, {m.program}, {n} rows", Stated())
            yield from _rows(f["name"], size, [found], None)
        yield from _rows("geomean", size, measured, _why(size, len(measured)))
