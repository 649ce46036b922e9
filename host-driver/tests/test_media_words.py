# SPDX-License-Identifier: BSD-3-Clause
"""What is said of the medium: log page MEDIA in words, places of sectors, error rates, lost blocks of a job's input."""

from __future__ import annotations

import ctypes
from collections import Counter
from itertools import pairwise
from types import SimpleNamespace

import pytest
from assasin.binding import ErrorStruct, PieceStruct, library
from assasin.bringup import commands, nand
from assasin.bringup.link import BringupError
from assasin.media import Media
from assasin.tree import contract


def page(**fields: int) -> ctypes.Structure:
    """A MICRON-L05B behind two channels of two ways."""
    m = contract.ScompMedia(
        code_t=70,
        code_parity=122,
        layout=1,
        page_bytes=16384,
        spare_bytes=2208,
        page_sectors=4,
        sector_bytes=4600,
        block_sectors=2048,
        blocks=1096,
        planes=2,
        luns=2,
        ways=2,
        channels=2,
        plane_shift=11,
        block_shift=12,
        lun_shift=23,
    )
    for i, c in enumerate(b"MICRON-L05B"):
        m.model[i] = c
    for name, value in fields.items():
        setattr(m, name, value)
    return m


def test_places_and_addresses_agree() -> None:
    media = Media(page())
    for lun, plane, block in ((0, 0, 0), (1, 1, 1095), (0, 1, 7), (1, 0, 600)):
        place = media.place(1 << 28 | 1 << 24 | media.address(lun, plane, block) | 4 * 300 + 3)
        assert (place.channel, place.way, place.lun, place.plane, place.block) == (1, 1, lun, plane, block)
        assert (place.page, place.sector) == (300, 3)


def test_rates_and_lost_blocks() -> None:
    m = page(retries=12, rescued=3, lost=1, parity=1, rebuilt=5)
    m.sectors_read[0], m.bits_corrected[0], m.sectors_failed[0] = 101, 368, 1
    m.error_lba[0], m.error_address[0] = 4711, 1 << 28 | Media(m).address(0, 1, 7)
    m.error_found[0] = contract.FLASH_STATUS_UNCORRECTABLE << 28 | 0b1010 << 16
    media = Media(m)
    assert media.channels[0].error_rate == pytest.approx(368 / (100 * 4600 * 8))
    assert media.channels[1].error_rate is None
    text = "\n".join(f"{name}: {value}" for name, value in media.rows())
    assert "BCH, 70 bits a codeword" in text
    assert "raw bit error rate 1.0e-04" in text
    assert "LBA 4711 (channel 1 way 0 LUN 0 plane 1 block 7 page 0 sector 0): more bit errors" in text
    assert "codewords [1, 3]" in text
    found = media.json()
    assert found["code"] == {"t": 70, "parity_bytes": 122}
    assert found["rescued"] == 3
    assert found["parity"] is True and found["rebuilt"] == 5
    assert "parity over dies: yes; 5 sectors were rebuilt" in text
    assert "checksum only" in Media(page(code_t=0, code_parity=0)).code


def test_histogram_by_powers_of_ten() -> None:
    def block(rate: float | None) -> nand.Block:
        return nand.Block(0, 0, 0, 0, 0, "full", 1, 1, 0, 0, 0, 0, False, rate)

    rows = dict(nand.histogram([block(r) for r in (None, 0.0, 5e-8, 2e-4, 9e-4, 0.01)]))
    assert rows["none seen"] == 1
    assert rows["below 1e-7"] == 1
    assert rows["1e-4 to 1e-3"] == 2
    assert rows["1e-3 and more"] == 1
    assert sum(rows.values()) == 5


