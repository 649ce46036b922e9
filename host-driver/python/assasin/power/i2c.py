# SPDX-License-Identifier: BSD-3-Clause
"""I2C from user space: Linux's i2c-dev, and a PCA9548 multiplexer that no kernel driver owns."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
from typing import Protocol

from assasin.power.errors import PowerError

# linux/i2c-dev.h, linux/i2c.h
_I2C_RDWR = 0x0707
_I2C_M_RD = 0x0001


class I2cBus(Protocol):
    """One I2C bus."""

    def transfer(self, address: int, write: bytes, read: int) -> bytes:
        """
        Writes bytes, then (with a repeated start) reads `read` bytes, either of which may be none. Raises OSError: ENXIO or
        EREMOTEIO
        when nobody answers at the address.
        """


class _Message(ctypes.Structure):
    _fields_ = (
        ("addr", ctypes.c_uint16),
        ("flags", ctypes.c_uint16),
        ("len", ctypes.c_uint16),
        ("buf", ctypes.c_void_p),
    )


class _Messages(ctypes.Structure):
    _fields_ = (("msgs", ctypes.POINTER(_Message)), ("nmsgs", ctypes.c_uint32))


class I2cDev:
    """A bus by its device file, for example /dev/i2c-0."""

    def __init__(self, path: str) -> None:
        """Opens it. Raises PowerError."""
        self.path = path
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as e:
            raise PowerError(
                f"{path}: {e.strerror}; load the driver (modprobe i2c-dev) and run as root on the board's own Linux"
            ) from e

    def transfer(self, address: int, write: bytes, read: int) -> bytes:
        """See I2cBus."""
        out = ctypes.create_string_buffer(write, len(write)) if write else None
        back = ctypes.create_string_buffer(read) if read else None
        messages = []
        if out is not None:
            messages.append(_Message(address, 0, len(write), ctypes.addressof(out)))
        if back is not None:
            messages.append(_Message(address, _I2C_M_RD, read, ctypes.addressof(back)))
        table = (_Message * len(messages))(*messages)
        fcntl.ioctl(self._fd, _I2C_RDWR, _Messages(table, len(messages)))
        return back.raw if back is not None else b""

    def close(self) -> None:
        """Lets go of it."""
        os.close(self._fd)


class Pca9548:
    """
    One port of a PCA9548 multiplexer: its control register has a bit for each port. Every transfer selects the port first: others
    may use the multiplexer in between.
    """

    def __init__(self, bus: I2cBus, address: int, port: int) -> None:
        self._bus = bus
        self._address = address
        self._port = port

    def transfer(self, address: int, write: bytes, read: int) -> bytes:
        """See I2cBus."""
        try:
            self._bus.transfer(self._address, bytes([1 << self._port]), 0)
        except OSError as e:
            raise OSError(e.errno or errno.EIO, f"multiplexer {self._address:#x}: {os.strerror(e.errno or errno.EIO)}") from e
        return self._bus.transfer(address, write, read)
