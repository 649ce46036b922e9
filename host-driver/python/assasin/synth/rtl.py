# SPDX-License-Identifier: BSD-3-Clause
"""The SystemVerilog of a configuration: emitted once for each state of the sources, and read as a tree of modules."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from assasin.synth import SynthError, cache, polite
from assasin.tree import ROOT

TOP = "AssasinSoc"
_CONFIG = re.compile(r"([A-Za-z]+)([1-9]\d*)x([1-9]\d*)")
_INSTANCE = re.compile(r"^  ([A-Za-z_]\w*) ([A-Za-z_]\w*) \($", re.MULTILINE)


def parse(config: str) -> tuple[str, int, int]:
    """Architecture, cores, channels of a configuration's name. Raises SynthError."""
    match = _CONFIG.fullmatch(config)
    if not match:
        raise SynthError(f"configuration '{config}' is not <architecture><cores>x<channels>, for example AssasinSb4x8")
    return match[1], int(match[2]), int(match[3])


class Chip(NamedTuple):
    """
    What is emitted: a configuration, the chip enables a channel that the board has (None: as many as the configuration),
    whether the channels have their page codec, the LUNs of a chip enable that work at the same time (None: likewise), the widest
    access to BAR0 (None: likewise), and the bits of a vector register and of an element group (None: likewise).
    """

    config: str
    ways: int | None = None
    codec: bool = True
    luns: int | None = None
    bar0_bits: int | None = None
    vector_bits: int | None = None

    def arguments(self) -> str:
        """What the generator is told."""
        ways = "" if self.ways is None else f" --ways {self.ways}"
        luns = "" if self.luns is None else f" --luns {self.luns}"
        bar0 = "" if self.bar0_bits is None else f" --bar0-bits {self.bar0_bits}"
        vector = "" if self.vector_bits is None else f" --vector-bits {self.vector_bits}"
        return f"--config {self.config} --board{ways}{luns}{bar0}{vector}{'' if self.codec else ' --without-codec'}"


class Rtl:
    """The modules of one configuration, or those of a part of it, `top`."""

    def __init__(self, folder: Path, top: str = TOP) -> None:
        self.folder = folder
        self.texts = {path.stem: path.read_text() for path in sorted(folder.glob("*.sv"))}
        if top not in self.texts:
            raise SynthError(f"{folder} holds no {top}.sv: remove the folder, so that it is emitted again")

    @cached_property
    def instances(self) -> dict[str, Counter[str]]:
        """How often each module instantiates which others, directly."""
        return {name: Counter(m for m, _ in _INSTANCE.findall(text) if m in self.texts) for name, text in self.texts.items()}

    def memory_bits(self, module: str) -> int:
        """Bits of a module that is an array with ports, as firtool emits memories; 0 for any other."""
        match = re.search(r"^  reg +(?:\[(\d+):0\] +)?Memory\[0:(\d+)\];", self.texts[module], re.MULTILINE)
        return (int(match[1] or 0) + 1) * (int(match[2]) + 1) if match else 0

    def paths(self, module: str, at: str = "") -> Iterator[tuple[str, str]]:
        """Every instance below a module and the module it is of; names joined by dots, `at` in front. The module itself first."""
        yield at, module
        for child, name in _INSTANCE.findall(self.texts[module]):
            if child in self.texts:
                yield from self.paths(child, f"{at}.{name}" if at else name)

    def closure(self, module: str, stop: Callable[[str], bool] = lambda _: False) -> set[str]:
        """The module and all below it; those for which `stop` holds are left out, with what is below them."""
        seen, todo = {module}, [module]
        while todo:
            for child in self.instances[todo.pop()]:
                if child not in seen and not stop(child):
                    seen.add(child)
                    todo.append(child)
        return seen

    def ports(self, module: str) -> str:
        """The module's port list, without its name."""
        text = self.texts[module]
        start = text.index(f"module {module}(") + len(f"module {module}")
        return text[start : text.index(");", start)]

    def hash(self, module: str, stop: Callable[[str], bool] = lambda _: False) -> str:
        """
        Hash of a module with all below it; of those for which `stop` holds, only the ports. Names of modules do not count, as
        firtool numbers them differently in every configuration.
        """
        text = self.texts[module]
        for child in self.instances[module]:
            inside = cache.digest(self.ports(child)) if stop(child) else self.hash(child, stop)
            text = re.sub(rf"^  {child} ", f"  <{inside}> ", text, flags=re.MULTILINE)
        return cache.digest(re.sub(rf"^module {module}\b", "module", text, flags=re.MULTILINE))

    def counts(self, root: str = TOP) -> Counter[str]:
        """How often each module is there below `root`, itself included."""
        total: Counter[str] = Counter({root: 1})
        for child, n in self.instances[root].items():
            for module, m in self.counts(child).items():
                total[module] += n * m
        return total


def sources_hash(chip: Chip) -> str:
    """Hash of what the Verilog of a chip is generated from."""
    contract = [p for p in (ROOT / "hw" / "regs").glob("*.toml") if p.name != "scomp.toml"]
    files = [ROOT / "hw" / "build.sbt", ROOT / "hw" / "project" / "build.properties", ROOT / "hw" / "project" / "plugins.sbt"]
    for folder in (ROOT / "hw" / "src" / "main", ROOT / "hw" / "isa", ROOT / "hw" / "contract"):
        files += [p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(ROOT)}\n" for p in sorted(files + contract)]
    return cache.digest(chip.arguments(), *lines)


def load(chips: Iterable[Chip], say: Callable[[str], None] = lambda _: None) -> dict[Chip, Rtl]:
    """The Verilog of these chips; what is not in the cache is emitted, all in one run of the generator. Raises SynthError."""
    chips = list(dict.fromkeys(chips))
    for chip in chips:
        parse(chip.config)
    where = {chip: cache.folder() / "rtl" / sources_hash(chip) for chip in chips}
    missing = {chip: path for chip, path in where.items() if not (path / f"{TOP}.sv").exists()}
    if missing:
        say(f"emitting {', '.join(chip.config for chip in missing)}")
        _emit(missing)
    return {chip: Rtl(path) for chip, path in where.items()}


def _emit(where: Mapping[Chip, Path]) -> None:
    """Runs the generator."""
    if shutil.which("sbt") is None:
        raise SynthError("sbt is missing: run scripts/setup, then `. scripts/env.sh`")
    log = ROOT / "build" / "synth" / "emit.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    (cache.folder() / "rtl").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache.folder() / "rtl") as work, open(log, "w", encoding="utf-8") as out:
        polite.run([ROOT / "scripts" / "contract"], log=out)
        made = {chip: Path(work) / str(i) for i, chip in enumerate(where)}
        commands = [f"runMain assasin.soc.Emit {chip.arguments()} --out {folder}" for chip, folder in made.items()]
        polite.run(["sbt", *commands], ROOT / "hw", out)
        for chip, target in where.items():
            if not (made[chip] / f"{TOP}.sv").exists():
                raise SynthError(f"the generator does not emit {chip.config}: {_reason(log)}; its log is {log}")
            if not target.exists():
                os.replace(made[chip], target)


def _reason(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    telling: Iterable[str] = (
        line for line in lines if re.search(r"configuration '|choose|needs|requirement failed|\[error\]", line)
    )
    return next(iter(telling), lines[-1] if lines else "it printed nothing")
