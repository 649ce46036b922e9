# SPDX-License-Identifier: BSD-3-Clause
"""What bring-up needs of little-endian RISC-V ELF files: segments and function names."""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from assasin.bringup.link import BringupError

_ELFCLASS64 = 2
_PT_LOAD, _SHT_SYMTAB, _SHN_UNDEF = 1, 2, 0
_STT_NOTYPE, _STT_FUNC = 0, 2
_EM_RISCV = 243


@dataclass(frozen=True)
class Symbol:
    """A function, or another label in code."""

    name: str
    address: int
    size: int


class Elf:
    """One executable. Raises BringupError when it is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        data = path.read_bytes()
        if data[:4] != b"\x7fELF" or data[5:6] != b"\x01" or len(data) < 52 or struct.unpack_from("<H", data, 18)[0] != _EM_RISCV:
            raise BringupError(f"{path} is not a RISC-V ELF file")
        try:
            self._parse(data)
        except (struct.error, IndexError, UnicodeDecodeError) as e:
            raise BringupError(f"{path} is a damaged ELF file: {e}") from e

    def _parse(self, data: bytes) -> None:
        wide = data[4] == _ELFCLASS64
        self.entry, phoff, shoff = struct.unpack_from("<QQQ" if wide else "<III", data, 24)
        phsize, phnum, shsize, shnum = struct.unpack_from("<HHHH", data, 54 if wide else 42)
        self.segments: list[tuple[int, bytes]] = []
        for i in range(phnum):
            # The flags stand second in the wide form, and behind all these in the other.
            kind, offset, _, address, in_file, in_memory = struct.unpack_from(
                "<I4x5Q" if wide else "<IIIIII", data, phoff + i * phsize
            )
            if kind == _PT_LOAD and in_memory:
                self.segments.append((address, data[offset : offset + in_file].ljust(in_memory, b"\0")))
        headers = [struct.unpack_from("<2I4Q2I2Q" if wide else "<10I", data, shoff + i * shsize) for i in range(shnum)]
        symbols = []
        for _, kind, _, _, offset, size, link, *_ in headers:
            if kind != _SHT_SYMTAB:
                continue
            names = headers[link][4]
            for at in range(offset, offset + size, 24 if wide else 16):
                if wide:
                    name_at, info, section, value, length = struct.unpack_from("<IBxHQQ", data, at)
                else:
                    name_at, value, length, info, section = struct.unpack_from("<IIIBxH", data, at)
                start = names + name_at
                name = data[start : data.index(b"\0", start)].decode()
                # 4: SHF_EXECINSTR; mapping symbols ($x, $d) and local labels are no names.
                if section in (_SHN_UNDEF,) or section >= shnum or not headers[section][2] & 4 or name[:1] in ("", "$", "."):
                    continue
                if info & 0xF in (_STT_NOTYPE, _STT_FUNC):
                    symbols.append(Symbol(name, value, length))
        # Of several names at one address a function's goes first.
        self.symbols = sorted({s.address: s for s in sorted(symbols, key=lambda s: s.size > 0)}.values(), key=lambda s: s.address)
        self._addresses = [s.address for s in self.symbols]

    def symbol(self, address: int) -> Symbol | None:
        """The function that `address` is in."""
        i = bisect_right(self._addresses, address) - 1
        if i < 0:
            return None
        found = self.symbols[i]
        return found if found.size == 0 or address < found.address + found.size else None

    def describe(self, address: int) -> str:
        """The address as function + offset."""
        found = self.symbol(address)
        if found is None:
            return f"{address:08x}"
        offset = address - found.address
        return found.name + (f"+{offset:#x}" if offset else "")
