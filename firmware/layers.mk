# SPDX-License-Identifier: BSD-3-Clause
# The firmware's folders, from the bottom to the top (docs/firmware.md); layers.py checks that includes go downward.
LAYERS := lib platform media ftl csd nvme app
