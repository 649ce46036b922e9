# SPDX-License-Identifier: BSD-3-Clause
"""Commands: each line of code that calls `assasin` names a command that exists, with options that it has."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import click
import links
import markdown_text
import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "host-driver/python"), str(ROOT / "build/gen/python")]
CALL = re.compile(r"(?:^|; |&& |-- )(?=assasin [a-z-])")


def calls(text: str) -> list[tuple[int, list[str]]]:
    """Line and words of each call in the code of a page. What the reader chooses and comments are left in."""
    found = []
    for line in markdown_text.lines(text):
        if not line.code:
            continue
        for call in CALL.split(line.text.strip())[1:]:
            try:
                words = shlex.split(re.split(r"\s#|\s{3,}|[;|>]| && | -- ", call)[0], posix=True)
            except ValueError:
                continue
            found.append((line.number, words))
    return found


def fault(words: list[str]) -> str:
    """What is wrong with a call; nothing when its command and options exist."""
    from assasin.cli import cli

    command: click.Command = cli
    context = click.Context(cli, info_name="assasin")
    rest = words[1:]
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        sub = command.get_command(context, rest[0])
        if sub is None:
            chosen = rest[0].isupper() or command.invoke_without_command
            return "" if chosen else f"there is no command '{' '.join(words[: len(words) - len(rest) + 1])}'"
        command, rest = sub, rest[1:]
        context = click.Context(command, info_name=command.name, parent=context)
    options = {o for p in command.get_params(context) for o in (*p.opts, *p.secondary_opts)} | {"-h", "--help", "--version"}
    unknown = [w for w in (w.split("=")[0] for w in rest) if re.fullmatch(r"--?[a-z][a-z-]*", w) and w not in options]
    return f"'{command.name}' has no option {unknown[0]}" if unknown else ""


def test_commands_of_the_documentation_exist() -> None:
    wrong, seen = [], 0
    for page in links.repository_files(ROOT):
        for number, words in calls((ROOT / page).read_text(encoding="utf-8")):
            seen += 1
            if fault(words):
                wrong.append(f"{page}:{number}: {fault(words)}")
    assert seen > 100 and wrong == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("assasin flash virtual --format", ""),
        ("assasin run stat --lba 0 --bytes 1M", ""),
        ("assasin frobnicate", "there is no command 'assasin frobnicate'"),
        ("assasin bench nothing --quick", "there is no command 'assasin bench nothing'"),
        ("assasin info --colour", "'info' has no option --colour"),
    ],
)
def test_a_wrong_command_is_found(line: str, message: str) -> None:
    assert [fault(words) for _, words in calls(f"# A\n\n    {line}   # what it does\n")] == [message]
