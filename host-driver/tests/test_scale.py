# SPDX-License-Identifier: BSD-3-Clause
"""The full size once: the demo, and the steady state of `scan`, on the 8x8 board in profile `paper`. All figures are cycles,
so the load of the machine that simulates does not matter."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import numpy as np
import pytest
from assasin import analytics, bench, demo
from assasin.board import Board
from assasin.drive import Drive, Extent
from assasin.functions import Table
from assasin.tree import ROOT
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

CONFIG = "AssasinSb8x8"
PROFILE = "paper"
SCAN_BYTES = 4 << 20

pytestmark = pytest.mark.system(CONFIG)


@pytest.fixture(scope="module")
def drive() -> Iterator[Drive]:
    board = Board(f"pytest-scale-{os.getpid()}")
    board.start(CONFIG, PROFILE, format=True)
    try:
        with Drive(board.address) as d:
            yield d
    finally:
        board.stop()
        board.erase()


def test_scan_takes_what_the_channels_give(drive: Drive) -> None:
    data = bench.bench_data("scan", SCAN_BYTES)
    drive.write(0, data)
    four, eight = bench.bench_offload(drive, "scan", data, 0, (4, 8))
    for figures in (four, eight):
        assert figures.correct
        assert figures.steady is not None
        assert figures.firmware_cycles_per_page <= 400, figures
    # Four cores are the limit, eight run into that of the channels.
    assert four.steady.bytes_per_cycle >= 0.95 * 4, four
    assert four.job.core_utilisation >= 0.95, four
    assert eight.steady.bytes_per_cycle >= 0.97 * eight.bus_limit, eight


def test_demo() -> None:
    demo.run(0.002, CONFIG, PROFILE, False)
    result = json.loads((ROOT / "build" / "demo" / "result.json").read_text())
    assert (result["config"], result["profile"]) == (CONFIG, PROFILE)
    assert [o["name"] for o in result["offloads"]] == ["scan", "stat", "filter"]
    for offload in result["offloads"]:
        assert offload["correct"] and offload["bytes"] > 0 and offload["bytes_per_cycle"] > 0
    assert result["sim_khz"] > 0 and 0 < result["firmware_cycles_per_page"] <= 400


def test_hamming_feeds_two_aes_cores(drive: Drive) -> None:
    """Figure 7.8 of the dissertation: three cores, the first one's two outputs are the inputs of the others."""
    pages = np.random.default_rng(1).bytes(8 * 4096)
    a, b, key = pages[: 4 * 4096], pages[4 * 4096 :], bytes(range(16))
    code = (np.frombuffer(a, np.uint8) ^ np.frombuffer(b, np.uint8)).tobytes()
    cut = [(i, i + 4096) for i in range(0, len(a), 4096)]
    plain = [b"", b""]
    for n, (i, j) in enumerate(cut):
        for k, data in enumerate((a, b)):
            plain[k] += data[i:j] + (code[i:j] if n % 2 == k else b"")
    lba = drive.info.blocks - 64
    drive.write(lba, a)
    table = Table([Extent(lba, 4)], len(a))
    cipher = Cipher(algorithms.AES(key), modes.ECB())
    assert analytics.hamming_aes(drive, table, b, key) == tuple(cipher.encryptor().update(p) for p in plain)


def test_a_network_of_six_cores(drive: Drive) -> None:
    """Figure 7.9: the convolution on one core, the ten classes of the dense layer on five."""
    r = np.random.default_rng(2)
    network = analytics.Network(
        8, r.integers(-99, 99, 32), r.integers(-20, 20, (9, 32)), r.integers(-99, 99, 10), r.integers(-9, 9, (10, 5408))
    )
    images = r.integers(0, 256, (2, 28, 28)).astype(np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), (1, 2)).reshape(2, 26, 26, 9).astype(np.int64)
    layer = np.maximum(windows @ network.weight + network.bias, 0) >> network.shift
    pooled = layer.reshape(2, 13, 2, 13, 2, 32).max((2, 4)).reshape(2, -1)
    scores = analytics.infer(drive, images.tobytes(), network)
    assert np.array_equal(scores, pooled @ network.dense_weight.T + network.dense_bias)
