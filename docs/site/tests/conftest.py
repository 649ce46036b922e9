# SPDX-License-Identifier: BSD-3-Clause
"""The generator's own modules are beside this folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
