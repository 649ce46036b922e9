# SPDX-License-Identifier: BSD-3-Clause
"""
Figure 8.14 and table 8.2 of `assasin bench varve`: a network for MNIST on the RTL of a tile (docs/varve/bench.md 4.3).

firmware/offload/varve/mnist.c has the layers. All forms run on the tile with VarVE-full, since the convolution reads nine streams.
Features and sums are compared with those of whole numbers in numpy; cycles are those of whole calls. Of two ways to compute a
convolution a form takes the one with fewer cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assasin import varve_counters, varve_train
from assasin.varve_stated import MNIST as STATED
from assasin.varve_stated import NETWORKS, Stated
from assasin.varve_tile import (
    FULL_CONFIG,
    FULL_TILE,
    WORKLOADS,
    Row,
    Script,
    Values,
    VarveBenchError,
    answers,
    ended,
    padded,
    taken,
)
from assasin.varve_train import CLASSES, FILTERS, FOLDS, POOLED, SIDE, VARIANTS, Network, Pixels, Whole

FIGURE, TABLE = "8.14", "table8.2"

SCALAR, ZVE32X = ("scalar", "scalar-clang"), tuple(f"zve32x-m{m}" for m in (1, 2, 4, 8))
BASELINE = ("baseline", "baseline-clang")
"""Programs of the scalar form for a core with caches."""
FORMS = {"scalar": SCALAR, "zve32x": ZVE32X[:1], "zve32x-best": ZVE32X, "pup": ("pup", *ZVE32X[:1]), "full": ("full",)}
"""Programs of a form, of which each layer takes the one with fewest cycles. A core with VarVE-pup runs code of Zve32x too."""

GROUP, PIECE_CLASSES = 8, 5
"""Filters and classes of a call."""
PIECE = GROUP * POOLED * POOLED
_PLACES, _PIXELS, _DENSE = 0, 1, 2
_PLANE = SIDE // 2
_ROOM = {_PLACES: GROUP * 4 * POOLED * _PLANE, _PIXELS: GROUP * (SIDE + 2) ** 2}
"""Words for the sums before the maximum."""
_KERNELS = {**dict.fromkeys((*SCALAR, *BASELINE), (_PIXELS,)), "zve32x-m1": (_PLACES, _PIXELS)}
"""Ways in which a program has the convolution, default by places."""

IMAGE = 500
"""A test image of fold 0."""
GROUPS = FILTERS // GROUP
QUICK_PROGRAMS = ("scalar", "zve32x-m1", "pup", "full")


@dataclass(frozen=True)
class Layer:
    """What a layer takes, over all its calls."""

    program: str
    kernel: int
    cycles: int
    instructions: int
    counts: dict[str, int]
    """As of varve_tile.Measured."""

    @property
    def name(self) -> str:
        """With the way in which a convolution was computed."""
        return f"{self.program}{' by pixels' if self.kernel == _PIXELS else ''}"


def _planes(image: Values) -> Values:
    """Of even and odd rows and columns, 14 x 14 each."""
    return np.concatenate([image[y::2, x::2].ravel() for y in (0, 1) for x in (0, 1)]).astype("<u4")


def _columns() -> Values:
    """Of each filter a bit a place of a plane's 13 rows: whether it is one of 13 columns."""
    bits = np.tile(np.arange(_PLANE) < POOLED, GROUP * POOLED)
    return np.packbits(bits, bitorder="little")


def convolution(kernel: int, image: Values, group: int) -> Script:
    """A call for 8 filters over an image."""
    script = Script()
    pixels = script.input(image.astype("<u4").ravel() if kernel == _PIXELS else _planes(image))
    columns, room = script.input(_columns()), script.input(np.zeros(_ROOM[kernel], "<u4"))
    out = script.output(np.zeros(PIECE, "<u4"), 4 * PIECE)
    script.arguments([kernel, group, pixels, room, columns, 0, *[0] * PIECE_CLASSES, out])
    return script


def dense(features: Values, weights: Values) -> Script:
    """A call for 5 classes over the features of 8 filters."""
    script = Script()
    at = script.input(features.astype("<i4"))
    columns = [script.input(w.astype("<i4")) for w in weights]
    out = script.output(np.zeros(PIECE_CLASSES, "<i4"), 4 * PIECE_CLASSES)
    script.arguments([_DENSE, 0, at, 0, 0, len(features), *columns, out])
    return script


def _run(network: str, program: str, kernel: int, what: str, scripts: list[Script], wanted: list[Values], tile: Path) -> Layer:
    """Runs calls of a layer. Raises VarveBenchError, also for a wrong result."""
    what = f"{network} as {program}, {what}"
    cycles = instructions = 0
    counts: dict[str, int] = {}
    for k, (run, output) in enumerate(answers(WORKLOADS / f"{network}-{program}.elf", what, scripts, tile)):
        ended(run, what)
        stored, right = bytes.fromhex(output["bytes"]), padded(wanted[k])
        if stored != right:
            at = next(i for i, (a, b) in enumerate(zip(stored, right, strict=True)) if a != b)
            raise VarveBenchError(f"{what}, call {k}: byte {at} is {stored[at]:#04x}, not {right[at]:#04x}: the result is wrong")
        call = taken(run, what)
        cycles, instructions = cycles + call.cycles, instructions + call.instructions
        counts = {name: counts.get(name, 0) + n for name, n in call.counts.items()}
    return Layer(program, kernel, cycles, instructions, counts)


