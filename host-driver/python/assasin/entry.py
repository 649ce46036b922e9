# SPDX-License-Identifier: BSD-3-Clause
"""Where the `assasin` command begins. Signals are taken over and errors are reported from the first import on."""

from __future__ import annotations

import sys

from assasin import interrupts
from assasin.bringup import wire


def main() -> None:
    """Entry point."""
    interrupts.install()
    wire.wait_on_stdio(sys.argv[1:])
    try:
        from assasin import failures
        from assasin.cli import main as command
    except ModuleNotFoundError as e:
        sys.exit(
            f"assasin: the Python module '{e.name}' is not installed: run scripts/setup, and use the command of scripts/env.sh"
        )
    except OSError as e:
        sys.exit(f"assasin: {e}")
    interrupts.ready()
    sys.exit(failures.run(command))
