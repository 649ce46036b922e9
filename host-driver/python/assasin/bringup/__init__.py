# SPDX-License-Identifier: BSD-3-Clause
"""Bring-up: a board's registers, memory and processors from outside, whatever its firmware does."""