class _Drive:
    """Answers what `blocks` asks before it reads anything."""

    def media(self) -> ctypes.Structure:
        return page()


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (nand.Choice(last=1096), "block 1096: a plane has 1096, 0 to 1095"),
        (nand.Choice(first=5, last=4), "the first has to come before the last"),
        (nand.Choice(channels=(2,)), "channel 2: the drive has 2, 0 to 1"),
        (nand.Choice(ways=(7,)), "way 7: the drive has 2, 0 to 1"),
        (nand.Choice(step=2049), "--step 2049: a block has 2048 sectors"),
    ],
)
def test_choices_that_do_not_fit_are_refused(choice: nand.Choice, message: str) -> None:
    with pytest.raises(BringupError, match=message):
        nand.plan(_Drive(), choice)  # type: ignore[arg-type]


def test_a_sample_of_a_large_part_is_spread_evenly() -> None:
    """2 channels x 2 ways x 2 LUNs x 2 planes x 1,096 blocks of 2,048 sectors."""
    plan = nand.plan(_Drive(), nand.Choice())  # type: ignore[arg-type]
    assert str(plan) == "256 of 17,536 blocks, spread evenly (--blocks 0: all); one of 32 sectors of each (--step 1: all)"
    assert len(set(plan.places)) == 256
    planes = Counter(place[:4] for place in plan.places)
    assert len(planes) == 16
    assert set(planes.values()) == {16}
    for plane in planes:
        numbers = [place[4] for place in plan.places if place[:4] == plane]
        steps = {b - a for a, b in pairwise(numbers)}
        assert steps <= {68, 69}
        assert numbers[-1] > 1000

    few = nand.plan(_Drive(), nand.Choice(sample=4, step=0))  # type: ignore[arg-type]
    assert len({place[:2] for place in few.places}) == 4
    assert str(few) == "4 of 17,536 blocks, spread evenly (--blocks 0: all); only the factory's marks"

    every = nand.plan(_Drive(), nand.Choice(sample=0, step=1, channels=(1,), first=8))  # type: ignore[arg-type]
    assert str(every) == "8,704 blocks; every sector"
    assert len(set(every.places)) == every.of == 8704


class _Interrupted(_Drive):
    """Is interrupted when it is asked for the third block."""

    asked = 0

    def __enter__(self) -> _Interrupted:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def nand_block(self, way: int, address: int, step: int) -> SimpleNamespace:
        self.asked += 1
        if self.asked == 3:
            raise KeyboardInterrupt
        return SimpleNamespace(
            state=2,
            erases=1,
            sectors_read=64,
            sectors_erased=0,
            sectors_failed=0,
            bits=5,
            worst=2,
            marks_failed=0,
            bad=0,
            marks=b"\xff" * 4,
        )


def test_what_was_read_before_ctrl_c_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(commands, "open_drive", lambda name: (None, _Interrupted()))
    with pytest.raises(SystemExit) as end:
        commands.nand.main(["--name", "any"], standalone_mode=False)
    assert end.value.code == 130
    said = capsys.readouterr().out
    assert "256 of 17,536 blocks, spread evenly" in said
    assert "interrupted after 2 blocks" in said
    assert "2 blocks: 128 sectors read, 10 bits corrected" in said


@pytest.mark.parametrize(
    ("cause", "why"),
    [
        (contract.FLASH_STATUS_UNCORRECTABLE, "more bit errors than its code corrects"),
        (contract.FLASH_STATUS_MISMATCH, "its checksum differs"),
        (contract.FLASH_STATUS_MISDIRECTED, "the medium holds another block in its place"),
        (contract.FLASH_STATUS_ERASED, "its place on the medium is erased"),
        (contract.FLASH_STATUS_FOREIGN, "another layout"),
    ],
)
def test_a_piece_says_where_its_input_ends(cause: int, why: str) -> None:
    piece = PieceStruct(status=contract.SCOMP_STATUS_MEDIA, cause=cause, tval=160, stream=1, position=5 << 30)
    text = library().assasin_piece_strerror(ctypes.byref(piece), ctypes.byref(ErrorStruct())).decode()
    assert text.startswith(f"ends with MEDIA_ERROR at byte {5 << 30} of input stream 1, LBA 160: ")
    assert why in text
