# SPDX-License-Identifier: BSD-3-Clause
"""
The storage functions of the ASSASIN paper's Table I, a call each: firmware/offload/README.md describes what runs on the cores.

A source is bytes of the host's or a table in the drive; a result comes back as bytes, or is written under blocks of the drive
(`to`), all or nothing a piece. Work is cut at object boundaries into `pieces` (0 = one a core) that are queued over all cores.
Every function raises OffloadError when a piece fails, with what the function's own exit code means, DriveError when the drive
refuses, and ValueError for arguments that make no sense.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from assasin import lz4_frame, offloads
from assasin.cut import Plan, Source, Table, cut, length_of, plan, whole
from assasin.drive import Drive
from assasin.job import Data, Extent, Input, Job, Output, Piece, as_bytes, enough_kcycles

__all__ = [
    "Deduplicated",
    "Source",
    "Table",
    "aes",
    "call",
    "dedup",
    "execute",
    "lz4_check",
    "lz4_compress",
    "lz4_decompress",
    "pieces_of",
    "planned",
    "raid4",
    "raid5",
    "raid6",
    "raid6_rebuild",
    "replicate",
    "targets_of",
    "wal_replay",
]

Bytes = bytes
"""The type, where a field has its name."""

Target = Sequence[Extent] | None
"""Blocks that a result is written under; None: it comes back."""


def pieces_of(drive: Drive, source: Source, record: int, pieces: int = 0) -> list[Input]:
    """Divides a source into at most `pieces` streams of equal length, but for the last, at multiples of `record` and the block."""
    return cut(source, record, drive.info.block_bytes, pieces or drive.info.cores)[0]


def planned(
    drive: Drive, name: str, sources: Sequence[Source], args: Data = b"", outputs: int | None = None, pieces: int = 0
) -> Plan:
    """The call of a function that comes with the project, divided into `pieces` (0 = one a core) where it can be cut."""
    return plan(name, sources, drive.info.block_bytes, drive.info.cores, args, outputs, pieces or None)


def targets_of(drive: Drive, to: Target, lengths: Sequence[int]) -> list[Output]:
    """For each piece the blocks that its output of so many bytes goes to: one piece's behind the other's, each from a block on."""
    if to is None:
        return [None] * len(lengths)
    block = drive.info.block_bytes
    blocks = [e.lba + i for e in to for i in range(e.count)]
    out: list[Output] = []
    at = 0
    for length in lengths:
        count = -(-length // block)
        if at + count > len(blocks):
            raise ValueError(f"the result needs {sum(-(-n // block) for n in lengths)} blocks, the target has {len(blocks)}")
        out.append(_extents(blocks[at : at + count]))
        at += count
    return out


def _extents(blocks: Sequence[int]) -> list[Extent]:
    out: list[Extent] = []
    for b in blocks:
        if out and out[-1].lba + out[-1].count == b:
            out[-1] = Extent(out[-1].lba, out[-1].count + 1)
        else:
            out.append(Extent(b, 1))
    return out


def execute(
    drive: Drive,
    name: str,
    inputs: Sequence[Sequence[Input]],
    outputs: Sequence[Sequence[Output]],
    args: Data = b"",
) -> list[Piece]:
    """Runs the offload `name`. Raises OffloadError."""
    with drive.function(offloads.load(drive, name)) as loaded:
        pieces = drive.run_job(Job(loaded, inputs, outputs, args=args, watchdog_kcycles=enough_kcycles(inputs)))
    return offloads.check(name, pieces)


def call(
    drive: Drive, name: str, sources: Sequence[Source], args: Data = b"", outputs: int | None = None, pieces: int = 0
) -> list[Bytes]:
    """The output streams of a function that comes with the project, as one piece would make them."""
    job = planned(drive, name, sources, args, outputs, pieces)
    done = execute(drive, name, job.inputs, [[None] * job.call.outputs for _ in job.inputs], job.args)
    return job.merged([p.outputs for p in done])


def _joined(pieces: Sequence[Piece], stream: int = 0) -> Bytes:
    return b"".join(p.outputs[stream] for p in pieces)


# ---- cryptography ----

AES_MODES = {"ecb-encrypt": 0, "ecb-decrypt": 1, "ctr": 2}
AES_BLOCK = 16


def aes(
    drive: Drive, source: Source, key: bytes, mode: str = "ctr", counter: bytes = bytes(16), to: Target = None, pieces: int = 0
) -> bytes:
    """AES-128 of the source. `mode`: one of AES_MODES. `counter`: first counter block of CTR. With `to` nothing is returned."""
    if mode not in AES_MODES:
        raise ValueError(f"mode '{mode}' is unknown; there are: {', '.join(AES_MODES)}")
    if len(key) != 16 or len(counter) != AES_BLOCK:
        raise ValueError(f"AES-128 takes a key and a counter of 16 bytes, not {len(key)} and {len(counter)}")
    if mode != "ctr" and length_of(source) % AES_BLOCK:
        raise ValueError(f"ECB works on whole blocks of {AES_BLOCK} bytes; the source has {length_of(source)} bytes")
    job = planned(drive, "aes", [source], struct.pack("<II", AES_MODES[mode], 0) + key + counter, pieces=pieces)
    outputs = targets_of(drive, to, [s.bytes for (s,) in job.inputs])
    return _joined(execute(drive, "aes", job.inputs, [[o] for o in outputs], job.args))


# ---- erasure coding and replication ----


def _raid(
    drive: Drive, name: str, sources: Sequence[Source], outputs: int, args: bytes, to: Sequence[Target] | None, pieces: int
) -> list[bytes]:
    lengths = {length_of(s) for s in sources}
    if len(lengths) != 1:
        raise ValueError(f"the streams must be of one length, not of {', '.join(str(n) for n in sorted(lengths))} bytes")
    if to is not None and len(to) != outputs:
        raise ValueError(f"{name} has {outputs} results here, but there are targets for {len(to)}")
    job = planned(drive, name, sources, args, outputs, pieces)
    targets = [targets_of(drive, t, [piece[0].bytes for piece in job.inputs]) for t in (to or [None] * outputs)]
    done = execute(drive, name, job.inputs, [list(piece) for piece in zip(*targets, strict=True)], job.args)
    return [_joined(done, i) for i in range(outputs)]


def raid4(drive: Drive, data: Sequence[Source], to: Target = None, pieces: int = 0) -> bytes:
    """Parity of two to eight streams of one length; also a lost stream out of the others and the parity."""
    return _raid(drive, "raid4", data, 1, b"", None if to is None else [to], pieces)[0]


def raid5(drive: Drive, data: Sequence[Source], chunk: int = 4096, to: Sequence[Target] | None = None) -> list[bytes]:
    """
    Stripes two to five streams over one member more, with rotating parity (left-symmetric, `chunk` bytes of a stream a row), and
    returns the members. A lost member is the parity (raid4) of the others.
    """
    if chunk <= 0 or chunk % 4:
        raise ValueError(f"a chunk of {chunk} bytes: use a multiple of 4")
    return _raid(drive, "raid5", data, len(data) + 1, struct.pack("<I", chunk), to, 0)


def raid6(drive: Drive, data: Sequence[Source], to: Sequence[Target] | None = None, pieces: int = 0) -> tuple[bytes, bytes]:
    """P and Q of two to seven streams of one length, over GF(256) with the polynomial 0x11D as Linux has it."""
    k = len(data)
    p, q = _raid(drive, "raid6", data, 2, struct.pack("<II", k, 3 << k), to, pieces)
    return p, q


def raid6_rebuild(
    drive: Drive, members: Sequence[Source | None], to: Sequence[Target] | None = None, pieces: int = 0
) -> list[bytes]:
    """
    The one or two members that are lost (None) out of the others. `members`: the data streams, then P and Q. Returns the lost
    ones in that order.
    """
    lost = [i for i, m in enumerate(members) if m is None]
    if not 1 <= len(lost) <= 2:
        raise ValueError(f"RAID 6 rebuilds one or two lost members, not {len(lost)}")
    there = [m for m in members if m is not None]
    args = struct.pack("<II", len(members) - 2, sum(1 << i for i in lost))
    return _raid(drive, "raid6", there, len(lost), args, to, pieces)


def replicate(drive: Drive, source: Source, copies: int, to: Sequence[Target] | None = None, pieces: int = 0) -> list[bytes]:
    """One to eight copies of the source."""
    return _raid(drive, "replicate", [source], copies, b"", to, pieces)


# ---- compression, deduplication ----


def lz4_compress(drive: Drive, source: Source, to: Sequence[Extent] | None = None, pieces: int = 0) -> bytes:
    """
    LZ4 blocks of the source, in the stream that lz4_decompress() takes. With `to` one piece writes the stream there: its length is
    what fits; a result that does not fit changes nothing.
    """
    job = planned(drive, "lz4_compress", [source], pieces=1 if to is not None else pieces)
    outputs: list[list[Output]] = [[to]] if to is not None else [[None] for _ in job.inputs]
    return _joined(execute(drive, "lz4_compress", job.inputs, outputs))


def lz4_decompress(drive: Drive, source: Source, to: Sequence[Extent] | None = None) -> bytes:
    """
    What LZ4 blocks, or a frame of them (lz4_frame), decompress to. One piece, as blocks have any length. With `to` nobody looks at
    the checksum of a frame's content.
    """
    out = _joined(execute(drive, "lz4_decompress", [[whole(source, drive.info.block_bytes)]], [[to]]))
    if to is None:
        lz4_check(drive, source, out)
    return out


def lz4_check(drive: Drive, source: Source, content: bytes) -> None:
    """Compares what lz4_decompress made of a source with the checksum of a frame that has one. Raises OffloadError."""
    if lz4_frame.has_checksum(_bytes_of(drive, source, 0, 5)):
        lz4_frame.check(_bytes_of(drive, source, length_of(source) - 4, 4), content)


def _bytes_of(drive: Drive, source: Source, start: int, count: int) -> bytes:
    """A few bytes of a source."""
    if not isinstance(source, Table):
        return as_bytes(source)[start : start + count]
    block = drive.info.block_bytes
    blocks = [e.lba + i for e in source.extents for i in range(e.count)]
    end = min(start + count, source.bytes)
    found = b"".join(drive.read(lba, block) for lba in blocks[start // block : -(-end // block)])
    return found[start % block : start % block + end - start]


DEDUP_BLOCK = 4096


@dataclass(frozen=True)
class Deduplicated:
    """Blocks of the source. `first`: for every block the first one with its fingerprint; `contents`: of those that are first."""

    fingerprints: list[bytes]
    first: list[int]
    contents: list[bytes]


def dedup(drive: Drive, source: Source, pieces: int = 0) -> Deduplicated:
    """
    Finds equal blocks of 4 KiB by their MurmurHash3_x86_128. Cores look for equal blocks in their piece (2,048 different ones),
    the host in what they found.
    """
    streams = pieces_of(drive, source, DEDUP_BLOCK, pieces)
    done = execute(drive, "dedup", [[s] for s in streams], [[None, None] for _ in streams])
    fingerprints: list[bytes] = []
    first: list[int] = []
    contents: list[bytes] = []
    known: dict[bytes, int] = {}
    for p in done:
        at = 0
        for number, mine, fingerprint in struct.iter_unpack("<II16s", p.outputs[0]):
            if number == mine:
                content = p.outputs[1][at : at + DEDUP_BLOCK]
                at += DEDUP_BLOCK
                if fingerprint not in known:
                    known[fingerprint] = len(first)
                    contents.append(content)
            first.append(known[fingerprint])
            fingerprints.append(fingerprint)
    return Deduplicated(fingerprints, first, contents)


# ---- write-ahead log ----


def wal_replay(drive: Drive, log: Source, database: bytes) -> bytes:
    """
    An SQLite database after its write-ahead log up to the last commit that recovery accepts. A log that is cut off or corrupt
    behind its header is no error.
    """
    stream = whole(log, drive.info.block_bytes)
    (piece,) = execute(drive, "wal", [[stream, stream]], [[None]])
    out = piece.outputs[0]
    page, frames, size, _ = struct.unpack_from("<4I", out)
    result = bytearray(database)
    for i in range(frames):
        at = 16 + i * (4 + page)
        (number,) = struct.unpack_from("<I", out, at)
        end = number * page
        result.extend(bytes(max(0, end - len(result))))
        result[end - page : end] = out[at + 4 : at + 4 + page]
    return bytes(result[: size * page] if frames else result)
