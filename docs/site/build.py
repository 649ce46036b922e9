# SPDX-License-Identifier: BSD-3-Clause
"""Builds the documentation as a site. Usage: build.py [--check] [--root FOLDER] [--out FOLDER]   (scripts/docs calls it)"""

from __future__ import annotations

import argparse
import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import charts
import figures
import links
from stage import Stage

HERE = Path(__file__).resolve().parent
TUTORIALS = "docs/tutorials"
HEADERS = (
    ("host-driver/include/assasin/assasin.h", "c-libassasin.md", "libassasin", "the library that drives a drive"),
    ("firmware/offload/include/assasin.h", "c-offload.md", "Intrinsics of a core", "for functions that run in the drive"),
    ("firmware/offload/include/offloads.h", "c-functions.md", "Arguments and results", "of the functions that come with the drive"),
    ("firmware/offload/include/varve.h", "c-varve.md", "Intrinsics of the vector unit", "for kernels of VarVE"),
)
MODULES = {
    "drive": "Drives: open, read, write, load functions, run jobs",
    "job": "Jobs: what a function reads and writes",
    "execution": "Jobs in the background",
    "functions": "Storage functions",
    "analytics": "Analytics",
    "kernel": "Kernels in slots as functions",
    "files": "Functions over files",
    "board": "Virtual boards",
    "tpch_scans": "Scans of TPC-H",
    "descriptions": "How inputs are cut and outputs merged",
    "offload.testing": "Tests of an offload of your own",
    "errors": "Errors",
}
EXPLANATION = (
    "words",
    "architecture",
    "firmware",
    "ftl",
    "medium",
    "programs",
    "vm",
    "power",
    "torture",
    "varve",
    "varve/isa",
    "varve/unit",
    "varve/bench",
)
BENCHMARKS = {
    "paper": "The paper's figures",
    "scan": "Scans",
    "functions": "Functions and kernels",
    "vector": "The vector unit",
    "fpga": "Size",
}
SHOWN = ("paper-speedup",)
"""Plots that Markdown files show too."""
BOARDS = ("first-board", "bringup", "openssd")
FRAMES = "https://unpkg.com/iframe-worker/shim"
"""What the theme would load to search in pages that are read from files."""
HOME = re.compile(r'href="((?:\.\./)*\.\.?)/?"')
"""A link to the folder of the first page, which only a server would answer with a page."""
Nav = list[dict[str, "str | Nav"]]


def reference(root: Path, stage: Stage) -> Nav:
    """Writes the pages that are generated. Returns their part of the navigation."""
    import c_reference
    import cli_reference

    stage.write("reference/cli.md", cli_reference.page())
    stage.write("reference/exit-codes.md", cli_reference.exit_codes(root / "firmware/offload/include/offloads.h"))
    c: Nav = []
    for header, page, title, what in HEADERS:
        stage.write(f"reference/{page}", c_reference.page(root / header, title, f"Generated from `{header}`: {what}."))
        c.append({title: f"reference/{page}"})
    python: Nav = []
    for module, title in MODULES.items():
        page = f"reference/python-{module.replace('.', '-')}.md"
        stage.write(page, f"# `assasin.{module}`\n\n{title}. Generated from the module's docstrings.\n\n::: assasin.{module}\n")
        python.append({f"assasin.{module}": page})
    contract = (root / "build/gen/docs/contract.md").read_text(encoding="utf-8")
    stage.write("reference/contract.md", contract)
    return [
        {"The command": "reference/cli.md"},
        {"Exit codes": "reference/exit-codes.md"},
        {"Contract: registers, commands, instructions": "reference/contract.md"},
        {"C": c},
        {"Python": python},
    ]


def title(root: Path, page: Path) -> str:
    """A page's first heading."""
    import markdown_text

    found = markdown_text.headings((root / page).read_text(encoding="utf-8"))
    return found[0].text if found else str(page)


