# SPDX-License-Identifier: BSD-3-Clause
"""
The analytic functions of the ASSASIN paper's Table I, a call each; firmware/offload/include/analytics.h and tbl.h have their
limits.

Sources, pieces and errors are those of assasin.functions. Values are 32-bit little-endian integers.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assasin import offloads, tpch_scans
from assasin.cut import cut, whole
from assasin.descriptions import kmeans_record
from assasin.drive import Drive
from assasin.functions import Source, Table, call
from assasin.job import OUTSIDE, Edge, Input, Job, Node, Tree, enough_kcycles
from assasin.offloads import OffloadError
from assasin.tpch_scans import Scan

Ints = npt.NDArray[np.int32]


def column_sum(drive: Drive, source: Source, pieces: int = 0) -> tuple[int, int]:
    """Number of a column's values, and their sum modulo 2^32."""
    (out,) = call(drive, "sum", [source], pieces=pieces)
    count, total = struct.unpack("<II", out)
    return count, total


def statistics(drive: Drive, source: Source, pieces: int = 0) -> offloads.StatResult:
    """Count, sum, least and greatest of a column."""
    (out,) = call(drive, "stat", [source], pieces=pieces)
    count, least, greatest, _, total = struct.unpack("<IiiIq", out)
    return offloads.StatResult(count, total, least, greatest)


def select(drive: Drive, source: Source, words: int, wanted: Sequence[int], pieces: int = 0) -> Ints:
    """The words `wanted` of tuples of `words` words, in the tuple's order; shape (tuples, wanted)."""
    mask = sum(1 << w for w in set(wanted))
    if not 1 <= words <= 32 or not 0 < mask < 1 << words:
        raise ValueError(f"words {sorted(set(wanted))} of tuples of {words} (1..32) words: name some that are there")
    (out,) = call(drive, "select", [source], struct.pack("<II", words, mask), pieces=pieces)
    return np.frombuffer(out, "<i4").reshape(-1, mask.bit_count())


def transpose(drive: Drive, source: Source, words: int, pieces: int = 0) -> list[Ints]:
    """The columns of tuples of one to eight words."""
    return [np.frombuffer(out, "<i4") for out in call(drive, "transpose", [source], outputs=words, pieces=pieces)]


@dataclass(frozen=True)
class Clusters:
    """A k-means step: points, sums of coordinates and of squared distances of every cluster."""

    counts: npt.NDArray[np.int64]
    sums: npt.NDArray[np.int64]
    inertia: npt.NDArray[np.int64]

    def centroids(self, old: Ints) -> Ints:
        """The next step's centroids: means, rounded down; a cluster without points keeps its own."""
        means = self.sums // np.maximum(self.counts, 1)[:, None]
        return np.where(self.counts[:, None] > 0, means, old).astype("<i4")


def kmeans_step(drive: Drive, source: Source, centroids: Ints, pieces: int = 0) -> Clusters:
    """One step of k-means: points of as many coordinates as the centroids have, all within +-8191."""
    clusters, dimensions = centroids.shape
    args = struct.pack("<II", clusters, dimensions) + centroids.astype("<i4").tobytes()
    (out,) = call(drive, "kmeans", [source], args, pieces=pieces)
    sums = np.frombuffer(out, kmeans_record(dimensions))
    return Clusters(sums["count"].astype(np.int64), sums["sum"].copy(), sums["inertia"].astype(np.int64))


def linear_regression(drive: Drive, source: Source, columns: int, pieces: int = 0) -> npt.NDArray[np.float64]:
    """Least-squares coefficients of the last of `columns` columns over a constant and the others, from sums of products."""
    (out,) = call(drive, "linreg", [source], struct.pack("<I", columns), pieces=pieces)
    products = np.zeros((columns + 1, columns + 1))
    products[np.triu_indices(columns + 1)] = np.frombuffer(out, "<i8")
    products += np.triu(products, 1).T
    return np.linalg.solve(products[:-1, :-1], products[:-1, -1]).astype(np.float64)


def pagerank_step(drive: Drive, edges: Source, gives: npt.NDArray[np.uint32], pieces: int = 0) -> npt.NDArray[np.uint32]:
    """For every vertex the sum of what its incoming edges carry. `edges`: pairs of u32, from and to. `gives`: along each edge."""
    (out,) = call(drive, "pagerank", [edges, gives.astype("<u4").tobytes()], struct.pack("<I", len(gives)), pieces=pieces)
    return np.frombuffer(out, "<u4").copy()


# ---- neural network ----


@dataclass(frozen=True)
class Network:
    """The CNN of the dissertation's Table 8.2, quantised to 32 bits; see struct nn_conv_args and nn_fc_args."""

    shift: int
    bias: Ints
    """32 filters."""
    weight: Ints
    """9 pixels x 32 filters."""
    dense_bias: Ints
    """A class."""
    dense_weight: Ints
    """Classes x 5408."""


