# SPDX-License-Identifier: BSD-3-Clause
"""The real boards' projects, with small chips: top-level ports do not depend on cores, and channels are alike."""

import pytest
from assasin.boards import Board
from assasin.boards.project import Project, emit

REAL = tuple(name for name in Board.names() if not Board.load(name).is_virtual)
# Two channels; slots for kernels.
CONFIGS = {"cosmosplus": "AssasinSb1x2", "daisyplus": "AssasinSbHls1x1"}


@pytest.fixture(scope="session")
def projects() -> dict[str, Project]:
    found = {}
    for name in REAL:
        board = Board.load(name)
        found[name] = Project.of(board, CONFIGS.get(name, "AssasinSb1x1"))
    emit(list(found.values()))
    for project in found.values():
        project.generate()
    return found


@pytest.fixture(params=REAL)
def project(request, projects) -> Project:
    return projects[request.param]