def layers(
    name: str,
    network: Network,
    program: str,
    image: Pixels,
    groups: int = GROUPS,
    tile: Path = FULL_TILE,
    warm: bool = False,
) -> tuple[Layer, Layer]:
    """
    Convolution with the maximum, and the dense layer, of an image by a program. Raises VarveBenchError, also for a wrong result.

    groups: of eight filters; the dense layer adds up their features. warm: as of Script.
    """

    def run(kernel: int, what: str, scripts: list[Script], wanted: list[Values]) -> Layer:
        for script in scripts:
            script.warm = warm
        return _run(name, program, kernel, what, scripts, wanted, tile)

    features = varve_train.pooled(network, image[None])[0].reshape(GROUPS, GROUP, POOLED * POOLED)[:groups]
    found = []
    for kernel in _KERNELS.get(program, (_PLACES,)):
        scripts = [convolution(kernel, image, g) for g in range(groups)]
        # By pixels the filters of a place lie side by side.
        wanted = [(group.T if kernel == _PIXELS else group).astype("<u4").ravel() for group in features]
        found.append(run(kernel, "convolution", scripts, wanted))
    weights = network.dense.reshape(CLASSES // PIECE_CLASSES, PIECE_CLASSES, GROUPS, PIECE)
    calls = [(features[g].ravel(), w[:, g]) for w in weights for g in range(groups)]
    sums = [(w @ x).astype("<i4") for x, w in calls]
    second = run(_DENSE, "dense layer", [dense(x, w) for x, w in calls], sums)
    return min(found, key=lambda t: t.cycles), second


def best(of: dict[str, tuple[Layer, Layer]], programs: tuple[str, ...]) -> tuple[Layer, Layer]:
    """The layers of a form, each by its fastest program."""
    first, second = (min((of[p][k] for p in programs), key=lambda t: t.cycles) for k in (0, 1))
    return first, second


def _accuracy(name: str, network: Network, digits: varve_train.Images, counts: Whole) -> Iterator[Row]:
    """Rows of table 8.2; counts: of the network as trained and as whole numbers, by fold."""
    ours = varve_train.right(network, digits, 0)
    if ours != counts[1, 0]:
        raise VarveBenchError(f"{name}: {ours} test images get their class, mnist.npz says {counts[1, 0]}")
    total = 1000 * FOLDS
    unit = f"share of {total} images in {FOLDS} folds; the dissertation trained on 60,000 and tested on 10,000"
    config = "numpy, whole numbers"
    share = float(counts[1].sum()) / total
    # 95 % by the normal distribution.
    half = 1.96 * (share * (1 - share) / total) ** 0.5
    stated = NETWORKS[name]
    yield Row(TABLE, name, "scalar", "accuracy", share, stated.accuracy, unit, config, share - half, share + half)
    yield Row(TABLE, name, "scalar", "accuracy_as_trained", float(counts[0].sum()) / total, None, unit, "numpy, 32-bit floats")
    yield Row(TABLE, name, "scalar", "accuracy_fold_0", ours / 1000, None, "share of the 1,000 images of fold 0", config)
    yield Row(TABLE, name, "scalar", "zeros", network.zeros, stated.zeros, "share of the weights", config)


def run(quick: bool, tell: Callable[[str], None]) -> Iterator[Row]:
    """Measures both networks. Raises VarveBenchError."""
    kept, digits = varve_train.committed(), varve_train.images()
    if digits.crc != kept.crc:
        raise VarveBenchError("the digits of MNIST are not those that mnist.npz was trained on")
    groups = 1 if quick else GROUPS
    forms = {form: tuple(p for p in programs if not quick or p in QUICK_PROGRAMS) for form, programs in FORMS.items()}
    what = f"an image, {GROUP * groups} of {FILTERS} filters"
    scalar: dict[str, int] = {}
    for v, name in enumerate(VARIANTS):
        network = kept.networks[name]
        yield from _accuracy(name, network, digits, kept.counts[v])
        of = {}
        for program in dict.fromkeys(p for programs in forms.values() for p in programs):
            tell(f"{name} as {program}, {what}")
            of[program] = layers(name, network, program, digits.pixels[IMAGE], groups)
        found = {form: best(of, programs) for form, programs in forms.items()}
        cycles = {form: first.cycles + second.cycles for form, (first, second) in found.items()}
        scalar.setdefault("cycles", cycles["scalar"])
        for form, (first, second) in found.items():
            unit = f"for {what}: convolution {first.name}, dense layer {second.name}"

            def row(metric: str, ours: float, unit: str, form: str = form) -> Row:
                stated = STATED.get((name, form, metric), Stated())  # noqa: B023
                return Row(FIGURE, name, form, metric, ours, stated.value, unit, FULL_CONFIG)  # noqa: B023

            yield row("cycles", cycles[form], f"cycles {unit}")
            yield row("cycles_convolution", first.cycles, f"cycles {unit}")
            yield row("cycles_dense", second.cycles, f"cycles {unit}")
            yield row("instructions", first.instructions + second.instructions, f"instructions {unit}")
            if first.counts and second.counts:
                both = {n: first.counts[n] + second.counts[n] for n in first.counts}
                yield from varve_counters.rows(FIGURE, name, form, both, unit, FULL_CONFIG)
            if form != "scalar":
                # Of both networks over scalar code of the one that is not pruned, as the dissertation has it.
                yield row("speedup_over_scalar", scalar["cycles"] / cycles[form], "1")
            for over in ("zve32x", "zve32x-best"):
                if list(FORMS).index(form) > list(FORMS).index(over):
                    yield row(f"speedup_over_{over.replace('-', '_')}", cycles[over] / cycles[form], "1")
