# SPDX-License-Identifier: BSD-3-Clause
"""Paths of the tests, what they need built, and the boards that the system tests share."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / f) for f in ("host-driver/python", "build/gen/python", "firmware/offload/tests")]


def pytest_configure(config: pytest.Config) -> None:
    # A shell starts background jobs with SIGINT ignored, and what they start inherits that: tests of Ctrl-C would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "system(config): needs that configuration of the virtual board built")
    if not (ROOT / "build" / "gen" / "python" / "assasin_contract.py").exists():
        subprocess.run([ROOT / "scripts" / "contract"], check=True)
    subprocess.run(["make", "-s", "-C", ROOT / "host-driver"], check=True)
    subprocess.run(["make", "-s", "-C", ROOT / "firmware" / "offload"], check=True)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leaves out what needs a board that is not built; scripts/test, which builds it, counts it as failed when that fails."""
    for mark in item.iter_markers("system"):
        for config in mark.args:
            if not (ROOT / "build" / "board" / config / "assasin-board").exists():
                pytest.skip(f"needs scripts/build {config}: build/board is empty")


SLOW_IMPORTS = """
import runpy, sys, time

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "assasin.cli":
            time.sleep(20)

sys.meta_path.insert(0, Slow())
runpy.run_module("assasin", run_name="__main__", alter_sys=True)
"""


@pytest.fixture
def slow_assasin(tmp_path: Path) -> list[str]:
    """The `assasin` command as on a machine so busy that its imports take twenty seconds."""
    script = tmp_path / "slow_assasin.py"
    script.write_text(SLOW_IMPORTS)
    return [sys.executable, str(script)]
