# SPDX-License-Identifier: BSD-3-Clause
"""A new kernel: a copy of one that there is, under another name."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from assasin.hls import kernel as kernels
from assasin.hls.kernel import Kernel, KernelError

TEMPLATE = "addword"
"""A small, complete kernel."""


def create(name: str, template: str = TEMPLATE, folder: Path = kernels.KERNELS) -> Kernel:
    """Makes the kernel `name` in `folder` out of `template`. Raises KernelError; then nothing was made."""
    if not kernels.NAME.fullmatch(name):
        raise KernelError(f"'{name}' cannot be a kernel's name: use lower-case letters, digits and _, at most 31, a letter first")
    if name in kernels.RESERVED:
        raise KernelError(f"'{name}' cannot be a kernel's name: {kernels.WHY_RESERVED}; call it {name}_0 or the like")
    target = folder / name
    if target.exists():
        raise KernelError(f"{kernels.shown(target)} is there already: choose another name or remove it")
    old = kernels.load(template)
    fresh = target.with_name(f".{name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        for path in sorted(p for p in old.folder.iterdir() if p.is_file()):
            text = path.read_text()
            for a, b in ((old.name, name), (old.name.upper(), name.upper())):
                text = re.sub(rf"(?<![A-Za-z0-9]){a}(?![A-Za-z0-9])", b, text)
            (fresh / re.sub(rf"^{old.name}(?=[._])", name, path.name)).write_text(text)
        fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return kernels.load(target if folder != kernels.KERNELS else name)
