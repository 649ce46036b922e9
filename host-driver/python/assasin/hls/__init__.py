# SPDX-License-Identifier: BSD-3-Clause
"""HLS kernels: their metadata, C simulation, models for the virtual board, Vitis export, and the bench of XSSD's three forms."""
