# SPDX-License-Identifier: BSD-3-Clause
"""Results of synthesis by the hash of everything they depend on, shared by all clones of one user."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any


def folder() -> Path:
    """Where results are kept: `synth` in the project's cache."""
    root = os.environ.get("ASSASIN_CACHE") or Path.home() / ".cache" / "assasin"
    return Path(root) / "synth"


def digest(*parts: str) -> str:
    """16 hexadecimal digits that tell these texts from others."""
    h = hashlib.sha256()
    for part in parts:
        h.update(f"{len(part)}:".encode())
        h.update(part.encode())
    return h.hexdigest()[:16]


def load(kind: str, key: str) -> dict[str, Any] | None:
    """The JSON object kept under this key, or None. One that cannot be read counts as not there."""
    try:
        value = json.loads((folder() / kind / f"{key}.json").read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return value if isinstance(value, dict) else None


def store(kind: str, key: str, value: dict[str, Any]) -> None:
    """Keeps a JSON object under this key."""
    write_json(folder() / kind / f"{key}.json", value)


def write_json(path: Path, value: object) -> None:
    """Writes a JSON file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w") as file:
            json.dump(value, file, indent=1)
            file.write("\n")
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
