# SPDX-License-Identifier: BSD-3-Clause
"""Functions over binary data (sum, select, transpose, kmeans, linreg, pagerank, the neural network, hamming) against numpy."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest
from iss import ROOT, Core
from native import run
from sklearn.datasets import load_digits

OFFLOAD = ROOT / "build" / "offload"
ARCHS = ["sb", "sp", "mem"]
BAD_ARGUMENTS, TRUNCATED, BAD_VALUE = 1, 2, 3
PAGE = 4096


def run_all(name: str, inputs: list[bytes], args: bytes = b"", outputs: int = 1) -> tuple[int, list[bytes]]:
    """Runs the native build and the machine code of every architecture, pages at random times. All must agree."""
    expected = run(name, inputs, args, outputs)
    for seed, arch in enumerate(ARCHS, len(inputs[0]) + 1):
        core = Core(OFFLOAD / arch / f"{name}.elf", inputs, args, outputs, software=arch != "sb", seed=seed)
        value = core.run()
        assert value is not None, f"{arch}: waits for ever"
        if value:
            assert value == expected[0], arch
        else:
            assert (value, core.out) == expected, arch
    return expected


def ints(size: int, low: int, high: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed + size).integers(low, high, size, dtype=np.int64).astype("<i4")


@pytest.mark.parametrize("words", [0, 1, 7, 8, 9, 31, 32, 33, 5000, 40_001])
@pytest.mark.parametrize("more", [0, 3])
def test_sum(words: int, more: int) -> None:
    data = ints(words, -(2**31), 2**31)
    value, (out,) = run_all("sum", [data.tobytes() + bytes(more)])
    assert (value, struct.unpack("<II", out)) == (0, (words, int(data.sum(dtype=np.int64)) % 2**32))


@pytest.mark.parametrize("words", [1, 2, 8, 13, 32])
@pytest.mark.parametrize("rows", [0, 1, 1001])
def test_select(words: int, rows: int) -> None:
    rng = random.Random(words + rows)
    table = ints(words * rows, -(2**31), 2**31).reshape(rows, words)
    for mask in {1, 2**words - 1, 1 << (words - 1), rng.randrange(1, 2**words), 0x55555555 & (2**words - 1)}:
        args = struct.pack("<II", words, mask)
        value, (out,) = run_all("select", [table.tobytes()], args)
        assert value == 0
        assert out == table[:, [k for k in range(words) if mask >> k & 1]].tobytes()
        if words > 1:
            assert run_all("select", [table.tobytes() + bytes(4)], args)[0] == TRUNCATED


@pytest.mark.parametrize(("words", "mask"), [(0, 1), (33, 1), (4, 0), (4, 16)])
def test_select_refuses(words: int, mask: int) -> None:
    assert run_all("select", [b""], struct.pack("<II", words, mask)) == (BAD_ARGUMENTS, [b""])


@pytest.mark.parametrize("words", range(1, 9))
@pytest.mark.parametrize("rows", [0, 1, 5, 3000])
def test_transpose(words: int, rows: int) -> None:
    table = ints(words * rows, -(2**31), 2**31).reshape(rows, words)
    value, outs = run_all("transpose", [table.tobytes()], outputs=words)
    assert value == 0
    assert outs == [table[:, k].tobytes() for k in range(words)]
    assert run_all("transpose", [table.tobytes() + b"x"], outputs=words)[0] == TRUNCATED


@pytest.mark.parametrize(("clusters", "dimensions"), [(1, 1), (4, 2), (16, 8), (5, 3)])
@pytest.mark.parametrize("points", [0, 1, 700])
def test_kmeans(clusters: int, dimensions: int, points: int) -> None:
    x = ints(points * dimensions, -8191, 8192).reshape(points, dimensions).astype(np.int64)
    centroids = ints(clusters * dimensions, -8191, 8192, 7).reshape(clusters, dimensions)
    args = struct.pack("<II", clusters, dimensions) + centroids.tobytes()
    distance = ((x[:, None] - centroids[None].astype(np.int64)) ** 2).sum(2)
    nearest = distance.argmin(1)
    expected = b""
    for k in range(clusters):
        mine = nearest == k
        expected += struct.pack("<IQ", mine.sum(), distance[mine, k].sum()) + x[mine].sum(0).astype("<i8").tobytes()
    data = x.astype("<i4").tobytes()
    assert run_all("kmeans", [data], args) == (0, [expected])
    assert run_all("kmeans", [data], args, 2) == (0, [expected, nearest.astype(np.uint8).tobytes()])
    assert run_all("kmeans", [data + b"abc"], args)[0] == TRUNCATED
    assert run_all("kmeans", [struct.pack("<i", 8192) * dimensions], args)[0] == BAD_VALUE


def test_kmeans_refuses() -> None:
    for args in [
        b"",
        struct.pack("<II", 0, 1),
        struct.pack("<IIi", 1, 1, 8192),
        struct.pack("<II", 17, 1) + bytes(68),
        struct.pack("<IIi", 2, 1, 0),
    ]:
        assert run_all("kmeans", [b""], args) == (BAD_ARGUMENTS, [b""])


@pytest.mark.parametrize("columns", [1, 2, 5, 8])
@pytest.mark.parametrize("rows", [0, 1, 900])
def test_linreg(columns: int, rows: int) -> None:
    table = ints(columns * rows, -(2**20), 2**20).reshape(rows, columns).astype(np.int64)
    value, (out,) = run_all("linreg", [table.astype("<i4").tobytes()], struct.pack("<I", columns))
    x = np.hstack([np.ones((rows, 1), np.int64), table])
    assert value == 0
    assert np.array_equal(np.frombuffer(out, "<i8"), (x.T @ x)[np.triu_indices(columns + 1)])
    if columns == 5 and rows == 900:
        gram = np.zeros((6, 6))
        gram[np.triu_indices(6)] = np.frombuffer(out, "<i8")
        gram += np.triu(gram, 1).T
        fit = np.linalg.solve(gram[:5, :5], gram[:5, 5])
        assert np.allclose(fit, np.linalg.lstsq(x[:, :5].astype(float), x[:, 5].astype(float), rcond=None)[0])
    if columns > 1:
        assert run_all("linreg", [table.astype("<i4").tobytes() + bytes(4)], struct.pack("<I", columns))[0] == TRUNCATED


def test_linreg_refuses() -> None:
    for columns in (0, 9):
        assert run_all("linreg", [b""], struct.pack("<I", columns)) == (BAD_ARGUMENTS, [b""])


@pytest.mark.parametrize("vertices", [1, 50, 7000])
@pytest.mark.parametrize("edges", [0, 1, 6000])
def test_pagerank(vertices: int, edges: int) -> None:
    pairs = ints(2 * edges, 0, vertices).reshape(edges, 2)
    gives = ints(vertices, 0, 2**31, 1)
    args = struct.pack("<I", vertices)
    value, (out,) = run_all("pagerank", [pairs.tobytes(), gives.tobytes()], args)
    expected = np.zeros(vertices, np.int64)
    np.add.at(expected, pairs[:, 1], gives[pairs[:, 0]])
    assert value == 0
    assert np.array_equal(np.frombuffer(out, "<u4"), expected % 2**32)
    assert run_all("pagerank", [pairs.tobytes() + bytes(4), gives.tobytes()], args)[0] == TRUNCATED
    assert run_all("pagerank", [pairs.tobytes(), gives.tobytes()[:-1]], args)[0] == TRUNCATED
    assert run_all("pagerank", [pairs.tobytes(), gives.tobytes() + b"x"], args)[0] == TRUNCATED
    assert run_all("pagerank", [pairs.tobytes() + struct.pack("<II", vertices, 0), gives.tobytes()], args)[0] == BAD_VALUE
    assert run_all("pagerank", [pairs.tobytes() + struct.pack("<II", 0, vertices), gives.tobytes()], args)[0] == BAD_VALUE


def test_pagerank_converges_to_the_eigenvector() -> None:
    n, rng = 60, np.random.default_rng(2)
    pairs = np.array([(a, b) for a in range(n) for b in rng.choice(n, 4, replace=False)], "<i4")
    matrix = np.zeros((n, n))
    for a, b in pairs:
        matrix[b, a] += 0.25
    rank = np.full(n, 1 / n)
    for _ in range(30):
        gives = np.floor(rank * 2**31 / 4).astype("<u4")
        _, (out,) = run("pagerank", [pairs.tobytes(), gives.tobytes()], struct.pack("<I", n))
        rank = 0.15 / n + 0.85 * np.frombuffer(out, "<u4") / 2**31
    values, vectors = np.linalg.eig(0.85 * matrix + 0.15 / n)
    best = np.real(vectors[:, np.argmax(np.real(values))])
    assert np.abs(rank - best / best.sum()).max() < 1e-6


class Network:
    """The network of Table 8.2 for the digits data: fixed 3x3 filters, a dense layer fitted by ridge regression, all quantised."""

    SHIFT = 6

    def __init__(self) -> None:
        digits = load_digits()
        images = np.kron(digits.images, np.ones((3, 3))) * 255 / 16
        self.images = np.pad(images, ((0, 0), (2, 2), (2, 2))).astype(np.uint8)
        self.labels = digits.target
        rng = np.random.default_rng(1)
        self.conv = rng.integers(-32, 33, (9, 32))
        self.bias = rng.integers(-500, 500, 32)
        self.features = self.conv_model(self.images)
        train = slice(0, 1300)
        x = self.features[train].astype(float)
        self.mean = x.mean()
        y = np.eye(10)[self.labels[train]] - 0.1
        kernel = x @ x.T
        dual = np.linalg.solve(kernel + np.trace(kernel) / len(x) * 0.01 * np.eye(len(x)), y)
        dense = x.T @ dual
        scale = 2**24
        self.dense = np.rint(dense * scale).astype(np.int64)
        self.dense_bias = np.full(10, int(0.1 * scale), np.int64)

    def conv_model(self, images: np.ndarray) -> np.ndarray:
        p = images.astype(np.int64)
        windows = np.lib.stride_tricks.sliding_window_view(p, (3, 3), axis=(1, 2)).reshape(len(p), 26, 26, 9)
        out = np.maximum(windows @ self.conv + self.bias, 0)
        pooled = out.reshape(len(p), 13, 2, 13, 2, 32).max(axis=(2, 4))
        return (pooled >> self.SHIFT).reshape(len(p), -1)

    def scores(self, features: np.ndarray) -> np.ndarray:
        return features @ self.dense + self.dense_bias

    def conv_args(self) -> bytes:
        return struct.pack("<I", self.SHIFT) + self.bias.astype("<i4").tobytes() + self.conv.astype("<i4").tobytes()

    def weights(self, classes: list[int]) -> bytes:
        return b"".join(np.append(self.dense_bias[c], self.dense[:, c]).astype("<i4").tobytes() for c in classes)


@pytest.fixture(scope="module")
def network() -> Network:
    return Network()


def test_the_network_on_unseen_digits_is_the_integer_model(network: Network) -> None:
    """Layer by layer as a function tree would connect them: one nn_conv feeds five nn_fc of two classes each."""
    images = network.images[1300:]
    value, outs = run("nn_conv", [images.tobytes()], network.conv_args(), outputs=5, room=1 << 24)
    assert value == 0
    features = network.conv_model(images)
    assert all(np.array_equal(np.frombuffer(o, "<i4").reshape(len(images), -1), features) for o in outs)
    exact = network.scores(features)
    assert np.abs(exact).max() < 2**31, "the quantisation must leave 32 bits enough"
    got = []
    for c in range(0, 10, 2):
        value, (out,) = run("nn_fc", [outs[c // 2], network.weights([c, c + 1])], struct.pack("<I", 2))
        assert value == 0
        got.append(np.frombuffer(out, "<i4").reshape(-1, 2))
    scores = np.hstack(got)
    assert np.array_equal(scores, exact)
    accuracy = (scores.argmax(1) == network.labels[1300:]).mean()
    print(f"accuracy {accuracy:.3f} on {len(images)} digits")
    assert accuracy > 0.93


@pytest.mark.parametrize("copies", [1, 3, 8])
def test_the_network_on_cores(network: Network, copies: int) -> None:
    images = network.images[:3]
    value, outs = run_all("nn_conv", [images.tobytes()], network.conv_args(), copies)
    assert value == 0
    features = network.conv_model(images)
    assert outs == [features.astype("<i4").tobytes()] * copies
    for classes in ([3], [0, 9]):
        args = struct.pack("<I", len(classes))
        value, (out,) = run_all("nn_fc", [outs[0], network.weights(classes)], args)
        assert value == 0
        assert np.array_equal(np.frombuffer(out, "<i4").reshape(3, -1), network.scores(features)[:, classes])
        assert run_all("nn_fc", [outs[0][:-4], network.weights(classes)], args)[0] == TRUNCATED
        assert run_all("nn_fc", [outs[0], network.weights(classes)[:-4]], args)[0] == TRUNCATED
        assert run_all("nn_fc", [outs[0], network.weights(classes) + b"1234"], args)[0] == TRUNCATED
    assert run_all("nn_conv", [images.tobytes() + b"x"], network.conv_args(), copies)[0] == TRUNCATED


def test_the_network_refuses() -> None:
    assert run_all("nn_conv", [b""], b"") == (BAD_ARGUMENTS, [b""])
    assert run_all("nn_conv", [b""], struct.pack("<I", 32) + bytes(1280)) == (BAD_ARGUMENTS, [b""])
    for classes in (0, 3):
        assert run_all("nn_fc", [b"", b""], struct.pack("<I", classes)) == (BAD_ARGUMENTS, [b""])


@pytest.mark.parametrize("pages", [0, 1, 2, 5, 20])
def test_hamming(pages: int) -> None:
    rng = random.Random(pages)
    a, b = rng.randbytes(pages * PAGE), rng.randbytes(pages * PAGE)
    code = (np.frombuffer(a, np.uint8) ^ np.frombuffer(b, np.uint8)).tobytes()
    assert run_all("hamming", [a, b], outputs=3) == (0, [a, b, code])
    outs = [b"", b""]
    for i in range(pages):
        page = slice(i * PAGE, (i + 1) * PAGE)
        outs[0] += a[page]
        outs[1] += b[page]
        outs[i % 2] += code[page]
    assert run_all("hamming", [a, b], outputs=2) == (0, outs)


@pytest.mark.parametrize(
    "lengths", [(PAGE, 0), (0, PAGE), (PAGE, 2 * PAGE), (2 * PAGE, PAGE), (100, 100), (PAGE + 8, PAGE + 8), (PAGE, PAGE - 1)]
)
@pytest.mark.parametrize("outputs", [2, 3])
def test_hamming_refuses_unequal_streams_and_parts_of_pages(lengths: tuple[int, int], outputs: int) -> None:
    assert run_all("hamming", [bytes(n) for n in lengths], outputs=outputs)[0] == TRUNCATED


def test_hamming_refuses_other_numbers_of_streams() -> None:
    assert run_all("hamming", [b""], outputs=3)[0] == BAD_ARGUMENTS
    assert run_all("hamming", [b"", b""], outputs=1)[0] == BAD_ARGUMENTS


CYCLES = {
    "sum": 0.52,
    "select": 1.2,
    "transpose": 0.55,
    "kmeans": 20.0,
    "linreg": 25.0,
    "pagerank": 2.2,
    "nn_conv": 800.0,
    "nn_fc": 3.0,
    "hamming": 0.85,
}


@pytest.mark.parametrize(("name", "limit"), CYCLES.items())
def test_cycles_per_byte_of_input(network: Network, name: str, limit: float) -> None:
    n = 1 << 14
    image = network.images[:4].tobytes()
    features = network.conv_model(network.images[:9]).astype("<i4").tobytes()
    inputs, args, outputs = {
        "sum": ([ints(n, 0, 9).tobytes()], b"", 1),
        "select": ([ints(n, 0, 9).tobytes()], struct.pack("<II", 8, 0b00110001), 1),
        "transpose": ([ints(n, 0, 9).tobytes()], b"", 8),
        "kmeans": ([ints(n, 0, 999).tobytes()], struct.pack("<II", 8, 4) + ints(32, 0, 999).tobytes(), 1),
        "linreg": ([ints(n, 0, 999).tobytes()], struct.pack("<I", 4), 1),
        "pagerank": ([ints(4 * n, 0, 1000).tobytes(), ints(1000, 0, 9).tobytes()], struct.pack("<I", 1000), 1),
        "nn_conv": ([image], network.conv_args(), 1),
        "nn_fc": ([features, network.weights([0, 1])], struct.pack("<I", 2), 1),
        "hamming": ([bytes(4 * n), bytes(4 * n)], b"", 3),
    }[name]
    core = Core(OFFLOAD / "sb" / f"{name}.elf", inputs, args, outputs)
    assert core.run() == 0
    size = sum(map(len, inputs)) if name == "hamming" else len(inputs[0])
    print(f"{name}: {core.cycles / size:.2f} cycles a byte")
    assert core.cycles / size < limit
