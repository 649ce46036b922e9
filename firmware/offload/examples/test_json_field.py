# SPDX-License-Identifier: BSD-3-Clause
from assasin.offload.testing import run


def test_it_puts_out_values_as_they_are_written() -> None:
    text = rb'{"a": 1, "b" : "x\"y,}"} {"c": {"b":[1, {"b": 2}]}, "d": "b", "bb": 3} {"b":' + b"\ttrue\n}"
    assert run(__file__, text, args=b"b") == b'"x\\"y,}"\n[1, {"b": 2}]\ntrue\n'


def test_text_that_is_cut_off_has_an_exit_code() -> None:
    assert run(__file__, b'{"b": "x', args=b"b", exit_code=2) == b'"x\n'
