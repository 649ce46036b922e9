# SPDX-License-Identifier: BSD-3-Clause
"""Serial numbers, and the firmware image that carries them; what a drive makes of them is in test_system.py."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from assasin import identity
from assasin.bringup.loader import firmware_image
from assasin.tree import BUILD, contract


def test_serial_numbers_are_read_back() -> None:
    assert identity.serial(0xBEEF) == "ASSASIN-00000000BEEF"
    for text in ("ASSASIN-00000000BEEF", "00000000beef", " 00000000BEEF\n"):
        assert identity.parse(text) == 0xBEEF
    drawn = {identity.fresh() for _ in range(100)}
    assert len(drawn) == 100
    assert all(identity.parse(identity.serial(i)) == i for i in drawn)


@pytest.mark.parametrize("text", ["", "beef", "0" * 12, "1" * 13, "00000000BEEG", "ASSASIN00000001", "ASSASIN-"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(identity.IdentityError, match=r"12 hexadecimal digits.*ASSASIN-0123456789AB"):
        identity.parse(text)


def test_an_image_keeps_its_serial_number(tmp_path: Path) -> None:
    one, other = tmp_path / "a" / "one", tmp_path / "other"
    first = identity.of_image(one)
    assert identity.of_image(other) != first
    assert identity.of_image(one) == first
    assert identity.of_image(one, "00000000BEEF") == identity.of_image(one) == 0xBEEF
    with pytest.raises(identity.IdentityError):
        identity.of_image(one, "beef")
    assert identity.of_image(one) == 0xBEEF
    (one / identity.FILE).write_text("spoilt")
    with pytest.raises(identity.IdentityError, match=r"one/serial.*remove the file"):
        identity.of_image(one)


@pytest.mark.parametrize("file", ["assasin-fw.bin", "assasin-fw.elf"])
def test_the_firmware_carries_it(file: str) -> None:
    image = firmware_image(BUILD / "firmware" / file)
    own = identity.personalised(image, 0x123456789ABC, override=True)
    changed = [at for at in range(0, len(image), 4) if image[at : at + 4] != own[at : at + 4]]
    assert len(own) == len(image)
    assert changed == [changed[0], changed[0] + 4, changed[0] + 8]
    assert changed[0] % 8 == 0
    assert struct.unpack_from("<QI", own, changed[0]) == (0x123456789ABC, contract.IDENTITY_FLAG_OVERRIDE)
    again = identity.personalised(own, 7, override=False)
    assert struct.unpack_from("<QI", again, changed[0]) == (7, 0)
    for parity, flag in ((True, contract.IDENTITY_FLAG_PARITY_ON), (False, contract.IDENTITY_FLAG_PARITY_OFF)):
        asked = identity.personalised(image, 7, override=False, spare=9, parity=parity)
        assert struct.unpack_from("<QII", asked, changed[0]) == (7, flag, 9)


def test_a_firmware_that_takes_none_stays_as_it_is() -> None:
    image = bytes(range(256)) * 4
    assert identity.personalised(image, 7, override=True) == image
