# SPDX-License-Identifier: BSD-3-Clause
"""The ASSASIN computational SSD from Python: drives over libassasin, offloads, boards, benchmarks, the `assasin` command."""

__version__ = "0.1.0"
