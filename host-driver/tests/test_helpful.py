# SPDX-License-Identifier: BSD-3-Clause
"""What the command says of itself: version, help, what an unknown word may have meant; and names that it checks itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from assasin import __version__
from assasin.board import ARCHITECTURES
from assasin.cli import LATER, Size, cli, complete
from assasin.helpful import guess, summary
from assasin.tree import ROOT
from click.testing import CliRunner

complete()


def invoke(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, words, terminal_width=80)
    return result.exit_code, " ".join(result.output.split())


def groups(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Group]]:
    if isinstance(command, click.Group):
        yield path, command
        for name, child in command.commands.items():
            yield from groups(child, (*path, name))


@pytest.mark.parametrize("name", LATER)
def test_the_summary_of_a_command_that_is_not_loaded_is_its_own(name: str) -> None:
    assert LATER[name].summary == summary(cli.commands[name])


@pytest.mark.parametrize("group", ["", "bench", "bringup", "flash", "hls", "offload", "power", "synth", "vm"])
def test_the_help_loads_no_library_that_only_the_work_needs(group: str) -> None:
    """numpy, DuckDB and matplotlib take longer to load than the whole help may take."""
    say = "import sys; from assasin.cli import main\ntry: main()\nexcept SystemExit: pass\nprint(*sys.modules)"
    command = [sys.executable, "-c", say, *group.split(), "--help"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert "Commands" in done.stdout or "Options" in done.stdout
    heavy = {"numpy", "duckdb", "matplotlib", "scipy", "asyncio"}
    assert not heavy & set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("path", [" ".join(p) for p, _ in groups(cli)])
def test_no_summary_is_cut_at_80_columns(path: str) -> None:
    result = CliRunner().invoke(cli, [*path.split(), "--help"], terminal_width=80)
    assert result.exit_code == 0
    assert "..." not in result.output.split("Commands:")[1].replace(", ...)", "")
    assert max(map(len, result.output.splitlines())) <= 80


def test_version_names_the_commit() -> None:
    code, said = invoke("--version")
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
    assert code == 0
    assert said.startswith(f"assasin {__version__}, commit {commit[:12]}")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rum", "stat"), "There is no command 'rum'. Did you mean 'run'?"),
        (("bench", "scn"), "There is no command 'scn'. Did you mean 'scan'?"),
        (("bench", "xyzzy"), "There is no command 'xyzzy'. There are: efficiency, filter,"),
        (("run", "stat", "--bytse", "1"), "No such option: --bytse Did you mean --bytes?"),
        (("flash", "virtual", "--config", "Foo8x8"), "there is no architecture 'Foo'; there are: Baseline, Prefetch, AssasinSp,"),
        (("flash", "virtual", "--nand", "/x", "--image", "/y"), "--image is an old name of --nand"),
    ],
)
def test_what_was_meant(words: tuple[str, ...], said: str) -> None:
    code, output = invoke(*words)
    assert code == 2
    assert said in output


def test_guesses() -> None:
    assert guess("stta", ["stat", "scan", "raid4"]) == " Did you mean 'stat'?"
    assert guess("nothing", ["stat"]) == ""


@pytest.mark.parametrize(("text", "size"), [("100T", 100 << 40), ("900TiB", 900 << 40), ("0x10K", 16 << 10), ("7", 7)])
def test_sizes(text: str, size: int) -> None:
    assert Size().convert(text, None, None) == size


def test_architectures_are_those_of_the_chip() -> None:
    scala = ROOT / "hw/src/main/scala/assasin"
    chip = (scala / "Architecture.scala").read_text() + (scala / "soc/Configs.scala").read_text()
    listed = re.search(r"val all: Seq\[Architecture\] =\s+Seq\((.*?)\)", chip, re.DOTALL)
    assert listed
    with_slots = re.findall(r'\(\("(\w+)", Architecture', chip)
    chipyard = (ROOT / "hw/chipyard/chipyard/AssasinConfigs.scala").read_text()
    with_rocket = re.findall(r"class (Chipyard[A-Za-z]+)\d+x\d+Config", chipyard)
    assert sorted(ARCHITECTURES) == sorted([*re.findall(r"\w+", listed[1]), *with_slots, *with_rocket])


def test_a_user_without_the_environment_is_told_to_set_it_up(tmp_path: Path) -> None:
    command = [ROOT / "scripts" / "bin" / "assasin", "info"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "ASSASIN_CACHE": str(tmp_path)})
    assert done.returncode == 1
    assert "scripts/setup first" in done.stderr
    assert "python" not in done.stderr.replace(str(tmp_path), "")


HELP = """
import sys
from assasin.cli import main
sys.argv = ["assasin", *sys.argv[1:], "--help"]
main()
print("loaded:", *(m for m in ("numpy._core", "duckdb", "pyarrow", "matplotlib", "jsonschema") if m in sys.modules))
"""
NOT_YET = {"power", "synth", "hls", "bench", "flash"}
"""Their help still loads what their work needs, or what that of such a command in the group needs."""
DEEPER = {"offload new", "offload check", "offload run", "offload profile", "bench paper", "bench varve", "flash virtual"}


@pytest.mark.parametrize("command", sorted({*cli.list_commands(click.Context(cli)), *DEEPER} - NOT_YET))
def test_help_loads_no_library_that_only_the_work_needs(command: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "host-driver" / "python")}
    words = [sys.executable, "-c", HELP, *command.split()]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment, timeout=60)
    assert done.stdout.splitlines()[-1] == "loaded:"
