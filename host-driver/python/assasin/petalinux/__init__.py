# SPDX-License-Identifier: BSD-3-Clause
"""The PetaLinux layer of a Zynq board: board/common/petalinux, completed from the board file."""

from assasin.petalinux.layer import LayerError, make_layer

__all__ = ["LayerError", "make_layer"]
