# SPDX-License-Identifier: BSD-3-Clause
"""
Rails of a PMBus device: a page each, with voltage (LINEAR16) and current (LINEAR11). PMBus specification 1.2, part II.

A UCD90120A has twelve monitor inputs, and its configuration says which of them measure currents (MONITOR_CONFIG, UCD90xxx
manual): a
rail whose current is not wired up has a voltage alone.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from assasin.power.errors import PowerError
from assasin.power.i2c import I2cBus
from assasin.power.sampler import Reader, Reading, Value

# PMBus part II, Table 26; MONITOR_CONFIG is the manufacturer's.
PAGE = 0x00
VOUT_MODE = 0x20
READ_VOUT = 0x8B
READ_IOUT = 0x8C
MONITOR_CONFIG = 0xD5

_MONITOR_VOLTAGE, _MONITOR_CURRENT = 1, 3
_LINEAR_MODE = 0


def linear11(word: int) -> float:
    """A LINEAR11 word: five bits of exponent, eleven of mantissa, both two's complement."""
    exponent = (word >> 11) - (32 if word >> 15 else 0)
    mantissa = (word & 0x7FF) - (2048 if word & 0x400 else 0)
    return mantissa * 2.0**exponent


def linear16(word: int, mode: int) -> float:
    """A LINEAR16 word, with the exponent that VOUT_MODE gives. Raises ValueError for another format."""
    if mode >> 5 != _LINEAR_MODE:
        raise ValueError(f"VOUT_MODE {mode:#04x} is not the linear format")
    exponent = (mode & 0x1F) - (32 if mode & 0x10 else 0)
    return word * 2.0**exponent


@dataclass(frozen=True)
class _Rail:
    page: int
    exponent_mode: int
    has_current: bool


class PmbusReader(Reader):
    """Rails of one PMBus device."""

    def __init__(self, bus: I2cBus, address: int, name: str, pages: int) -> None:
        """Asks the device what its pages measure. Raises PowerError."""
        self.title = f"{name} at {address:#x}"
        self._bus = bus
        self._address = address
        self._name = name
        try:
            monitors = self._block(MONITOR_CONFIG)
            kinds: dict[int, set[int]] = {}
            for pin in monitors:
                kinds.setdefault(pin & 0x1F, set()).add(pin >> 5)
            self._rails = [
                _Rail(page, self._byte(page, VOUT_MODE), _MONITOR_CURRENT in kinds[page])
                for page in range(pages)
                if _MONITOR_VOLTAGE in kinds.get(page, ())
            ]
        except OSError as e:
            raise PowerError(
                f"{self.title} does not answer ({os.strerror(e.errno or 0)}): check bus, multiplexer port and address in the "
                "board file, "
                "and that no kernel driver owns it"
            ) from e
        if not self._rails:
            raise PowerError(
                f"{self.title}: its configuration monitors no voltage on pages 0 to {pages - 1}: it has lost it, or is another part"
            )

    def _select(self, page: int) -> None:
        self._bus.transfer(self._address, bytes([PAGE, page]), 0)

    def _byte(self, page: int, command: int) -> int:
        self._select(page)
        return self._bus.transfer(self._address, bytes([command]), 1)[0]

    def _word(self, command: int) -> int:
        return int.from_bytes(self._bus.transfer(self._address, bytes([command]), 2), "little")

    def _block(self, command: int) -> bytes:
        """SMBus block read: the first byte is the length."""
        length = self._bus.transfer(self._address, bytes([command]), 1)[0]
        return self._bus.transfer(self._address, bytes([command]), length + 1)[1:]

    def read(self) -> Reading:
        """See Reader."""
        values: dict[str, Value] = {}
        missing: dict[str, str] = {}
        start = time.time_ns()
        for rail in self._rails:
            name = f"{self._name}.{rail.page + 1}"
            try:
                self._select(rail.page)
                volts = linear16(self._word(READ_VOUT), rail.exponent_mode)
                amperes = linear11(self._word(READ_IOUT)) if rail.has_current else None
            except OSError as e:
                missing[name] = os.strerror(e.errno or 0)
                continue
            except ValueError as e:
                raise PowerError(f"sensor {name} of {self.title}: {e}") from e
            values[name] = Value(f"page {rail.page + 1}", None if amperes is None else volts * amperes, volts, amperes)
        return Reading((start + time.time_ns()) // 2, values, missing)
