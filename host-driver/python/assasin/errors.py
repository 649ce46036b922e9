# SPDX-License-Identifier: BSD-3-Clause
"""The base of all errors whose message is for the user."""

from __future__ import annotations

from typing import ClassVar


class AssasinError(Exception):
    """Something that can happen to a correct program; the message says what it was and what to do."""

    exit_code: ClassVar[int] = 1
    """Of a command that ends with it."""


class OffloadError(AssasinError):
    """An offload is not there, is called with what it does not take, or some of its pieces failed."""
