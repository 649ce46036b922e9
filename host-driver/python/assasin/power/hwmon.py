# SPDX-License-Identifier: BSD-3-Clause
"""
INA226 current and voltage sensors through Linux's hwmon class (driver ina2xx).

Files of a device: in1_input (bus voltage, mV), curr1_input (mA), power1_input (uW), shunt_resistor (uOhm). Numbers of hwmon
devices
change from boot to boot: a device is found by its label, its name, or its place on the I2C bus.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from assasin.boards import Sensor
from assasin.power.errors import PowerError
from assasin.power.sampler import Reader, Reading, Value

_LABELS = ("of_node/label", "device/of_node/label", "label", "name")
_MOST = 10**12


class HwmonReader(Reader):
    """The INA226 sensors of a board whose Linux runs this program. `sys`: where sysfs is mounted."""

    def __init__(self, sensors: Sequence[Sensor], sys: Path = Path("/sys")) -> None:
        """Looks for every sensor. Raises PowerError, also when a driver has another shunt than the board file."""
        self.title = f"hwmon under {sys}"
        self._sys = sys
        if not sensors:
            raise PowerError("the board file names no sensor of driver ina226: use another --source")
        self._folders = {s: self._find(s) for s in sensors}
        for s, folder in self._folders.items():
            self._check_shunt(s, folder)

    def _find(self, sensor: Sensor) -> Path:
        root = self._sys / "class" / "hwmon"
        folders = sorted(root.glob("hwmon*"))
        for folder in folders:
            if any(_text(folder / file) == sensor.name for file in _LABELS):
                return folder
        device = self._device(sensor)
        for folder in folders:
            if device is not None and (folder / "device").exists() and (folder / "device").resolve() == device:
                return folder
        found = ", ".join(f"{f.name} ({_text(f / 'name') or 'no name'})" for f in folders) or "none"
        raise PowerError(
            f"sensor {sensor.name}: no hwmon device under {root} has this label or name, or is at I2C address "
            f"{sensor.address or 0:#x} behind port {sensor.mux_port} of mux {sensor.mux or 0:#x}; there are: {found}. Load "
            "its driver "
            "(modprobe ina2xx) and look at the device tree"
        )

    def _device(self, sensor: Sensor) -> Path | None:
        """The I2C device by its place, when there is one."""
        devices = self._sys / "bus" / "i2c" / "devices"
        bus = sensor.bus
        if sensor.mux is not None:
            channel = devices / f"{sensor.bus}-{sensor.mux:04x}" / f"channel-{sensor.mux_port}"
            if not channel.exists():
                return None
            bus = int(channel.resolve().name.removeprefix("i2c-"))
        device = devices / f"{bus}-{sensor.address:04x}"
        return device.resolve() if device.exists() else None

    @staticmethod
    def _check_shunt(sensor: Sensor, folder: Path) -> None:
        if (folder / "shunt_resistor").exists():
            value = _number(sensor.name, folder / "shunt_resistor")
            if value != sensor.shunt_uohm:
                raise PowerError(
                    f"sensor {sensor.name}: its driver reckons with a shunt of {value} uOhm, the board has "
                    f"{sensor.shunt_uohm} uOhm, so "
                    f"every current would be wrong: echo {sensor.shunt_uohm} > {folder / 'shunt_resistor'}"
                )

    def read(self) -> Reading:
        """See Reader."""
        values: dict[str, Value] = {}
        missing: dict[str, str] = {}
        for sensor, folder in self._folders.items():
            try:
                volts = _number(sensor.name, folder / "in1_input") / 1e3
                amperes = _number(sensor.name, folder / "curr1_input") / 1e3
                watts = _number(sensor.name, folder / "power1_input") / 1e6
            except OSError as e:
                missing[sensor.name] = f"{e.filename}: {e.strerror}"
                continue
            values[sensor.name] = Value(sensor.rail, watts, volts, amperes)
        return Reading(time.time_ns(), values, missing)


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().rstrip(b"\0\n").decode(errors="replace")
    except OSError:
        return None


def _number(sensor: str, path: Path) -> int:
    """An integer of a sysfs file. Raises OSError when it cannot be read, PowerError when it holds something else."""
    text = path.read_text(errors="replace").strip()
    try:
        value = int(text)
    except ValueError:
        raise PowerError(
            f"sensor {sensor}: {path} holds {text[:40]!r}, which is no number: is the right driver bound to it?"
        ) from None
    if abs(value) > _MOST:
        raise PowerError(f"sensor {sensor}: {path} holds {value}, which is no measurement: is the right driver bound to it?")
    return value