def infer(drive: Drive, images: Source, network: Network) -> Ints:
    """
    Scores of every class for images of 28 x 28 bytes, shape (images, classes). One core convolves and feeds as many others as the
    drive has, each with two classes of the dense layer: a tree; classes that do not fit take further passes.
    """
    conv_args = struct.pack("<I", network.shift) + network.bias.astype("<i4").tobytes() + network.weight.astype("<i4").tobytes()
    groups = [list(range(c, min(c + 2, len(network.dense_bias)))) for c in range(0, len(network.dense_bias), 2)]
    at_once = min(drive.info.cores, 8) - 1
    if at_once < 1:
        raise ValueError("the network takes two cores at least: one convolves, one has a dense layer")
    stream = whole(images, drive.info.block_bytes)
    scores = []
    with drive.function(offloads.load(drive, "nn_conv")) as conv, drive.function(offloads.load(drive, "nn_fc")) as fc:
        for first in range(0, len(groups), at_once):
            nodes = [Node(conv, 1, len(groups[first : first + at_once]), conv_args)]
            scores += _pass(drive, stream, nodes, fc, network, groups[first : first + at_once])
    return np.concatenate(scores, axis=1)


def _pass(
    drive: Drive, stream: Input, nodes: list[Node], dense: int, network: Network, groups: Sequence[Sequence[int]]
) -> list[Ints]:
    edges = [Edge(OUTSIDE, 0, 0, 0)]
    inputs = [stream]
    for i, group in enumerate(groups):
        nodes.append(Node(dense, 2, 1, struct.pack("<I", len(group))))
        edges += [Edge(0, i, i + 1, 0), Edge(OUTSIDE, i + 1, i + 1, 1), Edge(i + 1, 0, OUTSIDE, i)]
        layer = [np.concatenate([[network.dense_bias[c]], network.dense_weight[c]]).astype("<i4").tobytes() for c in group]
        inputs.append(Input.of(b"".join(layer)))
    job = Job(Tree(nodes, edges), [inputs], streams_out=len(groups), watchdog_kcycles=enough_kcycles([inputs]))
    (piece,) = offloads.check("the network", drive.run_job(job))
    return [np.frombuffer(o, "<i4").reshape(-1, len(g)) for o, g in zip(piece.outputs, groups, strict=True)]


# ---- Hamming(3,2) before AES: the tree of the dissertation's Figure 7.8 ----


def hamming_aes(drive: Drive, a: Source, b: Source, key: bytes) -> tuple[bytes, bytes]:
    """
    Pages of `a` and `b` with a code page (a xor b) for every two, code pages in turn behind a's and b's, encrypted by two cores
    with AES-128 in ECB mode.
    """
    args = struct.pack("<II", 0, 0) + key + bytes(16)
    edges = [Edge(OUTSIDE, 0, 0, 0), Edge(OUTSIDE, 1, 0, 1), Edge(0, 0, 1, 0), Edge(0, 1, 2, 0)]
    edges += [Edge(1, 0, OUTSIDE, 0), Edge(2, 0, OUTSIDE, 1)]
    inputs = [whole(s, drive.info.block_bytes) for s in (a, b)]
    with drive.function(offloads.load(drive, "hamming")) as code, drive.function(offloads.load(drive, "aes")) as aes:
        nodes = [Node(code, 2, 2), Node(aes, 1, 1, args), Node(aes, 1, 1, args)]
        job = Job(Tree(nodes, edges), [inputs], streams_out=2, watchdog_kcycles=enough_kcycles([inputs]))
        (piece,) = offloads.check("hamming and aes", drive.run_job(job))
    return piece.outputs[0], piece.outputs[1]


# ---- Parse, Select, Filter ----


def text_pieces(drive: Drive, source: Source, pieces: int = 0) -> tuple[list[Input], int]:
    """Streams of `.tbl` text for the cores, and the bytes of a piece's own (0: there is one piece)."""
    if not isinstance(source, Table):
        return [Input.of(source)], 0
    inputs, own = cut(source, 1, drive.info.block_bytes, pieces or drive.info.cores, tpch_scans.OVERLAP)
    return inputs, own if len(inputs) > 1 else 0


def psf(drive: Drive, source: Source, scan: Scan, pieces: int = 0) -> dict[str, np.ndarray]:
    """Parses `.tbl` text, filters its rows and selects columns, all in one pass; columns as tpch_scans.decode() makes them."""
    inputs, own = text_pieces(drive, source, pieces)
    args = tpch_scans.encode(scan, own)
    with drive.function(offloads.load(drive, "psf")) as loaded:
        streams = [[i] for i in inputs]
        done = drive.run_job(Job(loaded, streams, args=args, watchdog_kcycles=enough_kcycles(streams)))
    for i, p in enumerate(done):
        if p.exit_code:
            raise OffloadError(f"psf over {scan.table}: {tpch_scans.explain(p.exit_code)} (piece {i} of {len(done)})")
    return tpch_scans.decode(b"".join(p.outputs[0] for p in offloads.check("psf", done)), scan)


def parse(drive: Drive, source: Source, scan: Scan, pieces: int = 0) -> list[bytes]:
    """Parses the scan's columns (at most eight) out of `.tbl` text, a result a column, as struct tbl_args describes them."""
    inputs, own = text_pieces(drive, source, pieces)
    args = tpch_scans.encode(scan, own)
    with drive.function(offloads.load(drive, "parse")) as loaded:
        streams = [[i] for i in inputs]
        job = Job(loaded, streams, streams_out=len(scan.columns), args=args, watchdog_kcycles=enough_kcycles(streams))
        done = drive.run_job(job)
    for i, p in enumerate(done):
        if p.exit_code:
            raise OffloadError(f"parse over {scan.table}: {tpch_scans.explain(p.exit_code)} (piece {i} of {len(done)})")
    offloads.check("parse", done)
    return [b"".join(p.outputs[c] for p in done) for c in range(len(scan.columns))]
