# SPDX-License-Identifier: BSD-3-Clause
"""Names of the project's offloads that benchmarks know."""

from __future__ import annotations

BUILTIN = ("scan", "stat", "filter")
"""Names of the offloads in firmware/offload."""
