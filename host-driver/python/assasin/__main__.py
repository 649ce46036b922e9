# SPDX-License-Identifier: BSD-3-Clause
"""`python -m assasin` is the `assasin` command."""

import sys

from assasin.bringup import wire

wire.wait_on_stdio(sys.argv[1:])

from assasin.cli import main  # noqa: E402 - takes longer than GDB waits without a sign

main()
