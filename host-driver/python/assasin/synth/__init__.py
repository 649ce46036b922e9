# SPDX-License-Identifier: BSD-3-Clause
"""Estimates from synthesis with open tools: utilisation, timing, gate-level power and efficiency. See hw/synth/README.md."""

from assasin.errors import AssasinError


class SynthError(AssasinError):
    """What is asked for cannot be estimated; the message says why and what to do."""
