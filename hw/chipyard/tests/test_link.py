# SPDX-License-Identifier: BSD-3-Clause
"""scripts/chipyard against folders that look like a Chipyard checkout, or not enough like one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = """lazy val chipyard = {
  val optionalModules: Seq[(String, ProjectReference)] = Seq(
    "saturn" -> saturn,
  )
}
"""


def link(*args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / "scripts" / "chipyard", *map(str, args)], capture_output=True, text=True, timeout=120)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for generator in ("chipyard", "rocket-chip", "testchipip"):
        (tmp_path / "generators" / generator / "src" / "main" / "scala").mkdir(parents=True)
    (tmp_path / "build.sbt").write_text(BUILD)
    return tmp_path


def test_links_the_generator_once(checkout: Path) -> None:
    first = link(checkout)
    assert first.returncode == 0, first.stderr
    assert "AssasinCardConfig" in first.stdout
    assert "AssasinBaseConfig" not in first.stdout
    build = (checkout / "build.sbt").read_text()
    assert build.count('"assasin" -> assasin,') == 1
    assert build.index('"assasin" -> assasin') < build.index('"saturn" -> saturn')
    assert f'file("{ROOT}")' in build
    place = checkout / "generators" / "assasin"
    assert (place / "src/main/scala/assasin/subsystem/Drive.scala").is_file()
    assert (place / "chipyard/AssasinConfigs.scala").is_file()
    assert (place / ".git").exists()
    again = link(checkout)
    assert again.returncode == 0
    assert (checkout / "build.sbt").read_text() == build


def test_another_copy_of_the_project_takes_its_place(checkout: Path) -> None:
    assert link(checkout).returncode == 0
    build = (checkout / "build.sbt").read_text()
    (checkout / "build.sbt").write_text(build.replace(f'file("{ROOT}")', 'file("/another/copy & more")'))
    assert "/another/copy" in (checkout / "build.sbt").read_text()
    assert link(checkout).returncode == 0
    assert (checkout / "build.sbt").read_text() == build


def test_another_version_is_named(checkout: Path) -> None:
    assert "commit unknown; tried was" in link(checkout).stderr


def test_no_folder(tmp_path: Path) -> None:
    done = link(tmp_path / "none")
    assert done.returncode == 1
    assert "is no directory" in done.stderr


def test_a_folder_that_is_no_checkout(tmp_path: Path) -> None:
    done = link(tmp_path)
    assert done.returncode == 1
    assert "is no Chipyard checkout" in done.stderr
    assert "git clone" in done.stderr


def test_a_submodule_that_is_not_initialised(checkout: Path) -> None:
    (checkout / "generators/testchipip/src/main/scala").rmdir()
    done = link(checkout)
    assert done.returncode == 1
    assert "submodule generators/testchipip is not initialised" in done.stderr


def test_a_build_that_takes_generators_otherwise(checkout: Path) -> None:
    (checkout / "build.sbt").write_text("// nothing of it\n")
    done = link(checkout)
    assert done.returncode == 1
    assert "takes generators in another way" in done.stderr
    assert (checkout / "build.sbt").read_text() == "// nothing of it\n"
    assert not list(checkout.glob("build.sbt.*")), "no half-written file stays"


@pytest.mark.parametrize(
    "args", [(), ("{}", "--elaborate"), ("{}", "--other", "Config"), ("{}", "--board"), ("{}", "--verilog", "ChipyardAssasin2x2")]
)
def test_usage(checkout: Path, args: tuple[str, ...]) -> None:
    done = link(*(a.format(checkout) for a in args))
    assert done.returncode == 1
    assert "usage: scripts/chipyard" in done.stderr


def test_a_configuration_that_is_no_class(checkout: Path) -> None:
    done = link(checkout, "--elaborate", "a b")
    assert done.returncode == 1
    assert "configuration 'a b'" in done.stderr


@pytest.mark.parametrize("args", [("--board", "AssasinSb2x2"), ("--verilog", "ChipyardAssasin", "out")])
def test_a_board_that_is_no_chipyard_chip(checkout: Path, args: tuple[str, ...]) -> None:
    done = link(checkout, *args)
    assert done.returncode == 1
    assert "such as ChipyardAssasin2x2" in done.stderr


def test_a_board_without_a_checkout() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "CHIPYARD_DIR"}
    done = subprocess.run(
        [ROOT / "scripts" / "build-board", "ChipyardAssasin2x2"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
    )
    assert done.returncode == 2
    assert "set CHIPYARD_DIR" in done.stderr


@pytest.mark.parametrize(
    ("config", "top"),
    [("AssasinSb2x2Config", "chipyard.harness.TestHarness"), ("ChipyardAssasin2x2Config", "chipyard.assasindrive.DriveTop")],
)
def test_each_configuration_is_elaborated_under_its_top(checkout: Path, tmp_path: Path, config: str, top: str) -> None:
    sbt = tmp_path / "sbt"
    sbt.write_text(f'#!/bin/sh\nprintf "%s" "$*" >{tmp_path}/asked\n')
    sbt.chmod(0o755)
    done = subprocess.run(
        [ROOT / "scripts" / "chipyard", checkout, "--elaborate", config],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "SBT": str(sbt)},
    )
    assert done.returncode == 0, done.stderr
    assert f"--top-module {top} --legacy-configs chipyard:{config}" in (tmp_path / "asked").read_text()
