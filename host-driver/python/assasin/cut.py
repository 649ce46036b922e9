# SPDX-License-Identifier: BSD-3-Clause
"""Divides what a function reads into pieces, where its description (descriptions.py) allows it to be cut."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from assasin.descriptions import OWN, Call, OffloadError, call_of, listed, record_of
from assasin.job import Data, Extent, Input, as_bytes, split

Bytes = bytes
"""The type, where a field has its name."""


@dataclass(frozen=True)
class Table:
    """Bytes in the drive: the first `bytes` bytes of `extents`."""

    extents: Sequence[Extent]
    bytes: int


Source = Data | Table


def held(source: Source) -> Bytes | Table:
    """A source with the host's bytes as such."""
    return source if isinstance(source, Table) else as_bytes(source)


def length_of(source: Source) -> int:
    """Bytes of a source."""
    return source.bytes if isinstance(source, Table) else len(as_bytes(source))


def whole(source: Source, block: int) -> Input:
    """A source as one stream."""
    if not isinstance(source, Table):
        return Input.of(source)
    return split(source.extents, source.bytes, 1, block, 1)[0] if source.bytes else Input.of(b"")


def cut(source: Source, record: int, block: int, pieces: int, overlap: int = 0, alike: bool = True) -> tuple[list[Input], int]:
    """
    Divides a source into at most `pieces` streams at multiples of `record` and of the block of `block` bytes; returns them and the
    length of the first. `alike`: all but the last have that length; else lengths differ by one such multiple at most, which keeps
    more cores busy. Each but the last also has the `overlap` bytes behind it.
    """
    source = held(source)
    length = length_of(source)
    step = math.lcm(record, block)
    steps = max(1, -(-length // step))
    each, more = -(-steps // pieces), 0
    made = -(-steps // each)
    if not alike:
        made = min(steps, pieces)
        each, more = divmod(steps, made)
    if made == 1:
        return [whole(source, block)], steps * step
    starts = [step * (i * each + min(i, more)) for i in range(made)] + [length]
    # The library checks the extents.
    checked = whole(source, block).extents
    inputs = []
    for start, end in pairwise(starts):
        end = min(end + overlap, length)
        if isinstance(source, Table):
            inputs.append(Input(_part(checked, start // block, -(-(end - start) // block)), end - start))
        else:
            inputs.append(Input.of(source[start:end]))
    return inputs, starts[1]


def _part(extents: Sequence[Extent], skip: int, count: int) -> list[Extent]:
    """`count` blocks of extents, behind the first `skip` ones."""
    part = []
    for e in extents:
        first = min(skip, e.count)
        take = min(e.count - first, count)
        if take:
            part.append(Extent(e.lba + first, take))
        skip -= first
        count -= take
    return part


@dataclass(frozen=True)
class Plan:
    """A function's call, divided into pieces. `args`: the call's, with what they must say about the pieces."""

    function: str
    call: Call
    args: bytes
    inputs: list[list[Input]]

    def merged(self, outputs: list[list[bytes]]) -> list[bytes]:
        """The outputs of all pieces as one piece would have made them; for a function of somebody's own piece after piece."""
        return (listed(self.function) or OWN).merge(self.call, outputs)


def plan(
    function: str,
    sources: Sequence[Source],
    block: int,
    usual: int,
    args: Data = b"",
    outputs: int | None = None,
    pieces: int | None = None,
    record: int | None = None,
) -> Plan:
    """
    Divides the call of a function, by its name or ELF file, so that the pieces together do what one piece would do.

    `block`: bytes of the drive's block. `usual`: pieces when `pieces` does not say how many. `outputs`: output streams; None: the
    function's. `record`: bytes that must stay together besides. Raises OffloadError for what cannot be done, with what to do.
    """
    sources = [held(s) for s in sources]
    args = as_bytes(args)
    call = call_of(function, args, len(sources), outputs)
    found = listed(function)
    together = record_of(call, found)
    known = found or OWN
    divided = [i for i in range(len(sources)) if i not in known.state]
    lengths = sorted({length_of(sources[i]) for i in divided})
    if known.equal and len(lengths) > 1:
        raise OffloadError(f"{call.name}: the streams must be of one length, not of {', '.join(map(str, lengths))} bytes")
    if not together or (len(lengths) > 1 and pieces is None and found is not None):
        if (pieces or 1) > 1:
            raise OffloadError(f"{call.name} cannot be divided into {pieces} pieces: {known.whole}; leave --pieces out")
        return Plan(function, call, args, [[whole(s, block) for s in sources]])
    if len(lengths) > 1 and (pieces or usual) > 1:
        raise OffloadError(
            f"streams of different lengths ({', '.join(map(str, lengths))} bytes) are not divided alike: add --pieces 1"
        )
    together = math.lcm(together, record or 1)
    count = pieces or usual
    fixed = known.piece_bytes(args) if found else 0
    if fixed:
        count = _count_of(call, fixed, lengths[-1], math.lcm(together, block), pieces)
        together = fixed
    cuts = {i: cut(sources[i], together, block, count, known.overlap, known.alike) for i in divided}
    made = len(cuts[divided[0]][0])
    if made > 1 and not fixed:
        args = known.with_pieces(args, cuts[divided[0]][1])
    state = {i: whole(sources[i], block) for i in known.state}
    inputs = [[cuts[i][0][p] if i in cuts else state[i] for i in range(len(sources))] for p in range(made)]
    return Plan(function, call, args, inputs)


def _count_of(call: Call, fixed: int, length: int, step: int, pieces: int | None) -> int:
    """How many pieces of `fixed` bytes, which the arguments say, `length` bytes are."""
    count = max(1, -(-length // fixed))
    if count > 1 and fixed % step:
        raise OffloadError(f"{call.name}: the arguments say pieces of {fixed} bytes; use a multiple of {step}")
    if pieces is not None and pieces != count:
        raise OffloadError(
            f"{call.name}: the arguments say pieces of {fixed} bytes, which makes {count} pieces of {length} bytes, not {pieces}; "
            "leave --pieces out, or let the arguments say 0"
        )
    return count
