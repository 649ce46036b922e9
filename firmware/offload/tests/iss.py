# SPDX-License-Identifier: BSD-3-Clause
"""The simulator of an ASSASIN core for tests and scripts here, which know only the generated contract's folder."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "host-driver" / "python"))

from assasin.offload.simulator import Core, Trap, segments  # noqa: E402

__all__ = ["ROOT", "Core", "Trap", "segments"]
