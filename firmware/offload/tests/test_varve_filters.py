# SPDX-License-Identifier: BSD-3-Clause
"""Every generated filter stores the rows that Python selects, in every form."""

from __future__ import annotations

import os
import random

import pytest
import varve_filters
from iss import Trap
from varve_filters import (
    CORE_FORMS,
    LAYOUTS,
    STREAM_FORMS,
    Call,
    Result,
    call,
    expected,
    filters,
    from_buffers,
    on_core,
    on_host,
    rows_of,
)

SEED = int(os.environ.get("SEED", "1"))
# Not multiples of a strip's rows, for any VLEN and LMUL.
KINDS = (("some", 0), ("some", 1), ("some", 9), ("some", 333), ("all", 45), ("none", 45))


def calls(name: str, layout: str = "padded", of: str = "filters") -> list[tuple[str, Call]]:
    """Calls of a filter, each with its description."""
    f, rng = filters(of)[name], random.Random(f"{SEED} {name}")
    return [(f"{name}, {kind} of {n} rows, SEED={SEED}", call(f, rows_of(f, n, kind, rng), layout)) for kind, n in KINDS]


def same(got: Result, c: Call, what: str) -> None:
    want = expected(c)
    assert got.found == want.found, f"{what}: rows found"
    assert got.outputs == want.outputs, f"{what}: {', '.join(c.filter['outputs'])}"


def test_the_random_rows_reach_both_sides_of_every_filter() -> None:
    for name in filters():
        found = {what.split(",")[1]: c.found for what, c in calls(name)}
        assert found[" all of 45 rows"] == 45 and found[" none of 45 rows"] == 0, name
        assert 0 < found[" some of 333 rows"] < 333, name


def test_there_are_25_filters_on_growing_tables_and_7_others() -> None:
    assert sorted(f["grows"] for f in filters().values()) == [False] * 7 + [True] * 25


@pytest.mark.parametrize("name", filters())
def test_on_the_host(name: str) -> None:
    varve_filters.library("model").vv_model_configure(256, 8, 64)
    for what, c in calls(name):
        for form in ("scalar", "model"):
            same(on_host(form, c), c, f"{form}: {what}")
    for layout in ("packed", "varwidth"):
        for what, c in calls(name, layout):
            same(on_host("model", c), c, f"model, {layout}: {what}")


@pytest.mark.parametrize(("vlen", "g"), [(64, 8), (512, 8), (256, 4), (256, 1)])
def test_on_models_of_other_sizes(vlen: int, g: int) -> None:
    varve_filters.library("model").vv_model_configure(vlen, g, 64)
    for name, f in filters().items():
        c = call(f, rows_of(f, 101, "some", random.Random(f"{SEED} {name}")))
        same(on_host("model", c), c, f"{name}, VLEN {vlen}, G {g}, SEED={SEED}")


@pytest.mark.parametrize("form", CORE_FORMS)
@pytest.mark.parametrize("name", filters())
def test_machine_code(name: str, form: str) -> None:
    for what, c in calls(name):
        same(on_core(form, c), c, f"{form}: {what}")


@pytest.mark.parametrize("layout", ["packed", "varwidth"])
@pytest.mark.parametrize("form", STREAM_FORMS)
def test_machine_code_with_other_layouts(form: str, layout: str) -> None:
    for name in filters():
        for what, c in calls(name, layout):
            same(on_core(form, c), c, f"{form}, {layout}: {what}")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("form", STREAM_FORMS)
def test_machine_code_from_stream_buffers(form: str, layout: str) -> None:
    left_out = []
    for name, f in filters().items():
        buffers = max(len(f["inputs"]), len(f["outputs"])) * (2 if layout == "varwidth" else 1)
        if buffers > 8:
            left_out.append(name)
            continue
        c = call(f, rows_of(f, 333, "some", random.Random(f"{SEED} {name}")), layout)
        got = from_buffers(form, c, seed=SEED)
        assert (got.found, got.outputs) == (c.found, c.outputs), f"{name}, {form}, {layout} from buffers, SEED={SEED}"
    # A VarWidth column takes two of a core's eight buffers.
    assert left_out == (["q01l", "q07l", "q09p", "q12l", "q19l"] if layout == "varwidth" else [])


@pytest.mark.parametrize("vlen", [128, 512])
@pytest.mark.parametrize("form", CORE_FORMS[2:])
def test_machine_code_of_other_lengths_of_registers(form: str, vlen: int) -> None:
    for name, f in filters().items():
        c = call(f, rows_of(f, 101, "some", random.Random(f"{SEED} {name}")))
        same(on_core(form, c, vlen), c, f"{name}, {form}, VLEN {vlen}, SEED={SEED}")


@pytest.mark.parametrize(("vlen", "g"), [(256, 8), (256, 4), (256, 1), (64, 2)])
def test_machine_code_for_slots_of_any_size(vlen: int, g: int) -> None:
    """More elements than vl of 8-bit lanes at LMUL 1 has, also in masks."""
    for name, f in filters().items():
        c = call(f, rows_of(f, 333, "some", random.Random(f"{SEED} {name}")))
        same(varve_filters.on_core("full-fine", c, vlen, g), c, f"{name}, VLEN {vlen}, G {g}, SEED={SEED}")


@pytest.mark.parametrize(("vlen", "g"), [(256, 4), (128, 1)])
def test_a_program_for_slots_of_a_byte_stops_on_others(vlen: int, g: int) -> None:
    """Its masks would lose elements: q06l took 60 rows in place of 6."""
    f = filters()["q06l"]
    with pytest.raises(Trap, match="cause 2"):
        varve_filters.on_core("full", call(f, rows_of(f, 320, "some", random.Random(SEED))), vlen, g)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", filters("shapes"))
def test_every_kind_of_clause(name: str, layout: str) -> None:
    varve_filters.library("model", "shapes").vv_model_configure(256, 8, 64)
    for what, c in calls(name, layout, "shapes"):
        for form in ("scalar", "model") if layout == "padded" else ("model",):
            same(on_host(form, c), c, f"{form}, {layout}: {what}")
        for form in CORE_FORMS if layout == "padded" else STREAM_FORMS:
            same(on_core(form, c), c, f"{form}, {layout}: {what}")


@pytest.mark.parametrize("name", filters())
def test_full_has_fewer_instructions_than_scalar_and_zve32x(name: str) -> None:
    got = {
        form: varve_filters.counts(filters()[name], form)["instructions_per_row"] for form in ("scalar", "zve32x-m1", "pup", "full")
    }
    assert 2 * got["full"] < got["zve32x-m1"] < got["scalar"], got
    assert got["pup"] < got["zve32x-m1"], got
