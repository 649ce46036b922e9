# SPDX-License-Identifier: BSD-3-Clause
"""Device memory, and a new firmware in it: by the XDMA driver's DMA devices, or by the firmware processor under the debugger."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from assasin.bringup.elf import Elf
from assasin.bringup.hart import DebugBlock
from assasin.bringup.link import BringupError, Link, XdmaLink
from assasin.processor import CORE, ROCKET, Processor
from assasin.tree import contract

_RESET = contract.CTRL_BASE + contract.CTRL_RESET
_BOOT_ARG = contract.CTRL_BASE + contract.CTRL_BOOT_ARG


class Memory(Protocol):
    """Device memory by physical address."""

    def read(self, address: int, count: int) -> bytes:
        """Raises BringupError."""

    def write(self, address: int, data: bytes) -> None:
        """Raises BringupError."""


class DebugMemory:
    """All that the firmware processor can address, registers too, by loads and stores that it executes for the debugger."""

    def __init__(self, block: DebugBlock) -> None:
        self._firmware = block.firmware

    def read(self, address: int, count: int) -> bytes:
        """See Memory."""
        with self._firmware.stopped():
            return self._firmware.read_memory(address, count)

    def write(self, address: int, data: bytes) -> None:
        """See Memory."""
        with self._firmware.stopped():
            self._firmware.write_memory(address, data)


class XdmaMemory:
    """TCM and DRAM through the XDMA driver's DMA devices."""

    def __init__(self, link: XdmaLink) -> None:
        self._link = link

    def read(self, address: int, count: int) -> bytes:
        """See Memory."""
        return bytes(self._move("c2h_0", address, count, None))

    def write(self, address: int, data: bytes) -> None:
        """See Memory."""
        self._move("h2c_0", address, len(data), data)

    def _move(self, part: str, address: int, count: int, data: bytes | None) -> bytearray:
        got = bytearray()
        done = 0
        fd = self._link.open(part)
        try:
            while done < count:
                if data is None:
                    piece = os.pread(fd, count - done, address + done)
                    got += piece
                    moved = len(piece)
                else:
                    moved = os.pwrite(fd, data[done:], address + done)
                if moved == 0:
                    raise BringupError(f"{self._link.prefix}_{part}: nothing moves at {address + done:#x}")
                done += moved
        except OSError as e:
            raise BringupError(f"{self._link.prefix}_{part} at {address + done:#x}: {e.strerror}") from e
        finally:
            os.close(fd)
        return got


def _by_dma(address: int, count: int, write: bool) -> bool:
    tcm = address + count <= contract.TCM_BASE + contract.TCM_SIZE
    dram = address >= contract.DRAM_BASE and address + count <= contract.DRAM_BASE + contract.DRAM_SIZE
    return (tcm and not write) or dram


def memory_for(block: DebugBlock, address: int, count: int, write: bool = False) -> Memory:
    """
    The best way to those bytes: DMA where the link has it and the address is memory, else the debug block.

    A firmware that runs lets DMA write nothing of its memory but its buffers (SYS.TCM_WRITE_FIRST), so those writes go by the debug
    block.
    """
    if isinstance(block.link, XdmaLink) and _by_dma(address, count, write):
        return XdmaMemory(block.link)
    return DebugMemory(block)


def processor_for(path: Path) -> Processor:
    """What the firmware in the file is for: an ELF file's entry tells. A flat binary is the drive's own processor's."""
    with path.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return CORE
    return ROCKET if Elf(path).entry == ROCKET.base else CORE


def firmware_image(path: Path) -> bytes:
    """The firmware memory's contents from a flat binary or an ELF file. Raises BringupError."""
    data = path.read_bytes()
    memory = processor_for(path)
    if data[:4] == b"\x7fELF":
        elf = Elf(path)
        first = min((address for address, _ in elf.segments), default=memory.base)
        end = max((address + len(part) for address, part in elf.segments), default=memory.base)
        if elf.entry != memory.base or first < memory.base or end > memory.base + memory.size:
            places = (
                f"it starts at 0 and fits {CORE.size:#x} bytes, or on a tile starts at {ROCKET.base:#x} and fits {ROCKET.size:#x}"
            )
            raise BringupError(f"{path} is no firmware: entry {elf.entry:#x}, from {first:#x} to {end:#x}; {places}")
        image = bytearray(end - memory.base)
        for address, part in elf.segments:
            image[address - memory.base : address - memory.base + len(part)] = part
        data = bytes(image)
    if not 0 < len(data) <= memory.size:
        raise BringupError(f"{path} has {len(data)} bytes; 1 to {memory.size} fit the firmware memory")
    return data


def load_tile_firmware(link: Link, image: bytes, boot_arg: int | None = None) -> None:
    """
    Resets tile, cores and channels, writes the tile's firmware into DRAM, compares it, and lets the tile start.

    By DMA alone: the drive's debug block does not reach a tile. Raises BringupError.
    """
    if not isinstance(link, XdmaLink):
        raise BringupError("the firmware of a tile is in DRAM, and only DMA reaches that: load it through xdma:PREFIX")
    link.write(_RESET, 1)
    if boot_arg is not None:
        link.write(_BOOT_ARG, boot_arg)
    memory = XdmaMemory(link)
    memory.write(ROCKET.base, image)
    if memory.read(ROCKET.base, len(image)) != image:
        raise BringupError("DRAM does not hold what was written to it")
    link.write(_RESET, 0)


def load_firmware(block: DebugBlock, image: bytes, boot_arg: int | None = None, halted: bool = False) -> None:
    """
    Resets firmware processor, cores and channels, writes the firmware memory, compares it, and starts at address 0.

    `boot_arg`: for CTRL.BOOT_ARG; as it is without. `halted`: leaves the firmware processor before its first instruction. Raises
    BringupError.
    """
    link, firmware = block.link, block.firmware
    link.write(_RESET, 1)
    if boot_arg is not None:
        link.write(_BOOT_ARG, boot_arg)
    firmware.clear_breakpoint()
    firmware.catch()
    block.write(contract.DEBUG_HALT, firmware.bit)
    # Out of reset the processor stands halted at address 0, which is enough to reach memory through it.
    link.write(_RESET, 0)
    firmware.halt()
    # The reset has opened all of the firmware memory to DMA.
    memory: Memory = XdmaMemory(link) if isinstance(link, XdmaLink) else DebugMemory(block)
    memory.write(contract.TCM_BASE, image)
    if memory.read(contract.TCM_BASE, len(image)) != image:
        raise BringupError("the firmware memory does not hold what was written to it")
    # Registers were borrowed: a second reset gives the firmware clean ones.
    link.write(_RESET, 1)
    link.write(_RESET, 0)
    if not halted:
        firmware.resume()
