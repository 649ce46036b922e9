# SPDX-License-Identifier: BSD-3-Clause
"""Prints the README's table: cycles a byte of input of every storage function on every architecture, and lines of its source.

Usage, after firmware/offload/test: PYTHONPATH=build/gen/python:host-driver/python python firmware/offload/tests/cycles.py
"""

from __future__ import annotations

import random
import struct
import tempfile
from pathlib import Path

from iss import ROOT, Core
from test_storage import ARCHS, OFFLOAD, lz4_pack, text, wal_case


def main() -> None:
    noise = random.Random(1).randbytes(1 << 18)
    words = text(200_000)
    rng = random.Random(2)
    vector = b"".join(struct.pack("<f", rng.uniform(-1, 1)) for _ in range(1 << 14))
    with tempfile.TemporaryDirectory() as folder:
        log = wal_case(Path(folder), 4096, 12)[1]
    cases: list[tuple[str, str, list[bytes], bytes, int]] = [
        ("scan", "", [noise], b"", 1),
        ("stat, values below 2^24", "stat", [bytes(b if i % 4 < 3 else 0 for i, b in enumerate(noise))], b"", 1),
        ("stat, any values", "stat", [noise], b"", 1),
        *(
            (f"aes {mode}", "aes", [noise], struct.pack("<II32x", i, 0), 1)
            for i, mode in enumerate(("ECB encrypt", "ECB decrypt", "CTR"))
        ),
        ("lz4_compress, text to 38 %", "lz4_compress", [words], b"", 1),
        ("lz4_compress, noise", "lz4_compress", [noise], b"", 1),
        ("lz4_decompress, to 3.6 times", "lz4_decompress", [lz4_pack(words, 1 << 20)], b"", 1),
        ("dedup", "", [noise], b"", 1),
        ("dedup with contents", "dedup", [noise], b"", 2),
        *((f"raid4, {n} streams", "raid4", [noise] * n, b"", 1) for n in (2, 4, 7)),
        ("raid5, 4 + 1", "raid5", [noise] * 4, struct.pack("<I", 4096), 5),
        *((f"raid6, {n} + 2", "raid6", [noise] * n, struct.pack("<II", n, 3 << n), 2) for n in (4, 6)),
        ("raid6, two of 4 + 2 lost", "raid6", [noise] * 4, struct.pack("<II", 4, 3), 2),
        ("replicate to 2", "replicate", [noise], b"", 2),
        ("fgrep8, noise", "fgrep8", [noise], b"ASSASIN!", 1),
        ("fgrep8, text", "fgrep8", [words], words[1000:1008], 1),
        ("saxpy, both streams counted", "saxpy", [vector, vector], struct.pack("<f", 1.5), 1),
        ("wal, both streams counted", "wal", [log, log], b"", 1),
    ]
    print("| function | lines | " + " | ".join(ARCHS) + " |\n|---|---|" + "---|" * len(ARCHS))
    for title, name, inputs, args, outputs in cases:
        name = name or title.split()[0]
        lines = len((ROOT / "firmware" / "offload" / f"{name}.c").read_text().splitlines())
        row = []
        for arch in ARCHS:
            core = Core(OFFLOAD / arch / f"{name}.elf", inputs, args, outputs, software=arch in ("sp", "mem"))
            assert core.run() == 0
            row.append(f"{core.cycles / sum(map(len, inputs)):.2f}")
        print(f"| {title} | {lines} | " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
