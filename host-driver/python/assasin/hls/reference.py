# SPDX-License-Identifier: BSD-3-Clause
"""
What a kernel's result should be: hls-kernels/NAME/reference.py, a computation on the host that shares no code with the kernel.

It has `example(size, seed)`: streams of about `size` bytes together and scalar arguments by name; `expected(inputs, scalars)`:
the output; and, where pieces' outputs are not just joined, `merge(outputs)`, and where it is not exact, `equal(result, expected)`.
"""

from __future__ import annotations

import functools
import importlib.util
import operator
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from assasin.hls.kernel import Kernel, KernelError

Scalars = Mapping[str, float]


@dataclass(frozen=True)
class Reference:
    """The functions of a kernel's reference.py."""

    example: Callable[[int, int], tuple[list[bytes], dict[str, float]]]
    expected: Callable[[Sequence[bytes], Scalars], bytes]
    merge: Callable[[Sequence[bytes]], bytes]
    equal: Callable[[bytes, bytes], bool]


P = ParamSpec("P")
R = TypeVar("R")


def _guarded(kernel: Kernel, function: Callable[P, R]) -> Callable[P, R]:
    """The function of a reference.py, whose exceptions are the user's: they become a KernelError with the line."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as e:
            frames = [f for f in traceback.extract_tb(e.__traceback__) if Path(f.filename).parent == kernel.folder]
            line = f", line {frames[-1].lineno}" if frames else ""
            what = f"{function.__name__}() raises {type(e).__name__}: {e}"
            raise KernelError(f"{kernel.folder.name}/reference.py{line}: {what}") from e

    return call


def load(kernel: Kernel) -> Reference:
    """The kernel's reference. Raises KernelError."""
    path = kernel.folder / "reference.py"
    if not path.exists():
        raise KernelError(f"{kernel.name} has no reference.py: write one with example() and expected() (see hls-kernels/README.md)")
    spec = importlib.util.spec_from_file_location(f"assasin_kernel_{kernel.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        own = [module.example, module.expected, getattr(module, "merge", b"".join), getattr(module, "equal", operator.eq)]
    except Exception as e:
        raise KernelError(f"{kernel.folder.name}/reference.py: {type(e).__name__}: {e}") from e
    return Reference(*(_guarded(kernel, f) for f in own))
