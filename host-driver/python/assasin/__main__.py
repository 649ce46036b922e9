# SPDX-License-Identifier: BSD-3-Clause
"""`python -m assasin` is the `assasin` command."""

from assasin.entry import main

main()
