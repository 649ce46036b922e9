# SPDX-License-Identifier: BSD-3-Clause
"""The ASSASIN computational SSD from Python: drive access over libassasin, offloads, boards, benchmarks and the `assasin` command."""
