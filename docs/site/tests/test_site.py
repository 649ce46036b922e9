# SPDX-License-Identifier: BSD-3-Clause
"""The site: it builds without a warning, twice in a row, has what is generated, and a fault in a page fails the build."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def docs(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs scripts/docs."""
    return subprocess.run([ROOT / "scripts/docs", *map(str, arguments)], capture_output=True, text=True, timeout=240)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built twice into the same folder."""
    out = tmp_path_factory.mktemp("docs")
    for _ in range(2):
        done = docs("--out", out)
        assert done.returncode == 0, done.stderr
    return out / "site"


def test_every_markdown_file_is_a_page(site: Path) -> None:
    files = subprocess.run(["git", "-C", ROOT, "ls-files", "*.md"], check=True, capture_output=True, text=True).stdout.split()
    pages = [re.sub(r"(^|/)README$", r"\1index", f.removesuffix(".md")) + ".html" for f in files]
    assert pages and [p for p in pages if not (site / p).is_file()] == []


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("cli", ["assasin flash virtual", "--format", "assasin bringup nand", "assasin bench paper"]),
        ("exit-codes", ["130", "143", "LZ4_CORRUPT", "FGREP8_BAD_ARGUMENTS"]),
        ("contract", ["stream.lbu", "IO_EXEC", "scomp_request", "Flash channel"]),
        ("c-libassasin", ["assasin_open", "struct assasin_options", "queue_depth"]),
        ("c-offload", ["ASSASIN_LOAD_U8", "ASSASIN_RETURN"]),
        ("c-functions", ["aes_args", "piece_blocks"]),
        ("c-varve", ["VV_STRIPS", "vv_unpack"]),
        ("python-drive", ["assasin.drive.Drive", "load"]),
        ("python-functions", ["assasin.functions.aes"]),
    ],
)
def test_the_reference_is_generated(site: Path, page: str, words: list[str]) -> None:
    text = (site / f"reference/{page}.html").read_text()
    assert [w for w in words if w not in text] == []


def test_every_function_of_the_library_has_its_section(site: Path) -> None:
    header = re.sub(r"/\*.*?\*/", "", (ROOT / "host-driver/include/assasin/assasin.h").read_text(), flags=re.S)
    names = set(re.findall(r"^[\w ]+[ *](assasin_\w+)\(", header, re.M))
    text = (site / "reference/c-libassasin.html").read_text()
    assert len(names) > 40 and [n for n in sorted(names) if f'<h3 id="{n}"' not in text] == []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout with what the site is made of, to be spoiled."""
    files = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"], check=True, capture_output=True, text=True
    ).stdout.split("\n")
    for name in files:
        if name.endswith((".md", ".json", ".svg", ".toml")) or name.startswith(
            ("host-driver/include", "firmware/offload/include", "host-driver/python")
        ):
            to = tmp_path / name
            to.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_file():
                shutil.copy(ROOT / name, to)
    (tmp_path / "build/gen").mkdir(parents=True)
    shutil.copytree(ROOT / "build/gen/docs", tmp_path / "build/gen/docs")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


def test_a_broken_link_fails_the_build(tree: Path) -> None:
    page = tree / "docs/power.md"
    text = page.read_text() + "\nSee [more](nowhere.md).\n"
    page.write_text(text)
    done = docs("--root", tree)
    assert done.returncode == 1
    assert f"docs/power.md:{len(text.splitlines())}: the link 'nowhere.md' leads to no file" in done.stderr


def test_a_warning_fails_the_build(tree: Path) -> None:
    page = tree / "docs/power.md"
    # A name between two pairs of brackets is a cross-reference to the site's generator, which finds nothing by it.
    page.write_text(page.read_text() + "\nA table [x][NOWHERE].\n")
    done = docs("--root", tree)
    assert done.returncode == 1 and "NOWHERE" in done.stderr
