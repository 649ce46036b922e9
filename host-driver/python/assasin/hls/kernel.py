# SPDX-License-Identifier: BSD-3-Clause
"""A kernel's metadata: hls-kernels/NAME/kernel.toml, checked."""

from __future__ import annotations

import re
import struct
import tomllib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from assasin.errors import AssasinError
from assasin.tree import BUILD, ROOT

KERNELS = ROOT / "hls-kernels"
OUT = BUILD / "hls"
"""Everything made of kernels lands here, a folder a kernel."""

MAX_INPUTS = 2
MAX_SCALARS = 8
SCALAR_BASE, SCALAR_STEP = 0x10, 8
"""Control registers: scalar i is at SCALAR_BASE + SCALAR_STEP * i, as Vitis lays out arguments of 32 bits."""

SCALAR_TYPES: Mapping[str, str] = {"u32": "I", "i32": "i", "f32": "f"}
"""Types of a scalar argument, and their struct code."""

NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
_HDL = (
    "in out input output inout signal wire reg module port entity is begin end process clock reset bit type range register buffer"
)
_CPP = (
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const constexpr const_cast "
    "continue decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto "
    "if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
    "register reinterpret_cast return short signed sizeof static static_assert static_cast struct switch template this "
    "throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq"
)
_TAKEN = "main std hls assasin beat_t"
"""What headers and test benches call something else by."""
RESERVED = frozenset(f"{_HDL} {_CPP} {_TAKEN}".split())
"""Words of VHDL, Verilog or C++ that the HLS tool would rename, and with them the port; and names that are taken."""

WHY_RESERVED = "a word of C++, VHDL or Verilog, which the tools would rename, or a name that is taken"

TOP_KEYS = ["name", "version", "title", "top", "header", "sources", "testbench", "interface", "timing", "limits"]


class KernelError(AssasinError):
    """A kernel cannot be used; the message names the file, what is wrong, and what would be right."""


@dataclass(frozen=True)
class Scalar:
    """An argument of 32 bits."""

    name: str
    type: str
    """A key of SCALAR_TYPES."""

    def word(self, value: float | int) -> int:
        """The register's contents for a value. Raises KernelError when the type cannot hold it."""
        try:
            value = float(value) if self.type == "f32" else int(value)
            return struct.unpack("<I", struct.pack("<" + SCALAR_TYPES[self.type], value))[0]
        except (struct.error, OverflowError, ValueError) as e:
            ranges = {"u32": "0 to 4294967295", "i32": "-2147483648 to 2147483647", "f32": "what a 32-bit float holds"}
            raise KernelError(f"scalar {self.name} = {value} does not fit: it takes {ranges[self.type]}") from e

    def parse(self, text: str) -> int:
        """The register's contents for a value in words, hexadecimal too. Raises KernelError."""
        try:
            return self.word(float(text) if self.type == "f32" else int(text, 0))
        except ValueError as e:
            kind = "a number" if self.type == "f32" else "an integer, for example 42 or 0x2a"
            raise KernelError(f"scalar {self.name}: '{text}' is not {kind}") from e


@dataclass(frozen=True)
class Kernel:
    """One kernel."""

    folder: Path
    name: str
    version: str
    title: str
    top: str
    header: str
    sources: tuple[str, ...]
    testbench: tuple[str, ...]
    inputs: tuple[str, ...]
    output: str
    scalars: tuple[Scalar, ...]
    ii: Fraction
    """Cycles from a beat of an input stream to the next one."""
    latency: int
    """Cycles from a beat in to the beat out that needed it."""
    record: int
    """Bytes that must not be cut between pieces."""
    overlap: int
    """Bytes of the next piece that a piece must see too."""
    pieces: int
    """Most pieces of a job; 0 = any."""

    @property
    def id(self) -> int:
        """What the slot's id shows: CRC-32 of name and version."""
        return zlib.crc32(f"{self.name}/{self.version}".encode())

    @property
    def out(self) -> Path:
        """Where what is made of the kernel goes."""
        return OUT / self.name

    @property
    def bytes_per_cycle(self) -> float:
        """What the kernel takes of each input stream at its initiation interval."""
        return float(8 / self.ii)

    def files(self) -> list[Path]:
        """Sources, header, and what else of the folder the sources may include, without the test bench."""
        more = [p.name for p in self.folder.glob("*.h")]
        names = list(dict.fromkeys([*self.sources, self.header, *more]))
        return [self.folder / n for n in names if n not in self.testbench]


