# SPDX-License-Identifier: BSD-3-Clause
"""PMBus rails behind a multiplexer: a model of UCD90120A and PCA9548 at the I2C bus, and the ioctl that a real bus gets."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import pytest
from assasin.boards import Board
from assasin.power import i2c, sources
from assasin.power.errors import PowerError
from assasin.power.i2c import I2cDev, Pca9548
from assasin.power.pmbus import PmbusReader, linear11, linear16
from assasin.power.sampler import Sampler

VOLTAGE, TEMPERATURE, CURRENT = 1 << 5, 2 << 5, 3 << 5


@pytest.mark.parametrize(
    ("word", "value"),
    [
        (0x0001, 1.0),
        (0x07FF, -1.0),
        (0xF800, 0.0),
        (0xF801, 0.5),
        (0x0801, 2.0),
        (0xDB20, 25.0),
        (0xF3FF, 1023 / 4),
        (0x8001, 2.0**-16),
    ],
)
def test_linear11(word: int, value: float) -> None:
    assert linear11(word) == value


def test_linear16() -> None:
    assert linear16(0x3200, 0x14) == 12800 / 4096
    assert linear16(10, 0x01) == 20.0
    with pytest.raises(ValueError, match="0x40"):
        linear16(1, 0x40)


class Board9548:
    """Bus 0 of the Cosmos+ board: PCA9548 at 0x74, a UCD90120A at 0x65 behind its port 7."""

    def __init__(self, monitors: bytes = bytes([VOLTAGE | 0, CURRENT | 0, VOLTAGE | 1, TEMPERATURE | 2])) -> None:
        self.monitors = monitors
        self.port = 0
        self.page = 0
        self.gone = False
        self.volts = {0: 0x1000, 1: 0x1CCD}  # exponent -12: 1.0 V, 1.8 V
        self.amperes = {0: 0xD320}  # 800 * 2^-6 = 12.5 A

    def transfer(self, address: int, write: bytes, read: int) -> bytes:
        if address == 0x74:
            if write:
                self.port = write[0]
            return bytes([self.port])[:read]
        if address != 0x65 or self.port != 1 << 7 or self.gone:
            raise OSError(errno.ENXIO, "no acknowledge")
        command, arguments = write[0], write[1:]
        if command == 0x00 and arguments:
            self.page = arguments[0]
            return b""
        answers = {
            0x20: bytes([0x14]),
            0x8B: self.volts.get(self.page, 0).to_bytes(2, "little"),
            0x8C: self.amperes.get(self.page, 0).to_bytes(2, "little"),
            0xD5: bytes([len(self.monitors)]) + self.monitors,
        }
        return answers[command][:read]


def reader(bus: Board9548) -> PmbusReader:
    sensor = next(s for s in Board.load("cosmosplus").sensors if s.driver == "pmbus")
    return sources.pmbus_reader(sensor, bus)


def test_rails_by_the_devices_own_configuration() -> None:
    values = reader(Board9548()).read().values
    assert list(values) == ["ucd90120a.1", "ucd90120a.2"]
    first, second = values.values()
    assert (first.volts, first.amperes, first.watts) == (1.0, 12.5, 12.5)
    assert second.volts == pytest.approx(1.8, abs=1e-4)
    assert second.watts is None


def test_another_user_of_the_multiplexer_does_no_harm() -> None:
    bus = Board9548()
    r = reader(bus)
    bus.port = 1
    assert r.read().values["ucd90120a.1"].watts == 12.5


def test_no_current_wired_up() -> None:
    bus = Board9548(bytes([VOLTAGE | 0, VOLTAGE | 1]))
    with pytest.raises(PowerError, match=r"ucd90120a at 0x65 measures voltages only.*--source meter:FILE"):
        Sampler(reader(bus), 0.01)


def test_nobody_at_the_address() -> None:
    bus = Board9548()
    with pytest.raises(PowerError, match=r"ucd90120a at 0x66 does not answer \(No such device or address\).*board file"):
        PmbusReader(Pca9548(bus, 0x74, 7), 0x66, "ucd90120a", 12)


def test_an_empty_configuration() -> None:
    with pytest.raises(PowerError, match="monitors no voltage on pages 0 to 11"):
        reader(Board9548(bytes(13)))


def test_a_device_that_goes_is_missing() -> None:
    bus = Board9548()
    r = reader(bus)
    bus.gone = True
    assert r.read().missing == {"ucd90120a.1": "No such device or address", "ucd90120a.2": "No such device or address"}


def test_what_the_kernel_gets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request of linux/i2c-dev.h: I2C_RDWR with a write and, after a repeated start, a read."""
    file = tmp_path / "i2c-0"
    file.touch()
    seen: list[tuple[Any, ...]] = []

    def ioctl(fd: int, request: int, argument: Any) -> int:
        assert os.fstat(fd).st_ino == file.stat().st_ino
        table = argument.msgs
        for i in range(argument.nmsgs):
            m = table[i]
            seen.append((request, m.addr, m.flags, m.len, ctypes.string_at(m.buf, m.len) if not m.flags else None))
            if m.flags:
                ctypes.memmove(m.buf, b"\x12\x34", 2)
        return argument.nmsgs

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    bus = I2cDev(str(file))
    assert bus.transfer(0x65, b"\x8b", 2) == b"\x12\x34"
    assert bus.transfer(0x74, b"\x80", 0) == b""
    bus.close()
    assert seen == [(0x0707, 0x65, 0, 1, b"\x8b"), (0x0707, 0x65, 1, 2, None), (0x0707, 0x74, 0, 1, b"\x80")]
    # struct i2c_msg and struct i2c_rdwr_ioctl_data of a 64-bit kernel
    assert (ctypes.sizeof(i2c._Message), ctypes.sizeof(i2c._Messages)) == (16, 16)


def test_no_such_bus(tmp_path: Path) -> None:
    with pytest.raises(PowerError, match="modprobe i2c-dev"):
        I2cDev(str(tmp_path / "i2c-9"))
