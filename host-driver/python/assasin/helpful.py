# SPDX-License-Identifier: BSD-3-Clause
"""Command groups that say all of a command's summary in their help, and what an unknown command may have meant; the version."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import Any

import click

from assasin import __version__
from assasin.tree import ROOT


def guess(word: str, known: Sequence[str]) -> str:
    """ " Did you mean ...?" for a word that is nearly one of `known`, else nothing."""
    import difflib

    near = difflib.get_close_matches(word, known, 3, 0.6)
    return f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""


def summary(command: click.Command) -> str:
    """The first sentence of a command's help, on one line."""
    text = " ".join((command.short_help or command.help or "").split("\n\n")[0].replace("\b", "").split())
    first, dot, _ = text.partition(". ")
    return first + "." if dot else text


class HelpfulGroup(click.Group):
    """See above."""

    def summaries(self, ctx: click.Context) -> list[tuple[str, str]]:
        """Names and summaries of the commands that the help shows."""
        return self.summaries_of(ctx, self.list_commands(ctx))

    def summaries_of(self, ctx: click.Context, names: Sequence[str]) -> list[tuple[str, str]]:
        """The same of the commands `names`."""
        commands = [(name, self.get_command(ctx, name)) for name in names]
        return [(name, summary(c)) for name, c in commands if c is not None and not c.hidden]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """See click.Group, which cuts summaries that are longer than a line."""
        rows = self.summaries(ctx)
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """See click.Group."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            names = self.list_commands(ctx)
            hint = guess(args[0], names) or f" There are: {', '.join(names)}."
            ctx.fail(f"There is no command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)


def version() -> str:
    """The version, and the commit in a checkout."""
    if not (ROOT / ".git").exists():
        return __version__
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=, with changes", "--exclude=*", "--abbrev=12"]
    try:
        done = subprocess.run(git, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return __version__
    return f"{__version__}, commit {done.stdout.strip()}" if done.returncode == 0 else __version__


def print_version(ctx: click.Context, _: click.Parameter, wanted: Any) -> None:  # noqa: ANN401
    """Callback of --version."""
    if wanted and not ctx.resilient_parsing:
        click.echo(f"assasin {version()}")
        ctx.exit()
