# SPDX-License-Identifier: BSD-3-Clause
"""Sensors of a fake sysfs: found by label or name, read, vanishing, returning garbage."""

from __future__ import annotations

import shutil

from assasin.agent import Agent, Reading
from fakes import Start, Tree


def test_all_kinds(agent: Agent, tree: Tree) -> None:
    """Numbers of hwmon devices mean nothing: the first is a stranger."""
    tree.hwmon(0, "ina226", "vccaux", in1_input=1, curr1_input=1, power1_input=1)
    tree.hwmon(7, "ina226", "vccint", in0_input=3, in1_input=850, curr1_input=-12, power1_input=10_200_000)
    tree.hwmon(
        3, "ucd90120a", in1_label="vout1", in1_input=999, in2_label="vout3", in2_input=1799, curr1_label="iout3", curr1_input=250
    )
    for file, text in (("name", "ams"), ("in_voltage3_vccint_raw", "18617"), ("in_voltage3_vccint_scale", "0.045776367"),
                       ("in_voltage10_raw", "100"), ("in_voltage10_scale", "0.5"), ("in_temp0_raw", "1")):  # fmt: skip
        tree.put(f"sys/bus/iio/devices/iio:device1/{file}", text + "\n")
    t0, readings = agent.sensors()
    rails = "all monitored rails"
    assert readings == [
        Reading("vccint", "VCCINT", 850, -12, 10_200_000),
        Reading("ucd90120a.1", rails, 999, None, None),
        Reading("ucd90120a.2", rails, None, None, None, "the driver shows no page 2"),
        Reading("ucd90120a.3", rails, 1799, 250, None),
        Reading("ams.vccint", "die", 852, None, None),
        Reading("ams.voltage10", "die", 50, None, None),
    ]
    t1, _ = agent.sensors()
    assert 0 < t1 - t0 < 10**9


def one(agent: Agent) -> Reading:
    return agent.sensors()[1][0]


def test_a_sensor_that_moves_and_vanishes(start: Start, tree: Tree) -> None:
    with Agent(*start("board b\nsensor vccint VCCINT ina226\n")) as agent:
        assert "driver in the kernel" in str(one(agent).error)
        folder = tree.hwmon(1, "ina226", "vccint", in1_input=850, curr1_input=2, power1_input=1700)
        assert one(agent) == Reading("vccint", "VCCINT", 850, 2, 1700)
        folder.rename(folder.with_name("hwmon2"))
        tree.hwmon(1, "ina226", "vccaux", in1_input=1800, curr1_input=1, power1_input=1)
        assert one(agent).mv == 850
        shutil.rmtree(folder.with_name("hwmon2"))
        reading = one(agent)
        assert reading.error and (reading.mv, reading.ma, reading.uw) == (None, None, None)


def test_garbage(start: Start, tree: Tree) -> None:
    with Agent(*start("board b\nsensor vccint VCCINT ina226\n")) as agent:
        folder = tree.hwmon(1, "ina226", "vccint", in1_input=850, curr1_input=2, power1_input=1700)
        for garbage in ("", "0x10", "12 volts", "9" * 30, "1e6", "nan", '"\\'):
            (folder / "power1_input").write_text(garbage + "\n")
            reading = one(agent)
            assert reading.error == f"power1_input holds '{garbage}', which is no measurement"
            assert reading.uw is None
        (folder / "power1_input").unlink()
        assert one(agent).error == "power1_input is missing"
        (folder / "power1_input").mkdir()
        assert one(agent).error == "power1_input: Is a directory"


def test_the_longest_answer_is_whole(start: Start, tree: Tree) -> None:
    sensors = "".join(f'sensor "{i:02}{"x" * 40}" "{"r" * 47}" pmbus 32\n' for i in range(64))
    with Agent(*start("board b\n" + sensors)) as agent:
        for i in range(64):
            tree.hwmon(i, f"{i:02}{'x' * 40}", in1_label="vout32", in1_input=i)
        _, readings = agent.sensors()
        assert len(readings) == 64 * 32
        assert [r.mv for r in readings if r.mv is not None] == list(range(64))
