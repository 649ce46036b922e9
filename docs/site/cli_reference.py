# SPDX-License-Identifier: BSD-3-Clause
"""Reference page of the `assasin` command: the help of every command, as its parser has it. And the page of exit codes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click


def commands(group: click.Group, ctx: click.Context) -> Iterator[tuple[click.Context, click.Command]]:
    """Every command below a group, in order of names, groups before what they hold."""
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if command is None or command.hidden:
            continue
        sub = click.Context(command, info_name=name, parent=ctx, terminal_width=110)
        yield sub, command
        if isinstance(command, click.Group):
            yield from commands(command, sub)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _section(ctx: click.Context, command: click.Command) -> str:
    path = ctx.command_path
    usage = " ".join(ctx.get_usage().removeprefix("Usage: ").split())
    parts = [f"## {path}", f"    {usage}", inspect.cleandoc(command.help or "").replace("\b", "").replace("<", "&lt;")]
    records = [r for r in (p.get_help_record(ctx) for p in command.get_params(ctx)) if r]
    if records:
        rows = [f"| `{_cell(name).replace('&lt;', '<')}` | {_cell(what)} |" for name, what in records]
        parts.append("| option | |\n|---|---|\n" + "\n".join(rows))
    return "\n\n".join(parts)


def page() -> str:
    """The page of all commands."""
    from assasin.cli import cli

    root = click.Context(cli, info_name="assasin", terminal_width=110, **cli.context_settings)
    found = [(root, cli), *commands(cli, root)]
    note = "Generated from the command's own parser: `assasin COMMAND --help` prints the same. See [exit codes](exit-codes.md)."
    return "\n\n".join(["# The `assasin` command", note, *(_section(c, k) for c, k in found)]) + "\n"


def exit_codes(offloads: Path) -> str:
    """The page of exit codes: of the command, whose classes are asked, and of the functions, whose header has them."""
    import signal

    from assasin import failures, torture
    from assasin.errors import AssasinError

    def below(base: type[AssasinError]) -> Iterator[type[AssasinError]]:
        for one in base.__subclasses__():
            yield one
            yield from below(one)

    rows = [(0, "the command did what it was asked to"), (AssasinError.exit_code, "an error; a message on stderr says what to do")]
    assert torture.TortureError.exit_code != AssasinError.exit_code  # the import brings classes of modules that load late
    others: dict[int, list[str]] = {}
    for error in below(AssasinError):
        if error.exit_code != AssasinError.exit_code:
            others.setdefault(error.exit_code, []).append(f"`{error.__name__}`: {' '.join((error.__doc__ or '').split())}")
    wrong = "the command line is wrong: an unknown command or option, or a value that is not allowed"
    others.setdefault(click.UsageError.exit_code, []).insert(0, wrong)
    rows += [(code, "; ".join(what)) for code, what in others.items()]
    rows += [(128 + signal.SIGINT, "ended by Ctrl-C (SIGINT)"), (128 + signal.SIGTERM, "ended by SIGTERM")]
    rows += [(failures.PIPE_CLOSED, "nobody reads standard output any more (SIGPIPE)")]
    out = [
        "# Exit codes",
        "## Of the command",
        "| code | meaning |\n|---|---|\n" + "\n".join(f"| {code} | {what} |" for code, what in sorted(rows)),
        "With `--json` an error is an object with the member `error` on stdout, beside the message on stderr.",
        "## Of the functions",
        "What `compute` of a function returns when a piece fails, from `firmware/offload/include/offloads.h`. 0 is success.",
    ]
    text = offloads.read_text(encoding="utf-8")
    for match in re.finditer(r"(?:/\*\*(?P<text>[^/]*?)\*/\s*)?enum (?P<name>\w+_exit) \{(?P<body>[^}]*)\};", text, re.S):
        rows_of = re.findall(r"(\w+)\s*=\s*(\d+),?(?:\s*/\*\*<\s*(.*?)\s*\*/)?", match["body"], re.S)
        out.append(f"### `enum {match['name']}`")
        if match["text"]:
            out.append(" ".join(match["text"].replace("*", " ").split()))
        out.append("| code | name | meaning |\n|---|---|---|\n" + "\n".join(f"| {c} | `{n}` | {_cell(w)} |" for n, c, w in rows_of))
    return "\n\n".join(out) + "\n"
