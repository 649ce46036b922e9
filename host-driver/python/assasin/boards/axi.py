# SPDX-License-Identifier: BSD-3-Clause
"""Signals of AXI interfaces: names in a block design and in the chip's ports, and who drives them."""

from __future__ import annotations

from dataclasses import dataclass

_ADDRESS = (("id", "id"), ("addr", "addr"), ("len", 8), ("size", 3), ("burst", 2), ("valid", 1), ("ready", -1))
_FULL: dict[str, tuple[tuple[str, str | int], ...]] = {
    "aw": _ADDRESS,
    "w": (("data", "data"), ("strb", "strb"), ("last", 1), ("valid", 1), ("ready", -1)),
    "b": (("id", "id"), ("resp", 2), ("valid", 1), ("ready", -1)),
    "ar": _ADDRESS,
    "r": (("id", "id"), ("data", "data"), ("resp", 2), ("last", 1), ("valid", 1), ("ready", -1)),
}
_LITE: dict[str, tuple[tuple[str, str | int], ...]] = {
    "aw": (("addr", "addr"), ("valid", 1), ("ready", -1)),
    "w": (("data", "data"), ("strb", "strb"), ("valid", 1), ("ready", -1)),
    "b": (("resp", 2), ("valid", 1), ("ready", -1)),
    "ar": (("addr", "addr"), ("valid", 1), ("ready", -1)),
    "r": (("data", "data"), ("resp", 2), ("valid", 1), ("ready", -1)),
}
_LITE_CHIP = {"aw": "awaddr", "w": "wdata", "b": "bresp", "ar": "araddr", "r": "rdata"}


@dataclass(frozen=True)
class AxiSignal:
    """One signal of an interface."""

    channel: str
    """aw, w, b, ar or r."""
    field: str
    """addr, data, valid, ..."""
    width: int
    from_master: bool
    """Driven by the master."""

    @property
    def bd(self) -> str:
        """Suffix of its port at a block design: awaddr."""
        return self.channel + self.field


@dataclass(frozen=True)
class Axi:
    """An AXI4 or AXI4-Lite interface."""

    lite: bool
    addr_bits: int
    data_bits: int
    id_bits: int = 0
    """0: no id signals."""

    def signals(self) -> list[AxiSignal]:
        """All signals."""
        widths = {"id": self.id_bits, "addr": self.addr_bits, "data": self.data_bits, "strb": self.data_bits // 8}
        out = []
        for channel, fields in (_LITE if self.lite else _FULL).items():
            forward = channel in ("aw", "w", "ar")
            for field, size in fields:
                width = widths[size] if isinstance(size, str) else abs(size)
                if width:
                    out.append(AxiSignal(channel, field, width, forward != (size == -1)))
        return out

    def chip_name(self, prefix: str, signal: AxiSignal) -> str:
        """The chip's port, as firtool names bus/Axi4.scala's bundles."""
        if self.lite:
            base = f"{prefix}_{_LITE_CHIP[signal.channel]}"
            if signal.field in ("valid", "ready"):
                return f"{base}_{signal.field}"
            # Channels with one payload carry it as the bits themselves.
            return f"{base}_bits" if signal.channel in ("aw", "ar", "b") else f"{base}_bits_{signal.field}"
        middle = "" if signal.field in ("valid", "ready") else "bits_"
        return f"{prefix}_{signal.channel}_{middle}{signal.field}"
