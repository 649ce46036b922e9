# SPDX-License-Identifier: BSD-3-Clause
"""The Python package holds what its source folder holds."""

from __future__ import annotations

import tomllib
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "python"


def test_every_folder_of_modules_is_a_listed_package() -> None:
    with (SOURCE / "pyproject.toml").open("rb") as f:
        listed = tomllib.load(f)["tool"]["setuptools"]["packages"]
    found = {".".join(p.parent.relative_to(SOURCE).parts) for p in (SOURCE / "assasin").rglob("*.py")}
    assert found == set(listed)
