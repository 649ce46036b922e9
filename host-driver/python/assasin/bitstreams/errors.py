# SPDX-License-Identifier: BSD-3-Clause
"""What goes wrong with images."""

from assasin.board import BoardError


class BitstreamError(BoardError):
    """An image, its manifest or the tool that programs it is not as it must be; the message says what to do."""
