# SPDX-License-Identifier: BSD-3-Clause
"""Boards as data: board/NAME/board.toml and pins.csv, and what is generated from them."""

from assasin.boards.board import Board
from assasin.boards.model import Chip, Clock, Dram, DramWindow, Nand, Part, Pcie, Program, Ps, Sensor
from assasin.boards.pins import Pin
from assasin.boards.record import BoardFileError

__all__ = [
    "Board",
    "BoardFileError",
    "Chip",
    "Clock",
    "Dram",
    "DramWindow",
    "Nand",
    "Part",
    "Pcie",
    "Pin",
    "Program",
    "Ps",
    "Sensor",
]