def navigation(root: Path, pages: list[Path], generated: Nav, benchmarks: Nav) -> Nav:
    """The navigation. A page of the repository that has no place of its own is found under its folder's name."""

    def listed(paths: list[Path]) -> Nav:
        return [{title(root, p): str(p)} for p in paths]

    tutorials = sorted(p for p in pages if p.is_relative_to(TUTORIALS))
    explanation = [p for p in (Path(f"docs/{name}.md") for name in EXPLANATION) if p in pages]
    boards = [p for p in (Path(f"docs/{name}.md") for name in BOARDS) if p in pages]
    bench = {Path(str(p)) for entry in benchmarks for p in entry.values()}
    placed = {*tutorials, *explanation, *boards, *bench, Path("README.md")}
    rest = [p for p in pages if p not in placed]
    project = [p for p in rest if p.parent == Path()]
    folders = [p for p in rest if p.parent != Path()]
    return [
        {"Start": [{"ASSASIN": "README.md"}, *listed(project)]},
        {"Tutorials": listed(tutorials)},
        {"Explanation": [*listed(explanation), {"Boards": listed(boards)}]},
        {"Benchmarks": benchmarks},
        {"Reference": generated},
        {"Folders": [{str(p.parent if p.name == "README.md" else p): str(p)} for p in folders]},
    ]


class Warnings(logging.Handler):
    """Keeps what the generator warns of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """See logging.Handler."""
        self.found.append(record.getMessage())


def build(root: Path, out: Path) -> list[str]:
    """Builds the site of a checkout into `out`/site. Returns what is wrong with it."""
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")
    from mkdocs.commands.build import build as make
    from mkdocs.config import load_config

    pages = links.repository_files(root)
    stage = Stage(root, out / "src")
    for page in pages:
        stage.page(page)
    for name in ("site.css", "search_frame.js"):
        shutil.copy(HERE / name, stage.folder / name)
    benchmarks: Nav = []
    found = charts.results(root)
    for name, heading in BENCHMARKS.items():
        stage.write(f"benchmarks/{name}.md", charts.page(heading, [r for r in found if r.page == name]))
        benchmarks.append({heading: f"benchmarks/{name}.md"})
    for result in found:
        stage.write(f"benchmarks/plots/{result.name}.svg", charts.plot(result))
    nav = navigation(root, pages, reference(root, stage), benchmarks)
    warnings = Warnings()
    logging.getLogger("mkdocs").addHandler(warnings)
    config = load_config(str(HERE / "mkdocs.yml"), docs_dir=str(stage.folder), site_dir=str(out / "site"), nav=nav, strict=False)
    config.plugins.on_startup(command="build", dirty=False)
    make(config)
    config.plugins.on_shutdown()
    for page in (out / "site").rglob("*.html"):
        to_root = os.path.relpath(out / "site", page.parent)
        text = page.read_text(encoding="utf-8").replace(FRAMES, f"{to_root}/search_frame.js")
        page.write_text(HOME.sub(r'href="\1/index.html"', text), encoding="utf-8")
    # A folder of files has no use for what a server would show instead of a page that is not there.
    (out / "site/404.html").unlink(missing_ok=True)
    return [f"warning: {w}" for w in warnings.found] + links.check_site(out / "site")


def drawn(root: Path) -> dict[Path, str]:
    """The figures and plots that are committed, since Markdown files show them, by their place in the repository."""
    plots = {r.name: charts.plot(r) for r in charts.results(root) if r.name in SHOWN}
    every = {name: draw() for name, draw in figures.FIGURES.items()} | plots
    return {Path(f"docs/figures/{name}.svg"): svg for name, svg in every.items()}


def main() -> None:
    """Checks the repository's links, then builds the site and checks it. Ends with 1 and a line for each fault."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="only the links of the repository's Markdown files")
    parser.add_argument("--root", type=Path, default=HERE.parents[1])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--draw", action="store_true", help="only draw the figures of docs/figures again")
    args = parser.parse_args()
    root = args.root.resolve()
    out = (args.out or root / "build/docs").resolve()
    if args.draw:
        for path, svg in drawn(root).items():
            (root / path).write_text(svg, encoding="utf-8")
        return
    wrong = links.check_repository(root)
    if not wrong and not args.check:
        wrong = build(root, out)
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        sys.exit(1)
    if not args.check:
        commit = subprocess.run(["git", "-C", root, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
        print(f"{out / 'site/index.html'} (commit {commit})")


if __name__ == "__main__":
    main()
