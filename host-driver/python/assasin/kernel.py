# SPDX-License-Identifier: BSD-3-Clause
"""Kernels as functions: what names one, and the metadata file that describes it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assasin.binding import library
from assasin.errors import AssasinError
from assasin.tree import ROOT, contract


class KernelError(AssasinError):
    """A kernel's metadata is not there or makes no sense; the message names the file and what to do."""


@dataclass(frozen=True)
class Kernel:
    """
    A kernel in a slot of the chip, as a function of the drive. A job's or node's arguments are its `scalars` 32-bit scalars, its
    streams `inputs` input streams and at most one output stream.
    """

    name: str
    version: str
    inputs: int = 1
    scalars: int = 0

    def __post_init__(self) -> None:
        for what, value, least, most in (
            ("inputs", self.inputs, 1, contract.KERNEL_MAX_INPUTS),
            ("scalars", self.scalars, 0, contract.KERNEL_MAX_SCALARS),
        ):
            if not least <= value <= most:
                raise ValueError(f"kernel {self.title} has {value} {what}; a slot takes {least} to {most}")

    @property
    def title(self) -> str:
        """NAME/VERSION."""
        return f"{self.name}/{self.version}"

    @property
    def id(self) -> int:
        """What SYS.SLOT_ID of its slot reads."""
        return library().assasin_kernel_id(self.name.encode(), self.version.encode())

    @classmethod
    def described(cls, path: Path) -> Kernel:
        """The kernel that a kernel.toml describes (hls-kernels/README.md). Raises KernelError."""
        try:
            data = tomllib.loads(path.read_text())
            interface = data["interface"]
            return cls(str(data["name"]), str(data["version"]), len(interface["inputs"]), len(interface.get("scalars", [])))
        except FileNotFoundError:
            raise KernelError(f"there is no kernel metadata {path}") from None
        except KeyError as e:
            raise KernelError(f"{path} says nothing about {e}") from e
        except (tomllib.TOMLDecodeError, ValueError, TypeError) as e:
            raise KernelError(f"{path}: {e}") from e


def title(ident: int, titles: Mapping[int, str] | None = None) -> str:
    """What a slot with the id `ident` holds, in words. `titles`: what somebody who knows better says."""
    if ident == 0:
        return "empty"
    kernel = known().get(ident)
    return (titles or {}).get(ident) or (kernel.title if kernel else f"unknown kernel 0x{ident:08x}")


def known() -> dict[int, Kernel]:
    """The kernels of hls-kernels by id; those whose metadata cannot be read are left out."""
    found = {}
    for path in sorted((ROOT / "hls-kernels").glob("*/kernel.toml")):
        try:
            kernel = Kernel.described(path)
        except KernelError:
            continue
        found[kernel.id] = kernel
    return found
