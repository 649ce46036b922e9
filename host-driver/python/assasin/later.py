# SPDX-License-Identifier: BSD-3-Clause
"""Modules that are loaded when they are used first: a command's help needs none of the libraries that its work needs."""

from __future__ import annotations

import importlib
from types import ModuleType


class Later(ModuleType):
    """
    Stands for the module of the same name until one of its attributes is asked for. It is not in sys.modules, so others who import
    that module get the real one; and it loads by an import, which threads may do at the same time.
    """

    def __getattr__(self, name: str) -> object:
        """The module's attribute. Raises ModuleNotFoundError, AttributeError."""
        return getattr(importlib.import_module(self.__name__), name)


def module(name: str) -> ModuleType:
    """The module `name`, loaded at the first use of one of its attributes."""
    return Later(name)
