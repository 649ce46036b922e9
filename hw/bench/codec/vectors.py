# SPDX-License-Identifier: BSD-3-Clause
"""Write what hw/bench/codec/bench is to send and to find, as bchlib, the code of Linux's lib/bch.c, decides.

Usage: vectors.py T... --builds FOLDER [options]     T: the strengths of the unit, ascending

`@ STRENGTH T NAME` begins a test. Other lines are codewords: FLAG MESSAGE PARITY FLIPS : COUNT BITS. FLIPS are the bits that
differ when the codeword is read, BITS the message bits that the decoder must show, both in sending order; COUNT is -1 if
decoding fails. FLAG: e compare the encoder's parity too, s take errors slowly, a begin when the decoder is idle and note the
time, r note the rate, or -.
"""

import argparse
import importlib.util
import itertools
import math
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

PRIMITIVE = 0x4443


class Oracle:
    """bchlib, as `run` built it for one strength, and one length of messages."""

    def __init__(self, t: int, message: int, builds: Path) -> None:
        path = next((builds / str(t)).glob("bchlib*.so"))
        spec = importlib.util.spec_from_file_location("bchlib", path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.code = module.BCH(t, prim_poly=PRIMITIVE)
        self.t = t
        self.message = message
        self.used = (self.code.ecc_bits + 7) // 8
        self.bits = 8 * message + self.code.ecc_bits

    def parity(self, message: bytes) -> bytes:
        """The bytes that hold parity bits."""
        return bytes(self.code.encode(message))[: self.used]

    def line(self, message: bytes, flips: Iterable[int]) -> str:
        """A codeword with those bits inverted, and what is to come of it."""
        parity = self.parity(message)
        flips = sorted(flips)
        received = bytearray(message + parity.ljust(self.code.ecc_bytes, b"\0"))
        for bit in flips:
            received[bit // 8] ^= 0x80 >> (bit % 8)
        count = self.code.decode(bytes(received[: self.message]), bytes(received[self.message :]))
        found = sorted(8 * (bit // 8) + 7 - bit % 8 for bit in self.code.errloc) if count > 0 else []
        shown = [bit for bit in found if bit < 8 * self.message]
        return " ".join([message.hex(), parity.hex(), *map(str, flips), ":", str(count), *map(str, shown)])

    def replaced(self, message: bytes, received: bytes) -> str:
        """The codeword of `message`, of which `received` is read, however much of it differs."""
        sent = message + self.parity(message)
        return self.line(message, (bit for bit in range(self.bits) if (sent[bit // 8] ^ received[bit // 8]) & (0x80 >> (bit % 8))))


class Tests:
    """The codewords of each test."""

    def __init__(self, oracles: list[Oracle], seed: int, scale: int) -> None:
        self.oracles = oracles
        self.random = random.Random(seed)
        self.scale = scale

    def some(self, oracle: Oracle, count: int) -> list[int]:
        """So many different bits of a codeword."""
        return self.random.sample(range(oracle.bits), min(count, oracle.bits))

    def any_message(self, oracle: Oracle) -> bytes:
        """A random message."""
        return self.random.randbytes(oracle.message)

    def counts(self, oracle: Oracle) -> Iterator[str]:
        """Any number of errors from none to some more than can be corrected."""
        for _ in range(self.scale):
            for count in range(oracle.t + 6):
                yield "e " + oracle.line(self.any_message(oracle), self.some(oracle, count))

    def slowly(self, oracle: Oracle) -> Iterator[str]:
        """The same, with errors taken one by one and late."""
        for _ in range(self.scale):
            for count in self.random.sample(range(oracle.t + 6), (oracle.t + 6) // 3):
                yield "s " + oracle.line(self.any_message(oracle), self.some(oracle, count))

    def parity(self, oracle: Oracle) -> Iterator[str]:
        """Errors in parity alone, or nearly."""
        behind = range(8 * oracle.message, oracle.bits)
        for _ in range(self.scale):
            for count in (1, 2, oracle.t - 1, oracle.t, oracle.t + 1):
                flips = self.random.sample(behind, min(count, len(behind)))
                yield "- " + oracle.line(self.any_message(oracle), flips)
                yield "- " + oracle.line(self.any_message(oracle), {*flips[1:], self.random.randrange(8 * oracle.message)})

    def bursts(self, oracle: Oracle) -> Iterator[str]:
        """Errors side by side: within a beat, over a byte's edge, over the end of the message, first and last bits."""
        edges = [0, 8 * oracle.message - oracle.t // 2, oracle.bits - oracle.t]
        for start in [*edges, *(self.random.randrange(oracle.bits - oracle.t) for _ in range(3 * self.scale))]:
            for count in (1, oracle.t // 2, oracle.t):
                yield "- " + oracle.line(self.any_message(oracle), range(max(start, 0), max(start, 0) + count))
            yield "- " + oracle.line(
                self.any_message(oracle), {0, 8 * oracle.message - 1, 8 * oracle.message, oracle.bits - 1, start}
            )

    def contents(self, oracle: Oracle) -> Iterator[str]:
        """Messages of one value; and what is no codeword at all: all bits 0 or 1, an erased page, noise."""
        length = oracle.message + oracle.used
        for value in (b"\x00", b"\xff", b"\x55", b"\x80", b"\x01"):
            message = value * oracle.message
            for count in (0, 1, oracle.t, oracle.t + 1):
                yield "e " + oracle.line(message, self.some(oracle, count))
            yield "- " + oracle.replaced(message, b"\x00" * length)
            yield "- " + oracle.replaced(message, b"\xff" * length)
        for _ in range(self.scale):
            yield "- " + oracle.replaced(self.any_message(oracle), self.random.randbytes(length))

    def every(self, oracle: Oracle, most: int) -> Iterator[str]:
        """Every pattern of up to `most` errors."""
        message = self.any_message(oracle)
        for count in range(most + 1):
            for flips in itertools.combinations(range(oracle.bits), count):
                yield "- " + oracle.line(message, flips)

    def latency(self, oracle: Oracle) -> Iterator[str]:
        """One codeword after the other, each number of errors eight times."""
        for count in {1, 2, 4, 9, 15, 16, 24, 32, 40, 55, 70, oracle.t, oracle.t + 1}:
            if count <= oracle.t + 1:
                for _ in range(8):
                    yield "a " + oracle.line(self.any_message(oracle), self.some(oracle, count))

    def rate(self, oracle: Oracle, raw: float) -> Iterator[str]:
        """Codewords one behind the other, whose bits differ independently with that probability."""
        for _ in range(min(100 * self.scale, 2000)):
            flips = []
            # The distances between bits that differ are geometrically distributed.
            bit = int(math.log(1 - self.random.random()) / math.log1p(-raw))
            while bit < oracle.bits:
                flips.append(bit)
                bit += 1 + int(math.log(1 - self.random.random()) / math.log1p(-raw))
            yield "r " + oracle.line(self.any_message(oracle), flips)


def main() -> None:
    """Write the tests to standard output."""
    parser = argparse.ArgumentParser()
    parser.add_argument("strengths", type=int, nargs="+")
    parser.add_argument("--builds", type=Path, required=True, help="folder of bchlib's builds, one for each t")
    parser.add_argument("--message", type=int, default=1028)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=int, default=1, help="as many times the random codewords")
    parser.add_argument("--every", type=int, default=0, help="every pattern of up to that many errors more than t, and only those")
    arguments = parser.parse_args()
    oracles = [Oracle(t, arguments.message, arguments.builds) for t in arguments.strengths]
    tests = Tests(oracles, arguments.seed, arguments.scale)
    for strength, oracle in enumerate(oracles, 1):
        if arguments.every:
            chosen = {f"every pattern of up to t + {arguments.every} errors": tests.every(oracle, oracle.t + arguments.every)}
        else:
            chosen = {
                "random errors": tests.counts(oracle),
                "errors taken slowly": tests.slowly(oracle),
                "errors in parity": tests.parity(oracle),
                "bursts and edges": tests.bursts(oracle),
                "contents": tests.contents(oracle),
                "latency": tests.latency(oracle),
                "rate 1e-4": tests.rate(oracle, 1e-4),
                "rate 1e-3": tests.rate(oracle, 1e-3),
                "rate 2e-3": tests.rate(oracle, 2e-3),
            }
        for name, lines in chosen.items():
            print(f"@ {strength} {oracle.t} {name}")
            for line in lines:
                print(line)


if __name__ == "__main__":
    main()
