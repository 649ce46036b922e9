# SPDX-License-Identifier: BSD-3-Clause
"""What goes wrong when power is measured."""

from assasin.board import BoardError


class PowerError(BoardError):
    """A source of power readings is missing, has gone, or says what cannot be; the message names it and what to do."""
