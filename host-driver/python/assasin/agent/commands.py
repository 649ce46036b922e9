# SPDX-License-Identifier: BSD-3-Clause
"""`assasin agent ...`: a board through the agent on its Linux."""

from __future__ import annotations

import click

from assasin import terminal
from assasin.agent.client import Agent, Reading, parse_address
from assasin.cli import Group, json_option, pump_console


class Address(click.ParamType):
    """HOST or HOST:PORT."""

    name = "host[:port]"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """See click.ParamType."""
        return value if isinstance(value, tuple) else parse_address(str(value))


address_argument = click.argument("address", metavar="HOST[:PORT]", type=Address())


@click.group(cls=Group)
def agent() -> None:
    """A Zynq board through the agent on its Linux (board/agent)."""


@agent.command()
@address_argument
@json_option
def status(address: tuple[str, int], as_json: bool) -> None:
    """Which board it is and how its FPGA stands."""
    with Agent(*address) as connection:
        found = connection.status()
    if as_json:
        terminal.dump(vars(found))
        return
    rows = [("board", found.board), ("FPGA", found.fpga), ("registers", found.window), ("Linux is up", f"{found.uptime_s:.0f} s")]
    terminal.pairs(f"{address[0]}:{address[1]}", rows)


@agent.command()
@address_argument
@json_option
def sensors(address: tuple[str, int], as_json: bool) -> None:
    """Voltages, currents and powers that the board measures, now."""
    with Agent(*address) as connection:
        t_ns, readings = connection.sensors()
    if as_json:
        terminal.dump({"t_ns": t_ns, "sensors": [vars(r) for r in readings]})
        return
    terminal.table("sensors", ["name", "rail", "mV", "mA", "mW", ""], [_row(r) for r in readings])


def _row(r: Reading) -> list[str]:
    values = [str(v) if v is not None else "-" for v in (r.mv, r.ma)]
    return [r.name, r.rail, *values, f"{r.uw / 1000:.1f}" if r.uw is not None else "-", r.error or ""]


@agent.command()
@address_argument
@click.option("--hold", is_flag=True, help="Leave firmware processor, cores and channels in reset.")
@json_option
def reset(address: tuple[str, int], hold: bool, as_json: bool) -> None:
    """Reset the chip: its firmware starts again. Whoever uses the drive loses it."""
    with Agent(*address) as connection:
        connection.reset(hold)
    if as_json:
        terminal.dump({"reset": True, "held": hold})
    else:
        terminal.out.print("held in reset" if hold else "reset")


@agent.command()
@address_argument
def console(address: tuple[str, int]) -> None:
    """The firmware's console through the agent; Ctrl-] leaves."""
    with Agent(*address) as connection:
        pump_console(connection.console(), f"{address[0]}:{address[1]}")
