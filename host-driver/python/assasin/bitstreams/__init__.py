# SPDX-License-Identifier: BSD-3-Clause
"""Images of boards: manifests, packages, and putting them on a board. `bitstreams/` holds one folder an image."""

from assasin.bitstreams.errors import BitstreamError
from assasin.bitstreams.manifest import Kernel, Manifest, Timing, Utilisation

__all__ = ["BitstreamError", "Kernel", "Manifest", "Timing", "Utilisation"]
