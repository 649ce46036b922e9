# SPDX-License-Identifier: BSD-3-Clause
"""The SystemVerilog of a configuration: emitted once for each state of the sources, and read as a tree of modules."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path

from assasin.synth import SynthError, cache
from assasin.tree import ROOT

TOP = "AssasinSoc"
_CONFIG = re.compile(r"([A-Za-z]+)([1-9]\d*)x([1-9]\d*)")
_INSTANCE = re.compile(r"^  ([A-Za-z_]\w*) (?:\\?[A-Za-z_]\S*) \($", re.MULTILINE)
_NO_INSTANCE = {"module", "if", "else", "always", "assign", "for", "case"}


def parse(config: str) -> tuple[str, int, int]:
    """Architecture, cores, channels of a configuration's name. Raises SynthError."""
    match = _CONFIG.fullmatch(config)
    if not match:
        raise SynthError(f"configuration '{config}' is not <architecture><cores>x<channels>, for example AssasinSb4x8")
    return match[1], int(match[2]), int(match[3])


class Rtl:
    """The modules of one configuration."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.texts = {path.stem: path.read_text() for path in sorted(folder.glob("*.sv"))}
        if TOP not in self.texts:
            raise SynthError(f"{folder} holds no {TOP}.sv: remove the folder, so that it is emitted again")

    @cached_property
    def instances(self) -> dict[str, Counter[str]]:
        """How often each module instantiates which others, directly."""
        return {
            name: Counter(m for m in _INSTANCE.findall(text) if m in self.texts and m not in _NO_INSTANCE)
            for name, text in self.texts.items()
        }

    def is_memory(self, module: str) -> bool:
        """An array of registers with ports, as firtool emits memories."""
        return "] Memory[0:" in self.texts[module]

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
        Hash of a module with all below it; of those for which `stop` holds, only the ports. Names of modules do not count, as firtool
        numbers them differently in every configuration.
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


def sources_hash(config: str) -> str:
    """Hash of what the Verilog of a configuration is generated from: the one in manifests of bitstreams, too."""
    contract = sorted(p for p in (ROOT / "hw" / "regs").glob("*.toml") if p.name != "scomp.toml")
    folders = [ROOT / "hw" / "src" / "main", ROOT / "hw" / "isa", ROOT / "hw" / "contract"]
    files = [ROOT / "hw" / "build.sbt", ROOT / "hw" / "project" / "build.properties", ROOT / "hw" / "project" / "plugins.sbt"]
    files += contract
    for folder in folders:
        files += [p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(ROOT)}\n" for p in sorted(files)]
    return cache.digest(config, *lines)


def load(configs: Sequence[str], say: Callable[[str], None] = lambda _: None) -> dict[str, Rtl]:
    """The Verilog of these configurations; what is not in the cache is emitted, all in one run of the generator."""
    for config in configs:
        parse(config)
    where = {config: cache.folder() / "rtl" / sources_hash(config) for config in configs}
    missing = [config for config in where if not (where[config] / f"{TOP}.sv").exists()]
    if missing:
        say(f"emitting {', '.join(missing)}")
        _emit({config: where[config] for config in missing})
    return {config: Rtl(path) for config, path in where.items()}


def _emit(where: dict[str, Path]) -> None:
    """Runs the generator."""
    if shutil.which("sbt") is None:
        raise SynthError("sbt is missing: run scripts/setup, then `. scripts/env.sh`")
    log = ROOT / "build" / "synth" / "emit.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    (cache.folder() / "rtl").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache.folder() / "rtl") as work, open(log, "w", encoding="utf-8") as out:
        subprocess.run([ROOT / "scripts" / "contract"], stdout=out, stderr=subprocess.STDOUT, check=False)
        commands = [f"runMain assasin.soc.Emit --config {config} --board --out {work}/{config}" for config in where]
        subprocess.run(["nice", "-n", "15", "sbt", *commands], cwd=ROOT / "hw", stdout=out, stderr=subprocess.STDOUT, check=False)
        for config, target in where.items():
            made = Path(work) / config
            if not (made / f"{TOP}.sv").exists():
                raise SynthError(f"the generator does not emit {config}: {_reason(log)}; its log is {log}")
            if not target.exists():
                os.replace(made, target)


def _reason(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    telling: Iterable[str] = (line for line in lines if re.search(r"configuration '|choose|needs|requirement failed|\[error\]", line))
    return next(iter(telling), lines[-1] if lines else "it printed nothing")
