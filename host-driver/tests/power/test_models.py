# SPDX-License-Identifier: BSD-3-Clause
"""The models against the papers' own figures, on counters made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from assasin.power import coefficients as c
from assasin.power.activity import ActivityLog
from assasin.power.errors import PowerError
from assasin.power.models import MODELS, ModelOptions, activity_model, architecture, idle_watts, method, xssd_model
from assasin.power.phases import of_activity

CYCLES = 1_000_000
FLASH = ModelOptions()


def log(
    config: str = "AssasinSb8x8",
    ns_per_cycle: float = 1.0,
    cores: int = 8,
    channels: int = 8,
    kernels: tuple[str, ...] = (),
    **grown: Any,
) -> ActivityLog:
    """One interval of CYCLES in which the board has done what `grown` says; per-core and per-channel counters are the same for
    all."""
    heading = {
        "config": config,
        "ns_per_cycle": ns_per_cycle,
        "pcie_bytes_per_cycle": 8.0,
        "dram_bytes_per_cycle": 8.0,
        "dram_bytes": 2 << 30,
        "channels": channels,
        "cores": cores,
        "slots": len(kernels),
        "dies": 256,
        "phy_bytes": 1,
        "raw_page_bytes": 4320,
        "core_counters": ["cycles", "instret", "wait_in", "wait_out", "wait_mem", "l1_misses", "l2_misses", "prefetches"],
        "channel_counters": ["bus_busy", "data_bytes"],
    }
    sums = ("clocked", "h2c_bytes", "c2h_bytes", "dram_read_bytes", "dram_write_bytes")
    sums += ("array_reads", "array_programs", "array_erases", "firmware_sleep")
    first: dict[str, Any] = {"timebase": 77, **dict.fromkeys(sums, 5)}
    first |= {"cores": [[3] * 8] * cores, "channels": [[9] * 2] * channels, "slots": [[4] * 8] * len(kernels)}
    second = {"timebase": 77 + CYCLES, **{name: 5 + grown.get(name, 0) for name in sums}}
    second["cores"] = [[3 + grown.get(name, 0) for name in heading["core_counters"]]] * cores
    second["channels"] = [[9 + grown.get(name, 0) for name in heading["channel_counters"]]] * channels
    second["slots"] = [[4 + grown.get(name, 0) for name in heading["core_counters"]]] * len(kernels)
    return ActivityLog(heading, [first, second], kernels)


ASLEEP = {"firmware_sleep": CYCLES}


def milliwatts(trace: Any, *rails: str) -> float:
    return 1e3 * sum(float(trace.watts[r][0]) for r in rails)


def test_cores_and_caches_of_a_busy_baseline_draw_what_table_v_says() -> None:
    trace = activity_model(log("Baseline8x8", cycles=CYCLES, l1_misses=CYCLES), FLASH)
    assert milliwatts(trace, "cores", "L1 caches", "L2 caches") == pytest.approx(14.048)


def test_parts_of_a_busy_assasin() -> None:
    trace = activity_model(log(cycles=CYCLES, data_bytes=8 * CYCLES), FLASH)
    assert milliwatts(trace, "cores", "scratchpads", "stream buffers") == pytest.approx(8 * (0.241 + 3 * 0.145))
    assert milliwatts(trace, "crossbar") == pytest.approx(0.439)


def test_waiting_cores_draw_their_idle_share() -> None:
    waiting = activity_model(log(cycles=CYCLES, wait_in=CYCLES // 2, wait_out=CYCLES // 4, wait_mem=CYCLES // 4), FLASH)
    assert milliwatts(waiting, "cores") == pytest.approx(8 * 0.241 * 0.078 / 0.37)


def test_a_slower_clock_switches_less_but_idles_the_same() -> None:
    fast, slow = (activity_model(log(ns_per_cycle=ns, cycles=CYCLES), FLASH) for ns in (1.0, 10.0))
    idle = 0.078 / 0.37
    assert milliwatts(fast, "cores") == pytest.approx(8 * 0.241)
    assert milliwatts(slow, "cores") == pytest.approx(8 * 0.241 * (idle + (1 - idle) / 10))


@pytest.mark.parametrize(
    ("config", "has", "lacks"),
    [
        ("AssasinSb8x8", "stream buffers", "L1 caches"),
        ("AssasinSbX8x8", "scratchpads", "L2 caches"),
        ("AssasinSp8x8", "stream buffers", "L1 caches"),
        ("AssasinSbCache8x8", "L1 caches", "L2 caches"),
        ("ChannelLocal8x8", "stream buffers", "L1 caches"),
        ("Baseline8x8", "L2 caches", "stream buffers"),
        ("Prefetch8x8", "L1 caches", "scratchpads"),
        ("AssasinSbHls8x8", "stream buffers", "L1 caches"),
    ],
)
def test_memories_are_the_architectures(config: str, has: str, lacks: str) -> None:
    rails = activity_model(log(config), FLASH).watts
    assert has in rails
    assert lacks not in rails


def test_names_of_architectures() -> None:
    assert [architecture(n) for n in ("AssasinSb8x8", "Baseline16x16", "AssasinSbHls4x8")] == [
        "AssasinSb",
        "Baseline",
        "AssasinSbHls",
    ]


def test_flash_and_dram_energy_are_exact() -> None:
    trace = activity_model(log(array_reads=10, array_programs=3, dram_read_bytes=1000, dram_write_bytes=500), FLASH)
    end = trace.end
    assert trace.joules(0, end, "flash array") == pytest.approx(13 * 4320 * 8 * 250e-12)
    assert trace.joules(0, end, "DRAM transfers") == pytest.approx(1500 * 8 * 2.4e-12)


@pytest.mark.parametrize("cycles_of", [0, 1])
def test_xssd_components_run_from_idle_to_active(cycles_of: int) -> None:
    busy = {"cycles": CYCLES, "bus_busy": CYCLES, "data_bytes": 8 * CYCLES, "h2c_bytes": 8 * CYCLES, "c2h_bytes": 8 * CYCLES}
    trace = xssd_model(log(**(busy if cycles_of else ASLEEP)), ModelOptions("pcm", float(cycles_of)))
    expected = {
        "MIPS (cores)": (8 * 0.078, 8 * 0.37),
        "DMA controllers": (8 * 0.01, 8 * 0.09),
        "scheduler (firmware)": (0.3, 1.3),
        "network (crossbar)": (0.03, 0.06),
        "medium controllers (channels)": (8 * 0.24, 8 * 0.34),
        "medium, pcm": (0.0, 0.0),
        "medium background": (256 * 264e-6,) * 2,
        "PCIe": (0.12, 0.4),
        "host processor": (60.0, 135.0),
        "host DIMM": (1.0, 5.0),
    }
    assert {rail: float(w[0]) for rail, w in trace.watts.items()} == {r: pytest.approx(w[cycles_of]) for r, w in expected.items()}


@pytest.mark.parametrize(
    ("medium", "read", "write"), [("flash", 250, 250), ("pcm", 2.47, 16.82), ("sttm", 0.33, 10), ("memristor", 2, 2)]
)
def test_energy_a_bit_of_every_medium(medium: str, read: float, write: float) -> None:
    trace = xssd_model(log(array_reads=2, array_programs=1), ModelOptions(medium))
    assert trace.joules(0, trace.end, f"medium, {medium}") == pytest.approx(4320 * 8 * (2 * read + write) * 1e-12)
    assert "host processor" not in trace.watts


@pytest.mark.parametrize("model", MODELS)
def test_idle_is_what_a_sleeping_drive_draws(model: str) -> None:
    busy = log(cycles=CYCLES, bus_busy=CYCLES, array_reads=1000, h2c_bytes=CYCLES)
    assert idle_watts(model, busy, FLASH) == pytest.approx(float(MODELS[model](log(**ASLEEP), FLASH).total[0]))
    assert idle_watts(model, busy, FLASH) < float(MODELS[model](busy, FLASH).total[0])


def test_utilisation_never_passes_one() -> None:
    trace = xssd_model(log(h2c_bytes=100 * CYCLES, data_bytes=100 * CYCLES), FLASH)
    assert float(trace.watts["PCIe"][0]) == pytest.approx(c.PCIE.active)


@pytest.mark.parametrize("model", MODELS)
def test_kernels_that_the_dissertation_has_figures_for(model: str) -> None:
    kernels = ("fgrep8/1.0", "", "saxpy/2.1", "fft1d/1", "aes128/1")
    busy = log("AssasinSbHls8x8", kernels=kernels, cycles=CYCLES, wait_in=CYCLES // 2)
    watts = MODELS[model](busy, FLASH).watts
    expected = {"slot 0, fgrep8/1.0": (0.013, 0.12), "slot 2, saxpy/2.1": (0.06, 0.3), "slot 3, fft1d/1": (0.029, 0.274)}
    assert {r for r in watts if r.startswith("slot ")} == set(expected)
    for rail, (idle, active) in expected.items():
        assert float(watts[rail][0]) == pytest.approx((idle + active) / 2)
    assert "no figure for the logic of aes128/1" in method(model, busy, FLASH)


def test_methods_name_their_tables() -> None:
    assert "Table V" in method("activity", log(), FLASH)
    assert "medium pcm (XSSD Table 3.2), host at a stated utilisation of 0.5" in method("xssd", log(), ModelOptions("pcm", 0.5))


def test_phases_by_what_the_drive_did() -> None:
    assert [s.what for s in of_activity(log(cycles=5, data_bytes=100))] == ["offload"]
    assert [(s.what, s.bytes) for s in of_activity(log(h2c_bytes=8192, c2h_bytes=16))] == [("write", 8192)]
    assert [(s.what, s.bytes) for s in of_activity(log(h2c_bytes=64, c2h_bytes=4096))] == [("read", 4096)]
    assert of_activity(log(h2c_bytes=64)) == []


def test_counters_of_another_version() -> None:
    good = log()
    with pytest.raises(PowerError, match="build both anew"):
        ActivityLog(good._heading, [{k: v for k, v in good._last.items() if k != "array_reads"}] * 2)
    with pytest.raises(PowerError, match="build both anew"):
        ActivityLog({k: v for k, v in good._heading.items() if k != "dies"}, [good._last] * 2)
