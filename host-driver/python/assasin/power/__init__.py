# SPDX-License-Identifier: BSD-3-Clause
"""Power: what a drive draws while a command runs, from sensors, a logged meter, or models fed by the virtual board's counters."""