def names() -> list[str]:
    """Kernels that there are."""
    return sorted(p.parent.name for p in KERNELS.glob("*/kernel.toml"))


def load(name: str | Path) -> Kernel:
    """The kernel called `name`, or that in the folder `name`. Raises KernelError."""
    folder = Path(name) if "/" in str(name) else KERNELS / str(name)
    path = folder / "kernel.toml"
    if not path.exists():
        hint = f"there are: {', '.join(names())}" if folder.parent == KERNELS else "a kernel is a folder with a kernel.toml"
        raise KernelError(f"there is no kernel '{name}' ({hint}); assasin hls new makes one")
    try:
        table = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as e:
        raise KernelError(f"{shown(path)}: {e}") from e
    return _Reader(path, table).kernel()


def shown(path: Path) -> str:
    """The path as messages have it: from the tree's root on, if it is in there."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


class _Reader:
    """Takes a kernel.toml apart, key by key."""

    def __init__(self, path: Path, table: dict[str, Any]) -> None:
        self.path, self.table = path, table

    def kernel(self) -> Kernel:
        top = self.table
        # A key with a typing error must not count as left out; but a key whose section's head is gone not as wrong.
        self._only("", {key: value for key, value in top.items() if isinstance(value, dict)}, TOP_KEYS)
        interface, timing = self._table("interface"), self._table("timing")
        self._only("", top, TOP_KEYS)
        limits = self._table("limits") if "limits" in top else {}
        self._only("interface.", interface, ["inputs", "output", "scalars"])
        self._only("timing.", timing, ["ii", "latency"])
        self._only("limits.", limits, ["record", "overlap", "pieces"])
        kernel = Kernel(
            folder=self.path.parent,
            name=self._identifier("name", self._text("", top, "name")),
            version=self._text("", top, "version"),
            title=self._text("", top, "title"),
            top=self._identifier("top", self._text("", top, "top")),
            header=self._text("", top, "header"),
            sources=self._texts("", top, "sources"),
            testbench=self._texts("", top, "testbench"),
            inputs=self._texts("interface.", interface, "inputs"),
            output=self._text("interface.", interface, "output"),
            scalars=tuple(self._scalar(s) for s in interface.get("scalars", [])),
            ii=self._ii(timing),
            latency=self._number("timing.", timing, "latency", 1, 1 << 24),
            record=self._number("limits.", limits, "record", 1, 1 << 20, 1),
            overlap=self._number("limits.", limits, "overlap", 0, 1 << 20, 0),
            pieces=self._number("limits.", limits, "pieces", 0, 1024, 0),
        )
        self._consistent(kernel)
        return kernel

    def _consistent(self, k: Kernel) -> None:
        for key, word in (("name", k.name), ("top", k.top)):
            if word in RESERVED:
                self._fail(f"{key} '{word}': {WHY_RESERVED}; call it {word}_0 or the like")
        if k.name != k.folder.name:
            self._fail(f"name is '{k.name}', but the folder is called {k.folder.name}: they must be the same")
        if not re.fullmatch(r"\d+(\.\d+)*", k.version):
            self._fail(f"version '{k.version}': write numbers with dots, for example 1.0")
        if not 1 <= len(k.inputs) <= MAX_INPUTS:
            self._fail(f"interface.inputs names {len(k.inputs)} streams: a slot has 1 or {MAX_INPUTS}")
        if len(k.scalars) > MAX_SCALARS:
            self._fail(f"interface.scalars names {len(k.scalars)} arguments: a slot's kernel has at most {MAX_SCALARS}")
        if k.record > 1 and k.overlap:
            self._fail("limits.record and limits.overlap: a kernel has one of them, not both")
        ports = [*k.inputs, k.output, *(s.name for s in k.scalars)]
        for p in ports:
            self._identifier("interface", p)
            if p in RESERVED or p == k.top:
                self._fail(f"port '{p}': {WHY_RESERVED}; call it {p}_0 or the like")
        if len(set(ports)) != len(ports):
            self._fail("two ports have the same name")
        for f in [k.header, *k.sources, *k.testbench]:
            if "/" in f or not (k.folder / f).is_file():
                self._fail(f"there is no file '{f}' in {shown(k.folder)}")
        if not k.sources or not k.testbench:
            self._fail("sources and testbench name at least one file each")

    def _fail(self, text: str) -> None:
        raise KernelError(f"{shown(self.path)}: {text}")

    def _only(self, where: str, table: Mapping[str, object], known: list[str]) -> None:
        for key in table:
            if key not in known:
                self._fail(f"{where}{key} is unknown; known are: {', '.join(known)}")

    def _table(self, key: str) -> dict[str, Any]:
        value = self.table.get(key)
        if not isinstance(value, dict):
            self._fail(f"the section [{key}] is missing: write a line [{key}] above its keys")
        assert isinstance(value, dict)
        return value

    def _text(self, where: str, table: Mapping[str, object], key: str) -> str:
        value = table.get(key)
        if not isinstance(value, str) or not value:
            self._fail(f'{where}{key} is missing: write {key} = "..."')
        return str(value)

    def _texts(self, where: str, table: Mapping[str, object], key: str) -> tuple[str, ...]:
        value = table.get(key)
        if not isinstance(value, list) or not all(isinstance(v, str) and v for v in value):
            self._fail(f'{where}{key} is missing: write {key} = ["...", ...]')
        assert isinstance(value, list)
        return tuple(value)

    def _identifier(self, key: str, value: str) -> str:
        if not NAME.fullmatch(value):
            self._fail(f"{key} '{value}': use lower-case letters, digits and _, at most 31, a letter first")
        return value

    def _number(self, where: str, table: Mapping[str, object], key: str, low: int, high: int, default: int | None = None) -> int:
        value = table.get(key, default)
        if value is None:
            self._fail(f"{where}{key} is missing: write {key} = a number from {low} to {high}")
        if type(value) is not int or not low <= value <= high:
            self._fail(f"{where}{key} = {value!r}: write a number from {low} to {high}")
        assert isinstance(value, int)
        return value

    def _ii(self, timing: Mapping[str, object]) -> Fraction:
        value = timing.get("ii")
        if value is None:
            self._fail('timing.ii is missing: write ii = "1", cycles a beat, or for example "129/128"')
        if not isinstance(value, str) or not re.fullmatch(r"[1-9]\d{0,8}(/[1-9]\d{0,8})?", value):
            self._fail(f'timing.ii = {value!r}: write cycles a beat as "1" or "129/128"')
        ii = Fraction(str(value))
        if ii < 1:
            self._fail(f"timing.ii = {value}: a stream moves at most one beat a cycle, so ii is at least 1")
        return ii

    def _scalar(self, value: object) -> Scalar:
        if not isinstance(value, dict) or set(value) != {"name", "type"} or value["type"] not in SCALAR_TYPES:
            self._fail(f'interface.scalars: {value!r}: write {{ name = "...", type = "..." }}, type {" or ".join(SCALAR_TYPES)}')
        assert isinstance(value, dict)
        return Scalar(str(value["name"]), str(value["type"]))
