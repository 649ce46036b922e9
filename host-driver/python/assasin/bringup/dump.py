# SPDX-License-Identifier: BSD-3-Clause
"""All registers of the contract, and all harts, as they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from assasin.bringup import rv32
from assasin.bringup.hart import DebugBlock, Hart
from assasin.bringup.link import BringupError
from assasin.tree import contract

_HOST_BLOCKS = ("CTRL", "DEBUG")
"""In BAR0; the others are on the firmware processor's bus."""


@dataclass(frozen=True)
class Value:
    """A register as read: `block` with its number, name with its index, offset in the block, value and fields."""

    block: str
    register: str
    offset: int
    value: int
    fields: dict[str, int]

    def __str__(self) -> str:
        fields = " ".join(f"{n}={v:#x}" if v > 9 else f"{n}={v}" for n, v in self.fields.items())
        return f"{self.block}.{self.register} {self.value:08x}{'  ' + fields if fields else ''}"


@dataclass(frozen=True)
class _Place:
    label: str
    block: str
    base: int


def _places(block: DebugBlock) -> list[_Place]:
    config = block.link.read(contract.CTRL_BASE + contract.CTRL_CONFIG)
    channels = config >> contract.SYS_CONFIG_CHANNELS_SHIFT & contract.SYS_CONFIG_CHANNELS_MASK
    places = [_Place(name, name, getattr(contract, f"{name}_BASE")) for name in ("SYS", "NVME", "HDMA")]
    places += [_Place(f"FLASH{n}", "FLASH", contract.FLASH_BASE + n * contract.FLASH_SIZE) for n in range(channels)]
    places += [_Place(f"CORE{n}", "CORE", contract.CORE_BASE + n * contract.CORE_SIZE) for n in range(block.cores)]
    return places


def _readable(name: str) -> Iterator[tuple[Any, int, int]]:
    for register in contract.BLOCKS[name].registers:
        if register.access == "wo" or register.takes:
            continue
        for i in range(register.count):
            yield register, i, register.offset + 4 * i


def _value(label: str, register: Any, index: int, offset: int, word: int) -> Value:  # noqa: ANN401
    name = register.name if register.count == 1 else f"{register.name}{index}"
    fields = {f.name: word >> f.lsb & ((1 << f.width) - 1) for f in register.fields}
    return Value(label, name, offset, word, fields)


def host_registers(block: DebugBlock) -> list[Value]:
    """Those in BAR0."""
    values = []
    for name in _HOST_BLOCKS:
        base = getattr(contract, f"{name}_BASE")
        entries = list(_readable(name))
        words = block.link.access([(base + offset, None) for _, _, offset in entries])
        values += [_value(name, *entry, word) for entry, word in zip(entries, words, strict=True)]
    return values


def registers(block: DebugBlock) -> list[Value]:
    """
    Every register that can be read without taking anything, the firmware processor being halted meanwhile.

    While the chip is held in reset only those in BAR0. Raises BringupError when the firmware processor cannot be halted.
    """
    values = host_registers(block)
    if block.held:
        return values
    firmware = block.firmware
    with firmware.stopped():
        for place in _places(block):
            entries = list(_readable(place.block))
            words = firmware.read_registers([place.base + offset for _, _, offset in entries])
            values += [_value(place.label, *entry, word) for entry, word in zip(entries, words, strict=True)]
    return values


def hart(h: Hart) -> dict[str, Any]:
    """One hart: state, PC, registers, CSRs; it is halted meanwhile."""
    status = h.status()
    with h.stopped():
        csrs = {}
        for name, address in h.csrs.items():
            csrs[name] = h.csr(address)
        return {
            "name": h.name,
            "state": str(status),
            "pc": h.pc,
            "registers": dict(zip(rv32.GPR_NAMES, h.registers(), strict=True)),
            "csrs": csrs,
        }


def harts(block: DebugBlock) -> list[dict[str, Any]]:
    """All of them; one that does not halt tells why."""
    if block.held:
        return []
    found = []
    for h in block.harts:
        try:
            found.append(hart(h))
        except BringupError as e:
            found.append({"name": h.name, "state": str(h.status()), "pc": h.pc_sample(), "error": str(e)})
    return found
