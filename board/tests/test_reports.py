# SPDX-License-Identifier: BSD-3-Clause
"""Vivado's reports: the samples are hand-written in its format, they are of no built design."""

import pytest
from assasin.boards import reports
from recording import REPORTS


def test_utilisation_of_both_families():
    assert reports.read_utilisation(REPORTS / "utilization_route.rpt") == reports.Utilisation(101234, 87654, 312.5, 0, 20)
    assert reports.read_utilisation(REPORTS / "utilization_zynqmp.rpt") == reports.Utilisation(201234, 187654, 400, 32, 36)


def test_timing(tmp_path):
    assert reports.read_timing(REPORTS / "timing_route.rpt") == reports.Timing(0.123, 0.011, 0)
    text = (REPORTS / "timing_route.rpt").read_text()
    path = tmp_path / "timing.rpt"
    path.write_text(text.replace("0.123        0.000                      0", "-0.523       -7.100                     12"))
    assert reports.read_timing(path) == reports.Timing(-0.523, 0.011, 12)
    path.write_text(text.replace("      0.123        0.000 ", "         NA           NA "))
    assert reports.read_timing(path).wns_ns is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "'Utilization Design Information' is not in it"),
        ("Utilization Design Information\n| CLB LUTs | 5 | 0 | 0 | 9 |\n", "there is no row 'Slice Registers'"),
        ("Utilization Design Information\n| CLB LUTs | many | 0 | 0 | 9 |\n", "'many' is not a number"),
    ],
)
def test_wrong_utilisation(tmp_path, text, says):
    path = tmp_path / "utilization.rpt"
    path.write_text(text)
    with pytest.raises(reports.ReportError, match=says):
        reports.read_utilisation(path)


def test_wrong_timing(tmp_path):
    path = tmp_path / "timing.rpt"
    with pytest.raises(reports.ReportError, match="No such file"):
        reports.read_timing(path)
    path.write_text("Design Timing Summary\n    WNS(ns)      TNS(ns)\n    ---    ---\n    0.1\n")
    with pytest.raises(reports.ReportError, match="has 1 values for 2 columns"):
        reports.read_timing(path)
