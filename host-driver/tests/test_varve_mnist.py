# SPDX-License-Identifier: BSD-3-Clause
"""The network for MNIST: its whole numbers against loops, and its layers on the RTL of a tile."""

from __future__ import annotations

import os
import random
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from assasin import varve_mnist, varve_train
from assasin.tree import ROOT
from assasin.varve_tile import VarveBenchError
from assasin.varve_train import Network, Pixels

SEED = int(os.environ.get("SEED", random.randrange(1 << 32)))


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    subprocess.run(["make", "-s", "-C", ROOT / "firmware" / "offload", "networks"], check=True)
    subprocess.run([ROOT / "hw" / "cosim" / "kernel-tile"], check=True)


def drawn_image(rng: np.random.Generator) -> Pixels:
    """Four of five pixels are 0, as of a digit; those at the corners are not."""
    image = np.where(rng.random((28, 28)) < 0.2, rng.integers(1, 256, (28, 28)), 0).astype(np.uint8)
    image[[0, 0, -1, -1], [0, -1, 0, -1]] = 255
    return image


def drawn_network(rng: np.random.Generator) -> Network:
    return Network(rng.integers(-127, 128, (32, 9)), rng.integers(-127, 128, (10, 5408)), rng.integers(-1000, 1000, 10), 3)


def test_whole_numbers_are_those_of_loops() -> None:
    rng = np.random.default_rng(SEED)
    network, image = drawn_network(rng), drawn_image(rng)
    pixels, filters = image.tolist(), network.filters.tolist()

    def value(f: int, y: int, x: int) -> int:
        return sum(filters[f][3 * dy + dx] * pixels[y + dy][x + dx] for dy in range(3) for dx in range(3))

    features = varve_train.pooled(network, image[None])[0]
    for f in (0, 7, 31):
        for y in range(13):
            for x in range(13):
                top = max(0, *(value(f, 2 * y + a, 2 * x + b) for a in (0, 1) for b in (0, 1)))
                assert features[f, y, x] == top >> 3, f"SEED={SEED}"
    flat = [int(v) for f in features.tolist() for row in f for v in row]
    dense = network.dense.tolist()
    sums = [sum(w * v for w, v in zip(dense[c], flat, strict=True)) + int(network.bias[c]) for c in range(10)]
    assert varve_train.scores(network, features[None])[0].tolist() == sums, f"SEED={SEED}"


@pytest.mark.parametrize("name", varve_train.VARIANTS)
@pytest.mark.parametrize("program", ["zve32x-m1", "zve32x-m8", "pup", "full"])
def test_layers_on_the_tile(name: str, program: str) -> None:
    rng = np.random.default_rng(SEED)
    network, image = varve_train.committed().networks[name], drawn_image(rng)
    first, second = varve_mnist.layers(name, network, program, image, 1)
    assert first.cycles > first.instructions * 0.9 and second.cycles > 0, f"SEED={SEED}"


def test_a_wrong_result_is_found() -> None:
    rng = np.random.default_rng(SEED)
    network, image = varve_train.committed().networks["mnist-pruned"], drawn_image(rng)
    image[:9, :9] = 9
    # The program has the committed filters.
    other = network.filters.copy()
    other[3] += 1
    with pytest.raises(VarveBenchError, match=r"mnist-pruned as full, convolution, call 0: byte .*: the result is wrong"):
        varve_mnist.layers("mnist-pruned", replace(network, filters=other), "full", image, 1)


def test_what_is_committed_is_what_it_says() -> None:
    kept, digits = varve_train.committed(), varve_train.images()
    assert kept.crc == digits.crc and np.bincount(digits.classes).tolist() == [500] * 10
    for v, name in enumerate(varve_train.VARIANTS):
        network = kept.networks[name]
        assert varve_train.right(network, digits, 0) == kept.counts[v, 1, 0] > 940
        assert np.abs(network.filters).max() == np.abs(network.dense).max() == 127
        # No sum of a test image leaves 32 bits.
        features = varve_train.pooled(network, digits.pixels[::5])
        assert features.max() < 1 << 17
        assert (features.reshape(len(features), -1) @ np.abs(network.dense).T).max() < 1 << 31
    assert kept.networks["mnist"].zeros < 0.1 and kept.networks["mnist-pruned"].zeros > 0.8


def test_missing_digits_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSASIN_DATA", "/nonexistent")
    with pytest.raises(VarveBenchError, match="run scripts/setup"):
        varve_train.images()
