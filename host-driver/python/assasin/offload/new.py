# SPDX-License-Identifier: BSD-3-Clause
"""A new offload: a folder with a source that works, its test and a README, all waiting to be edited."""

from __future__ import annotations

import keyword
import os
import re
import shutil
from pathlib import Path

from assasin.errors import AssasinError
from assasin.offload.source import IDENTIFIER, shown

_WORD = re.compile(
    r"(auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|inline|int|long"
    r"|register|restrict|return|short|signed|sizeof|static|struct|switch|typedef|union|unsigned|void|volatile|while"
    r"|compute|main)"
)
"""Words of C that are no names, and what the runtime has."""
LONGEST = 31
"""Letters of a name."""

_SOURCE = """/* SPDX-License-Identifier: BSD-3-Clause */
/* @NAME@: how many bytes and how many lines the stream has. Edit it, then: assasin offload check @NAME@ */
#include <assasin.h>

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    uint32_t lines = 0;
    for (;;)
        lines += ASSASIN_LOAD_U8(0, end) == '\\n'; /* the next byte of input stream 0; when there is none, goto end */
end:
    ASSASIN_STORE_U32(0, ASSASIN_IN_HEAD(0)); /* to output stream 0: the bytes consumed */
    ASSASIN_STORE_U32(0, lines);
    ASSASIN_RETURN(0);
}
"""
_TEST = """# SPDX-License-Identifier: BSD-3-Clause
import struct
from assasin.offload.testing import run

def test_it_counts_bytes_and_lines() -> None:
    assert run(__file__, b"one\\ntwo\\nthree") == struct.pack("<II", 13, 2)
"""
_README = """# @NAME@

An offload: `@NAME@.c` runs on the cores inside the drive. `test_@NAME@.py` says what it must put out.

    assasin offload check @NAME@                  # this machine, sanitizers, machine code, the test
    assasin offload run @NAME@ FILE               # the machine code on FILE, with cycles
    assasin offload profile @NAME@ FILE           # cycles a line
    assasin offload run @NAME@ FILE --board       # the same on the started board (assasin flash virtual)

Streams, arguments and limits: firmware/offload/README.md, "Your own".
"""


class NewError(AssasinError):
    """The offload cannot be made there, or not under this name."""


def require_name(name: str) -> None:
    """Raises NewError for what cannot be the name of an offload."""
    if not name.isascii() or not IDENTIFIER.fullmatch(name) or len(name) > LONGEST:
        raise NewError(f"'{name}' cannot be an offload's name: letters, digits and _, at most {LONGEST}, no digit first")
    if _WORD.fullmatch(name) or keyword.iskeyword(name):
        raise NewError(
            f"'{name}' cannot be an offload's name: the word means something in C or Python; call it {name}_0 or the like"
        )


def create(name: str, parent: Path) -> list[Path]:
    """Makes the folder `name` in `parent`. Returns its files. Raises NewError, or OSError; then nothing was made."""
    require_name(name)
    target = parent / name
    if target.exists() or target.is_symlink():
        raise NewError(f"{shown(target.absolute())} is there already: choose another name or remove it")
    if not parent.is_dir():
        raise NewError(f"there is no folder {parent}: make it first, or name another")
    fresh = parent / f".{name}.{os.getpid()}"
    try:
        fresh.mkdir()
        for file, text in ((f"{name}.c", _SOURCE), (f"test_{name}.py", _TEST), ("README.md", _README)):
            (fresh / file).write_text(text.replace("@NAME@", name))
        fresh.rename(target)
    except OSError as e:
        e.filename, e.filename2 = str(target), None
        raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return [target / f"{name}.c", target / f"test_{name}.py", target / "README.md"]
