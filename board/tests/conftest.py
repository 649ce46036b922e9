# SPDX-License-Identifier: BSD-3-Clause
"""The real boards' projects, with a chip of one core: its top-level ports do not depend on the number of cores."""

import pytest
from assasin.boards import Board
from assasin.boards.project import Project, emit

REAL = tuple(name for name in Board.names() if not Board.load(name).is_virtual)


@pytest.fixture(scope="session")
def projects() -> dict[str, Project]:
    found = {}
    for name in REAL:
        board = Board.load(name)
        found[name] = Project.of(board, f"AssasinSb1x{board.nand.channels}")
    emit(list(found.values()))
    for project in found.values():
        project.generate()
    return found


@pytest.fixture(params=REAL)
def project(request, projects) -> Project:
    return projects[request.param]
