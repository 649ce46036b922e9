# SPDX-License-Identifier: BSD-3-Clause
"""Offloads of one's own: made, checked, run and profiled without a board (`assasin offload`)."""
