# SPDX-License-Identifier: BSD-3-Clause
"""The flash channel's default command steps: the lists of hw/regs/flash.toml as the words of the registers STEPS and PHASES."""

from __future__ import annotations

from typing import Any


class StepError(Exception):
    """A list of steps cannot be put into words; the message names the list and the step."""


class StepTables:
    """Words of STEPS and PHASES."""

    def __init__(self, registers: list[dict[str, Any]], enums: list[dict[str, Any]], flash: dict[str, Any]) -> None:
        self._registers = {reg["name"]: reg for reg in registers}
        self._values = {e["name"]: {name: value for name, value, _ in e["values"]} for e in enums}
        self.steps: list[int] = []
        self.names: list[str] = []
        first: dict[str, int] = {}
        for group in flash["steps"]:
            if group["name"] in first:
                raise StepError(f"steps {group['name']}: there are two lists of that name")
            first[group["name"]] = len(self.steps)
            self.steps += [self._step(group["name"], text) for text in group["steps"]]
            self.names += [f"{group['name']}: {text}" for text in group["steps"]]
        places = self._registers["STEPS"]["count"]
        if len(self.steps) > places:
            raise StepError(f"{len(self.steps)} steps, the channel holds {places}")
        self.phases = [0] * self._registers["PHASES"]["count"]
        for operation, lists in flash["phases"].items():
            for field, name in zip(("FIRST", "SECOND", "OTHER", "SELECT"), lists, strict=False):
                if name not in first:
                    raise StepError(f"phases of {operation}: there is no list {name}")
                self.phases[self._values["FlashOp"][operation]] |= self._put("PHASES", field, first[name])

    def _put(self, register: str, field: str, value: int) -> int:
        """A value in its place in a register."""
        lsb, width = next((lsb, width) for name, lsb, width, _ in self._registers[register]["fields"] if name == field)
        if value >> width:
            raise StepError(f"{register}.{field}: {value} does not fit")
        return value << lsb

    def _step(self, group: str, text: str) -> int:
        """The word of one step."""
        kind, *words = text.split()
        if kind not in self._values["FlashStep"]:
            raise StepError(f"steps {group}: {text!r} begins with {kind}, which is no FlashStep")
        step = self._put("STEPS", "KIND", self._values["FlashStep"][kind])
        if kind in ("COMMAND", "ADDRESS"):
            if not words:
                raise StepError(f"steps {group}: {text!r} names no byte")
            step |= self._put("STEPS", "BYTE", int(words.pop(0), 16))
        for word in words:
            for field, enum in (("GUARD", "FlashGuard"), ("WHEN", "FlashWhen"), ("END", "FlashEnd")):
                if word in self._values[enum]:
                    step |= self._put("STEPS", field, self._values[enum][word])
                    break
            else:
                raise StepError(f"steps {group}: {word} in {text!r} is no FlashGuard, FlashWhen or FlashEnd")
        return step
