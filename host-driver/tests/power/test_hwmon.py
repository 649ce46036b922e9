# SPDX-License-Identifier: BSD-3-Clause
"""INA226 sensors over a sysfs tree of plain files, and what happens when one hesitates, vanishes or talks nonsense."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from assasin.boards import Board, Sensor
from assasin.power.errors import PowerError
from assasin.power.hwmon import HwmonReader
from assasin.power.sampler import Reader, Reading, Sampler, Value

INT = Sensor("vccint", "ina226", "VCCINT", bus=0, mux=0x75, mux_port=1, address=0x40, shunt_uohm=2000)
AUX = Sensor("vccaux", "ina226", "VCCAUX", bus=0, mux=0x75, mux_port=1, address=0x41, shunt_uohm=5000)


def device(
    sys: Path, number: int, name: str, mv: int, ma: int, shunt: int, label: str | None = None, address: int | None = None
) -> Path:
    """A hwmon device; with an address it hangs on I2C adapter 5."""
    folder = sys / "class" / "hwmon" / f"hwmon{number}"
    folder.mkdir(parents=True)
    files = {"name": name, "in1_input": mv, "curr1_input": ma, "power1_input": mv * ma, "shunt_resistor": shunt}
    for file, value in (files | ({"label": label} if label else {})).items():
        (folder / file).write_text(f"{value}\n")
    if address is not None:
        place = sys / "devices" / "i2c-5" / f"5-{address:04x}"
        place.mkdir(parents=True)
        (folder / "device").symlink_to(place)
        devices = sys / "bus" / "i2c" / "devices"
        (devices / "0-0075").mkdir(parents=True, exist_ok=True)
        channel = devices / "0-0075" / "channel-1"
        if not channel.exists():
            channel.symlink_to(sys / "devices" / "i2c-5")
        (devices / f"5-{address:04x}").symlink_to(place)
    return folder


@pytest.fixture
def sys(tmp_path: Path) -> Path:
    device(tmp_path, 0, "cpu_thermal", 0, 0, 0)
    device(tmp_path, 4, "ina226", 850, 4000, 2000, label="vccint")
    device(tmp_path, 1, "ina226", 1800, 500, 5000, address=0x41)
    return tmp_path


def test_by_label_and_by_place_whatever_their_numbers(sys: Path) -> None:
    reading = HwmonReader([INT, AUX], sys).read()
    assert reading.values["vccint"] == Value("VCCINT", 3.4, 0.85, 4.0)
    assert reading.values["vccaux"] == Value("VCCAUX", 0.9, 1.8, 0.5)
    assert abs(reading.t_ns - time.time_ns()) < 10**9


def test_every_ina226_of_the_zcu106_is_found_by_its_label(tmp_path: Path) -> None:
    sensors = [s for s in Board.load("zcu106").sensors if s.driver == "ina226"]
    assert len(sensors) > 10
    for i, s in enumerate(sensors):
        assert s.shunt_uohm is not None
        device(tmp_path, i, "ina226", 1000, i, s.shunt_uohm, label=s.name)
    values = HwmonReader(sensors, tmp_path).read().values
    assert [values[s.name].amperes for s in sensors] == [i / 1e3 for i in range(len(sensors))]


def test_a_sensor_that_is_not_there_names_what_is(sys: Path) -> None:
    missing = Sensor("vccbram", "ina226", "VCCBRAM", bus=0, mux=0x75, mux_port=1, address=0x47, shunt_uohm=5000)
    with pytest.raises(PowerError, match=r"vccbram.*0x47 behind port 1 of mux 0x75.*hwmon0 \(cpu_thermal\).*modprobe ina2xx"):
        HwmonReader([missing], sys)


def test_another_shunt_than_the_boards(sys: Path) -> None:
    (sys / "class/hwmon/hwmon4/shunt_resistor").write_text("10000\n")
    with pytest.raises(PowerError, match=r"10000 uOhm, the board has 2000 uOhm.*echo 2000 >"):
        HwmonReader([INT], sys)


@pytest.mark.parametrize("text", ["", "n/a", "3.5", "99999999999999999"])
def test_garbage(sys: Path, text: str) -> None:
    reader = HwmonReader([INT], sys)
    (sys / "class/hwmon/hwmon4/power1_input").write_text(text)
    with pytest.raises(PowerError, match=r"vccint: .*power1_input holds"):
        reader.read()


def test_a_file_that_cannot_be_read_is_a_missing_reading(sys: Path) -> None:
    reader = HwmonReader([INT, AUX], sys)
    (sys / "class/hwmon/hwmon4/curr1_input").unlink()
    reading = reader.read()
    assert list(reading.values) == ["vccaux"]
    assert "curr1_input: No such file" in reading.missing["vccint"]


def test_sampling_gives_the_energy_of_a_step(sys: Path) -> None:
    sampler = Sampler(HwmonReader([INT, AUX], sys), 0.005)
    time.sleep(0.15)
    (sys / "class/hwmon/hwmon4/power1_input.new").write_text("8000000\n")
    (sys / "class/hwmon/hwmon4/power1_input.new").rename(sys / "class/hwmon/hwmon4/power1_input")
    change = time.time()
    time.sleep(0.2)
    trace = sampler.stop()
    assert set(trace.watts) == {"VCCINT", "VCCAUX"}
    assert trace.joules(change - 0.1, change - 0.02, "VCCINT") == pytest.approx(0.08 * 3.4, rel=0.02)
    assert trace.joules(change + 0.02, change + 0.15, "VCCINT") == pytest.approx(0.13 * 8.0, rel=0.02)
    assert trace.joules(change, change + 0.1, "VCCAUX") == pytest.approx(0.09, rel=0.02)


class Script(Reader):
    """A sensor that says what a list says, at times of its own; the last entry for ever."""

    title = "script"

    def __init__(self, *powers: float | None, step: float = 0.5) -> None:
        self.powers = powers
        self.step = step
        self.count = 0

    def read(self) -> Reading:
        watts = self.powers[min(self.count, len(self.powers) - 1)]
        self.count += 1
        t = int(self.count * self.step * 1e9)
        return Reading(t, {} if watts is None else {"s": Value("R", watts)}, {"s": "Remote I/O error"} if watts is None else {})


def sample(reader: Script, readings: int) -> Sampler:
    sampler = Sampler(reader, 0.001)
    while reader.count < readings and sampler._thread.is_alive():
        time.sleep(0.002)
    return sampler


def test_one_missed_reading_is_a_gap_not_an_end() -> None:
    trace = sample(Script(1.0, None, None, 3.0), 10).stop()
    assert trace.joules(0.5, 2.0) == pytest.approx(1.5 * 2.0)
    assert trace.gaps[0][0] == pytest.approx(0.5)


def test_a_sensor_that_vanishes() -> None:
    sampler = sample(Script(1.0, 1.0, None), 30)
    with pytest.raises(PowerError, match=r"sensor s \(R\) of script has vanished, no reading for .*Remote I/O error.*I2C bus"):
        sampler.stop()


def test_a_power_that_cannot_be() -> None:
    sampler = sample(Script(1.0, 1e6), 5)
    with pytest.raises(PowerError, match=r"sensor s says 1e[+]06 W, but no rail has more than 500 W"):
        sampler.stop()


def test_missing_from_the_start() -> None:
    with pytest.raises(PowerError, match="sensor s of script: Remote I/O error"):
        Sampler(Script(None), 0.01)
