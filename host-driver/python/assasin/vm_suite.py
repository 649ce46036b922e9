# SPDX-License-Identifier: BSD-3-Clause
"""`assasin vm test`: what an unmodified Linux does with the drive, step by step."""

from __future__ import annotations

import ctypes
import hashlib
import io
import json
import os
import random
import re
import shlex
import shutil
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from assasin import identity, offloads, vm_image, vm_programs, vm_vfio
from assasin.board import Board, BoardError, board_of
from assasin.descriptions import SCAN_BLOCK
from assasin.drive import Extent, split
from assasin.errors import AssasinError
from assasin.tree import BUILD, ROOT, contract
from assasin.vm import PCI_ADDRESS, Guest, GuestError

FOLDER = BUILD / "vm"
"""Where the results go: result.json, figures.json and what the tools in the guest printed."""

BOOT_SECONDS = 60.0
"""Longest cold start, board and guest, that passes."""

DEVICE = "/dev/nvme0n1"
BLOCK = 4096
AREA = 2 << 20
"""Bytes at the drive's start that the transfers work on."""

FILES = {"small": 1, "one-block": BLOCK, "odd": 100_003, "large": 1_500_000}
"""Files that are copied onto the drive: name and bytes."""

DEPTHS = (1, 2, 4, 8, 16, 32, 64)
QUICK_DEPTHS = (1, 8, 64)
READS = 192
"""4 KiB reads at each queue depth."""

FULL_TIMEOUT = 30
"""Seconds after which the guest's kernel gives a command up, as it is delivered."""

VANISH_TIMEOUT = 5
"""The same for the step that takes the board away, which waits for it."""


IDLE_SECONDS = 4.0
IDLE_SHARE = 0.05
"""How long the idle board is watched, and how much of a processor it may use."""

WEAR_BYTES = 3 << 20
WEAR_ROUNDS = 20
"""File of the small drive that is written over at random until the drive refuses, and how often at most."""

MEETINGS = 100
"""How many runs over a file that somebody else writes to are tried until one of them meets a writer."""

COUNTERS = ("time", "media_reads", "nvme_commands")
"""Fields of the performance log page that are looked at: the drive's clock, pages read from flash, commands."""


class StepError(AssasinError):
    """What a step saw is not what it should have seen."""


@dataclass(frozen=True)
class Result:
    """How a step went."""

    step: str
    passed: bool
    seconds: float
    message: str = ""


Step = Callable[["Suite"], None]


def check(condition: bool, message: str) -> None:
    """Raises StepError(message) unless `condition`."""
    if not condition:
        raise StepError(message)


class Suite:
    """A board, the guest on it, and what has been measured."""

    def __init__(self, config: str, profile: str, board: Board, quick: bool) -> None:
        self.config = config
        self.profile = profile
        self.quick = quick
        self.board = board
        self.share = FOLDER / "share"
        self.figures: dict[str, Any] = {"board": board.KIND, "config": config, "profile": profile}
        self.sums: dict[str, str] = {}
        self._guest: Guest | None = None

    # -- the guest's life

    def start_board(self, format: bool = False) -> None:
        """Starts the board, or starts it again."""
        self.board.start(self.config, self.profile, format=format)

    def boot(
        self,
        kernel_options: str = "",
        modules: dict[str, Path] | None = None,
        share: Path | None = None,
        others: Sequence[Board] = (),
    ) -> Guest:
        """A new guest that takes commands."""
        self.end_guest()
        guest = Guest(self.board, share or self.share, kernel_options=kernel_options, modules=modules, others=others)
        self._guest = guest
        guest.start()
        guest.wait_ready()
        return guest

    @property
    def guest(self) -> Guest:
        """The guest that runs; a new one when a step before has lost it."""
        if self._guest is None or not self._guest.running:
            if self.board.pid() is None:
                self.start_board()
            return self.boot()
        return self._guest

    def end_guest(self) -> None:
        """Ends the guest at once."""
        if self._guest is not None:
            self._guest.stop()
            self._guest = None

    def power_off(self) -> None:
        """Lets the guest power off."""
        self.guest.power_off()
        self._guest = None

    def sh(self, command: str, seconds: float = 300.0, what: str = "") -> str:
        """Runs a command in the guest that must succeed. Returns what it printed."""
        return self.guest.run(command, seconds).require(what or command)

    def keep(self, name: str, text: str) -> str:
        """Keeps what a tool printed under build/vm."""
        (FOLDER / name).write_text(text)
        return text

    def mounted(self) -> None:
        """Mounts the file system."""
        if "/mnt" not in self.sh("cat /proc/mounts"):
            self.sh(f"mount {DEVICE} /mnt")

    def counters(self) -> dict[str, int]:
        """Counters of the drive's performance log page, read by nvme-cli."""
        command = f"nvme get-log /dev/nvme0 --log-id={contract.SCOMP_LOG_PERF} --log-len={ctypes.sizeof(contract.ScompPerf)}"
        text = self.sh(f"{command} --raw-binary | hexdump -v -e '/1 \"%02x\"'")
        page = contract.ScompPerf.from_buffer_copy(bytes.fromhex(text.strip()))
        return {field: getattr(page, field) for field in COUNTERS}

    def fio(self, **options: object) -> dict[str, Any]:
        """Runs fio on the drive and returns its report on the one job."""
        words = {"name": "job", "filename": DEVICE, "direct": 1, "output-format": "json", **options}
        command = "fio " + " ".join(f"--{k.replace('_', '-') if k == 'output_format' else k}={v}" for k, v in words.items())
        text = self.sh(command, what=f"fio {options.get('rw')}")
        return json.loads(text[text.index("{") :])["jobs"][0]

    @contextmanager
    def measured(self) -> Iterator[dict[str, int]]:
        """Device cycles and counters that pass in a `with` block, in the dictionary it yields."""
        passed: dict[str, int] = {}
        before = self.counters()
        yield passed
        after = self.counters()
        passed.update({field: after[field] - before[field] for field in COUNTERS})


# -- steps


def _kept_waiting(pid: int | None) -> float:
    """Seconds that a process's busiest thread was ready to run and others had the processors (/proc/PID/task/*/schedstat)."""
    delays = [int(f.read_text().split()[1]) for f in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return max(delays, default=0) / 1e9


def boot(s: Suite) -> None:
    """Cold start: board, guest, drive enumerated. Time in which other programs had the processors does not count."""
    start = time.monotonic()
    s.start_board(format=True)
    guest = s.boot()
    seconds = time.monotonic() - start
    waited = max(_kept_waiting(s.board.pid()), _kept_waiting(guest.pid))
    devices = s.sh("ls /dev/nvme0 /dev/nvme0n1 /dev/ng0n1").split()
    check(len(devices) == 3, f"devices: {devices}")
    s.figures["boot_seconds"] = round(seconds, 1)
    s.figures["kernel"] = s.sh("uname -r").strip()
    s.figures["boot_seconds_kept_waiting"] = round(waited, 1)
    check(seconds - waited <= BOOT_SECONDS, f"the guest was ready after {seconds:.0f} s, more than {BOOT_SECONDS:.0f}")
    s.keep("console.txt", guest.console_log.read_text(errors="replace"))


def probe(s: Suite) -> None:
    """The stock driver has bound the drive, with MSI-X, and complained of nothing."""
    log = s.keep("dmesg.txt", s.sh("dmesg"))
    s.keep("probe.txt", "".join(line + "\n" for line in log.splitlines() if "nvme" in line or PCI_ADDRESS in line))
    check(f"nvme nvme0: pci function {PCI_ADDRESS}" in log, "the kernel log has no probe of the drive")
    # The driver announces the drive's shutdown time, and Debian's cloud kernels have no PCI_P2PDMA, which buffers in a BAR need.
    fine = ("Shutdown timeout set to", "failed to register the CMB")
    bad = [
        line
        for line in log.splitlines()
        if re.search(r"nvme.*(timeout|fail|error|reset|not ready|invalid|abort)", line, re.I) and not any(f in line for f in fine)
    ]
    check(not bad, f"the driver complains: {bad[:3]}")
    pci = s.keep("lspci.txt", s.sh(f"lspci -vvv -s {PCI_ADDRESS} 2>/dev/null"))
    check("Kernel driver in use: nvme" in pci, "lspci sees no nvme driver on the drive")
    check("MSI-X: Enable+" in pci, "the driver does not use MSI-X")
    interrupts = [line for line in s.sh("cat /proc/interrupts").splitlines() if "nvme" in line]
    check(len(interrupts) >= 2, f"the driver has {len(interrupts)} interrupts, expected the admin queue's and one more")
    check(sum(int(n) for line in interrupts for n in line.split()[1:2]) > 0, "no interrupt has arrived")


def identify(s: Suite) -> None:
    """nvme-cli reads what the drive is."""
    s.keep("id-ctrl.txt", s.sh("nvme id-ctrl -H /dev/nvme0"))
    controller = json.loads(s.sh("nvme id-ctrl -o json /dev/nvme0"))
    check(controller["mn"].startswith("ASSASIN"), f"model {controller['mn']!r}")
    check(controller["sqes"] == 0x66 and controller["cqes"] == 0x44, "queue entry sizes are not 64 and 16 bytes")
    s.keep("id-ns.txt", s.sh(f"nvme id-ns -H {DEVICE}"))
    namespace = json.loads(s.sh(f"nvme id-ns -o json {DEVICE}"))
    shift = namespace["lbafs"][namespace["flbas"] & 0xF]["ds"]
    size = int(s.sh(f"blockdev --getsize64 {DEVICE}"))
    check(size == namespace["nsze"] << shift, f"{size} bytes in the kernel, {namespace['nsze']} blocks of 2^{shift} in Identify")
    s.sh("nvme list-ns /dev/nvme0")


def _smart(s: Suite) -> dict[str, int]:
    """The numbers of the SMART log page; nvme-cli puts the long ones in strings."""
    page = json.loads(s.sh("nvme smart-log -o json /dev/nvme0"))
    return {k: int(v) for k, v in page.items() if isinstance(v, int) or str(v).isdigit()}


def smart(s: Suite) -> None:
    """The SMART log page counts."""

    before = _smart(s)
    s.sh(f"dd if={DEVICE} of=/dev/null bs=64k count=16 iflag=direct 2>/dev/null")
    after = _smart(s)
    s.keep("smart.txt", s.sh("nvme smart-log /dev/nvme0"))
    check(after["critical_warning"] == 0, f"critical warning {after['critical_warning']}")
    check(after["host_read_commands"] >= before["host_read_commands"] + 8, "1 MiB was read, the read commands do not show it")
    check(after["data_units_read"] > before["data_units_read"], "1 MiB was read, the data units do not show it")


def error_log(s: Suite) -> None:
    """A bad command is refused with the right status, and the error log says so."""
    before = _smart(s)["num_err_log_entries"]
    blocks = int(s.sh(f"blockdev --getsize64 {DEVICE}")) // BLOCK
    out = s.guest.run(f"nvme read {DEVICE} --start-block={blocks} --data-size={BLOCK} --data=/dev/null")
    check(out.code != 0 and "LBA Out of Range" in out.text, f"a read past the end: {out.text.strip()}")
    out = s.guest.run("nvme admin-passthru /dev/nvme0 --opcode=0x77")
    check(out.code != 0 and "Invalid Command Opcode" in out.text, f"opcode 77h: {out.text.strip()}")
    s.keep("error-log.txt", s.sh("nvme error-log /dev/nvme0 --log-entries=4"))
    entries = json.loads(s.sh("nvme error-log -o json /dev/nvme0 --log-entries=4"))["errors"]
    after = _smart(s)["num_err_log_entries"]
    check(after >= before + 2, f"{after - before} more errors in the SMART log after two bad commands")
    codes = [e["status_field"] & 0x7FF for e in entries[:2]]
    check(codes == [0x01, 0x80], f"the latest errors are {[hex(c) for c in codes]}, expected 0x1, then 0x80")
    check(entries[1]["sqid"] != 0 and entries[1]["lba"] == blocks, f"the read's entry: {entries[1]}")


def effects(s: Suite) -> None:
    """The effects log names the commands that the drive takes."""
    text = s.keep("effects.txt", s.sh("nvme effects-log /dev/nvme0"))
    have = set(re.findall(r"^((?:A|IO)CS\d+)", text, re.M))
    # Queues, log pages, Identify, Abort, features, events; Flush, Write, Read.
    wanted = {f"ACS{n}" for n in (0, 1, 2, 4, 5, 6, 8, 9, 10, 12)} | {f"IOCS{n}" for n in (0, 1, 2)}
    wanted |= {f"ACS{contract.SCOMP_OPCODE_ADMIN_FUNC_LOAD}", f"IOCS{contract.SCOMP_OPCODE_IO_EXEC}"}
    check(wanted <= have, f"the effects log lacks {sorted(wanted - have)}")


def _wait(s: Suite, command: str, over: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The log page that `command` prints, as soon as it says that what it is about is `over`."""
    for _ in range(600):
        page: dict[str, Any] = json.loads(s.sh(command))
        if over(page):
            return page
        time.sleep(0.2)
    raise StepError(f"{command}: no end after two minutes")


def self_test(s: Suite) -> None:
    """Both kinds of device self-test by nvme-cli: they pass on a good drive, and their log says so."""
    for code in (1, 2):
        s.sh(f"nvme device-self-test /dev/nvme0 --namespace-id=1 --self-test-code={code}")
        _wait(s, "nvme self-test-log -o json /dev/nvme0", lambda page: int(page["Current Device Self-Test Operation"]) == 0)
        text = s.keep(f"self-test-{code}.txt", s.sh("nvme self-test-log -v /dev/nvme0"))
        latest = text.split("Self Test Result[1]")[0]
        check(re.search(r"Operation Result\s*: 0\b", latest) is not None, f"a self-test of code {code}: {latest}")


def lost_block(s: Suite) -> None:
    """A block declared unreadable is an error to whoever reads it until it is written again."""
    read = f"dd if={DEVICE} of=/dev/null bs={BLOCK} skip=37 count=1 iflag=direct 2>&1"
    s.sh(f"nvme write-uncor {DEVICE} --start-block=37 --block-count=0")
    out = s.guest.run(read)
    check(out.code != 0, "a block declared unreadable reads well")
    out = s.guest.run(f"nvme verify {DEVICE} --start-block=30 --block-count=15")
    check(out.code != 0 and "Unrecovered Read Error" in out.text, f"verify of it: {out.text.strip()}")
    check(_smart(s)["media_errors"] == 0, "the health log counts a block as lost that its owner gave up")
    s.sh(f"dd if=/dev/zero of={DEVICE} bs={BLOCK} seek=37 count=1 oflag=direct conv=notrunc 2>/dev/null")
    s.sh(read)


def sanitize(s: Suite) -> None:
    """A block erase by nvme-cli: it runs beside admin commands, and everything reads as zeros then."""
    s.sh(f"dd if=/dev/urandom of={DEVICE} bs=64k count=16 oflag=direct conv=notrunc 2>/dev/null")
    s.sh("nvme sanitize /dev/nvme0 --sanact=2")
    _wait(s, "nvme sanitize-log -o json /dev/nvme0", lambda page: next(iter(page.values()))["sprog"] == 0xFFFF)
    text = s.keep("sanitize.txt", s.sh("nvme sanitize-log -H /dev/nvme0"))
    check("Global Data Erased set" in text, f"after a sanitize operation: {text}")
    s.sh("echo 3 >/proc/sys/vm/drop_caches")
    count = s.sh(f"dd if={DEVICE} bs=64k count=16 iflag=direct 2>/dev/null | tr -d '\\0' | wc -c")
    check(int(count) == 0, f"{count.strip()} bytes are left after a sanitize operation")


def fio_verify(s: Suite) -> None:
    """Random reads and writes of many sizes, verified."""
    job = s.fio(
        rw="randrw",
        bsrange="4k-64k",
        blockalign=BLOCK,
        size=AREA // 2 if s.quick else AREA,
        ioengine="io_uring",
        iodepth=16,
        verify="crc32c",
        verify_fatal=1,
        do_verify=1,
        randseed=4,
    )
    check(job["error"] == 0, f"fio ended with error {job['error']}")
    check(job["write"]["total_ios"] > 0 and job["read"]["total_ios"] > 0, "fio has moved nothing")


def sequential(s: Suite) -> None:
    """128 KiB transfers in a row: device cycles and guest time."""
    rows = []
    for direction in ("write", "read"):
        with s.measured() as passed:
            job = s.fio(rw=direction, bs="128k", size=AREA, ioengine="io_uring", iodepth=4)
        side = job[direction]
        check(side["io_bytes"] == AREA, f"fio moved {side['io_bytes']} bytes")
        rows.append(
            {
                "direction": direction,
                "bytes": AREA,
                "device_cycles": passed["time"],
                "bytes_per_cycle": round(AREA / passed["time"], 3),
                "guest_seconds": round(side["runtime"] / 1000, 2),
            }
        )
    s.figures["sequential_128k"] = rows


def queue_depths(s: Suite) -> None:
    """4 KiB random reads at queue depths from 1 on: device cycles a read fall as the depth grows."""
    rows = []
    for depth in QUICK_DEPTHS if s.quick else DEPTHS:
        with s.measured() as passed:
            job = s.fio(
                rw="randread", bs=BLOCK, size=AREA, io_size=READS * BLOCK, ioengine="io_uring", iodepth=depth, randseed=depth
            )
        reads = job["read"]["total_ios"]
        check(reads == READS, f"fio did {reads} reads, expected {READS}")
        check(passed["media_reads"] >= READS, f"{passed['media_reads']} pages came from flash for {READS} reads")
        latency = job["read"]["clat_ns"]
        rows.append(
            {
                "depth": depth,
                "device_cycles_a_read": round(passed["time"] / READS),
                "guest_iops": round(job["read"]["iops"], 1),
                "guest_latency_ms": round(latency["mean"] / 1e6, 2),
            }
        )
    s.figures["random_4k_reads"] = rows
    first, last = rows[0]["device_cycles_a_read"], rows[-1]["device_cycles_a_read"]
    check(last < first, f"a read takes {last} device cycles at depth {rows[-1]['depth']}, {first} at depth 1")


def _scan_of(s: Suite, data: bytes) -> bytes:
    """What the offload scan gives for `data`, cut as the tool in the guest cuts it: nearly equal pieces of whole blocks."""
    cores = int(re.sub(r"\D*(\d+)x\d+", r"\1", s.config))
    pieces = split([Extent(0, -(-len(data) // BLOCK))], len(data), SCAN_BLOCK, BLOCK, cores)
    out, at = b"", 0
    for piece in pieces:
        result = offloads.expected_scan(data[at : at + piece.bytes])
        out += struct.pack("<II", result.bytes, result.checksum)
        at += piece.bytes
    return out


def _offload(s: Suite, words: str, seconds: float = 300.0) -> tuple[bytes, str]:
    """Runs assasin-offload in the guest. Returns its output and what it said."""
    said = s.sh(f"assasin-offload {words} --out /share/out", seconds)
    return (s.share / "out").read_bytes(), said


def idle(s: Suite) -> None:
    """An idle drive leaves the host its processor."""
    ticks = os.sysconf("SC_CLK_TCK")

    def used() -> float:
        fields = Path(f"/proc/{s.board.pid()}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / ticks

    s.sh("sync")
    before = used()
    time.sleep(IDLE_SECONDS)
    share = (used() - before) / IDLE_SECONDS
    s.figures["idle_processor_share"] = round(share, 3)
    check(share <= IDLE_SHARE, f"the idle board takes {100 * share:.0f} % of a processor")


def reset(s: Suite) -> None:
    """The controller is reset under I/O, more than once: the kernel repeats what was under way, and the bytes are right."""
    size = 64 * BLOCK
    (s.share / "bytes").write_bytes(random.Random(6).randbytes(size))
    s.guest.run("umount /mnt 2>/dev/null")
    s.sh(f"(dd if=/share/bytes of={DEVICE} bs=4k oflag=direct >/tmp/dd 2>&1; echo $? >/tmp/code) & sleep 0.3")
    for _ in range(2):
        s.sh("nvme reset /dev/nvme0; sleep 0.2")
    s.sh(
        "for i in $(seq 60); do [ ! -e /tmp/code ] || break; sleep 1; done; test -e /tmp/code", what="waiting for the writer to end"
    )
    check(s.sh("cat /tmp/code; rm /tmp/code").strip() == "0", f"the writer says: {s.sh('cat /tmp/dd').strip()}")
    s.sh(f"dd if={DEVICE} bs={size} count=1 iflag=direct 2>/dev/null | cmp - /share/bytes")


def _transfer(s: Suite, **options: object) -> None:
    job = s.fio(rw="randrw", bs=BLOCK, size=AREA // 4, iodepth=8, verify="crc32c", verify_fatal=1, **options)
    check(job["error"] == 0 and job["read"]["total_ios"] > 0, f"fio ended with error {job['error']}")


def intx(s: Suite) -> None:
    """The kernel told to do without message interrupts: INTx carries verified transfers."""
    s.power_off()
    s.boot("pci=nomsi")
    lines = [line for line in s.sh("cat /proc/interrupts").splitlines() if "nvme" in line]
    check(len(lines) == 1 and "IO-APIC" in lines[0], f"the driver's interrupts: {lines}")
    _transfer(s, ioengine="libaio")


def polling(s: Suite) -> None:
    """A queue without interrupts, polled by the kernel: verified transfers."""
    s.power_off()
    s.boot("nvme.poll_queues=1")
    check("1/0/1 default/read/poll queues" in s.sh("dmesg"), "the driver has made no polled queue")
    _transfer(s, ioengine="io_uring", hipri=1)


def vfio(s: Suite) -> None:
    """vfio-pci in no-IOMMU mode: the library is the drive's driver in the guest, and the kernel's driver sees what it wrote."""
    module = vm_vfio.module(vm_image.image())
    s.power_off()
    s.boot(modules={"vfio.ko": module})
    data = random.Random(5).randbytes(40 * BLOCK + 1000)
    (s.share / "blocks").write_bytes(data)
    for line in s.sh("cat /lib/modules/vfio").split():
        s.sh(f"insmod /lib/modules/{line}" + (" enable_unsafe_noiommu_mode=1" if line == "vfio.ko" else ""))
    device, drivers = f"/sys/bus/pci/devices/{PCI_ADDRESS}", "/sys/bus/pci/drivers"
    s.sh("echo 34 >/proc/sys/vm/nr_hugepages")
    s.sh(f"echo {PCI_ADDRESS} >{drivers}/nvme/unbind && echo vfio-pci >{device}/driver_override")
    s.sh(f"echo {PCI_ADDRESS} >/sys/bus/pci/drivers_probe && ls /dev/vfio/noiommu-0")
    s.keep("vfio.txt", s.sh(f"assasin-offload --drive vfio:{PCI_ADDRESS}"))
    out, _ = _offload(s, f"scan --drive vfio:{PCI_ADDRESS} --write /share/blocks --lba 3 --bytes {len(data)}")
    check(out == _scan_of(s, data), "the scan through vfio gives other sums than the data has")
    s.sh(f"echo {PCI_ADDRESS} >{drivers}/vfio-pci/unbind && echo nvme >{device}/driver_override")
    s.sh(f"echo {PCI_ADDRESS} >/sys/bus/pci/drivers_probe")
    s.sh(f"for i in $(seq 300); do [ ! -b {DEVICE} ] || break; usleep 100000; done; test -b {DEVICE}")
    got = s.sh(f"dd if={DEVICE} bs={BLOCK} skip=3 count=41 iflag=direct 2>/dev/null | head -c {len(data)} | sha256sum").split()[0]
    check(got == hashlib.sha256(data).hexdigest(), "the kernel reads other bytes than the library wrote")


def offload(s: Suite) -> None:
    """A function over a file of the file system, through the kernel by io_uring and by ioctls; the host's answer is the same."""
    s.mounted()
    data = (s.share / "files" / "large").read_bytes()
    wanted = _scan_of(s, data)
    log = []
    for way in ("", " --ioctl"):
        with s.measured() as passed:
            out, said = _offload(s, f"scan --file /mnt/files/large --in-drive{way}")
        check(out == wanted, f"scan{way} gives other sums than the file has")
        check("read inside the drive" in said, f"scan{way} says: {said}")
        check(passed["media_reads"] >= len(data) // BLOCK, "the file's pages were not read from flash")
        log.append(said)
    # Fresh bytes in the page cache get onto the drive first; the last block counts to the file's end only.
    s.sh("head -c 123457 /dev/urandom >/mnt/fresh && cp /mnt/fresh /share/fresh")
    out, said = _offload(s, "scan --file /mnt/fresh")
    check(out == _scan_of(s, (s.share / "fresh").read_bytes()), "scan of a file just written gives other sums")
    s.keep("offload.txt", "".join([*log, said]))


def offload_files(s: Suite) -> None:
    """Files whose bytes are not all in blocks of their own, and files that cannot be held."""
    s.mounted()
    # How space is made, and which bytes of /share/files/odd are put there. Busybox has a fallocate of its own.
    make = {
        "hole": ("truncate -s 100000", "bs=4k count=2 seek=5"),
        "unwritten": ("/usr/bin/fallocate -l 90000", "bs=4k count=3"),
        "past-end": ("/usr/bin/fallocate --keep-size -l 200000", "bs=5000"),
    }
    for name, (space, words) in make.items():
        s.sh(f"rm -f /mnt/{name}; : >/mnt/{name} && {space} /mnt/{name}")
        s.sh(f"dd if=/share/files/odd of=/mnt/{name} {words} conv=notrunc 2>/dev/null && cp /mnt/{name} /share/{name}")
        data = (s.share / name).read_bytes()
        out, said = _offload(s, f"sum --pieces 1 --file /mnt/{name}")
        value = int(np.frombuffer(data[: len(data) // 4 * 4], "<u4").sum(dtype=np.uint64)) % 2**32
        check(out[4:8] == value.to_bytes(4, "little"), f"the sum of /mnt/{name} is wrong: {out[:8].hex()}")
        fed = name != "past-end"
        check(("the host fed the file" in said) == fed, f"/mnt/{name}: {said}")
        if fed:
            refused = s.guest.run(f"assasin-offload sum --in-drive --file /mnt/{name}")
            check(refused.code == 1 and "cannot be read inside the drive" in refused.text, f"--in-drive: {refused.text}")
    s.sh("touch /mnt/empty; (exec sleep 30) >/dev/null 2>&1 3>>/mnt/hole &")
    refusals = {
        "/mnt/empty": "is empty",
        "/mnt/hole": "open for writing",
        "/mnt": "not a regular file",
        "/init": "not on one block",
    }
    for path, why in refusals.items():
        refused = s.guest.run(f"assasin-offload scan --file {path}")
        check(refused.code == 1 and why in refused.text, f"{path}: {refused.text}")
    # A writer that comes during a run waits, and the run is not counted.
    # A native board's run is so short that a writer meets one of many.
    s.sh("(while [ ! -e /tmp/met ]; do echo >>/mnt/files/large; usleep 30000; done; touch /tmp/wrote) >/dev/null 2>&1 &")
    for _ in range(MEETINGS):
        changed = s.guest.run("assasin-offload scan --file /mnt/files/large --pieces 1 --out /tmp/out")
        if "run again" in changed.text:
            break
    s.sh("touch /tmp/met; for i in $(seq 100); do [ -e /tmp/wrote ] && break; sleep 0.1; done; rm /tmp/met /tmp/wrote")
    check(changed.code == 1 and "run again" in changed.text, f"with a writer: {changed.text}")
    s.sh("cp /share/files/large /mnt/files/large && sync")


def python_file(s: Suite) -> None:
    """`assasin run --file` itself, in the guest: this host's programs are there too, as a read-only file system."""
    s.power_off()
    s.boot(share=Path("/"))
    s.sh("mount -o remount,ro /share && for d in dev proc sys; do mount --bind /$d /share/$d; done")
    s.sh(f"mount {DEVICE} /share/mnt")
    data = (s.share / "files" / "large").read_bytes()
    tell = f"HOME={shlex.quote(str(Path.home()))} NO_COLOR=1 PYTHONDONTWRITEBYTECODE=1"
    if cache := os.environ.get("ASSASIN_CACHE"):
        tell += f" ASSASIN_CACHE={shlex.quote(cache)}"

    def assasin(words: str) -> str:
        inside = f"cd / && {tell} {shlex.quote(str(ROOT))}/scripts/bin/assasin {words}"
        return f"chroot /share /bin/sh -c {shlex.quote(inside)}"

    s.sh(
        assasin("run scan --in-drive --file /mnt/files/large --out -") + " >/tmp/out 2>/tmp/said || { cat /tmp/said; false; }", 900
    )
    pairs = np.frombuffer(bytes.fromhex(s.sh("hexdump -v -e '/1 \"%02x\"' /tmp/out")), "<u4").reshape(-1, 2)
    expected = offloads.expected_scan(data)
    got = (int(pairs[:, 0].sum()), int(pairs[:, 1].sum(dtype=np.uint64)) % 2**32)
    check(got == (expected.bytes, expected.checksum), f"the scan gives {got}, expected {expected}")
    s.sh(assasin("run sum --file /mnt/hole --pieces 1 --out /mnt/sum.npy --dtype '<u4' --json") + " >/tmp/json 2>/tmp/said", 900)
    report = json.loads(s.sh("cat /tmp/json"))
    check(report["in_drive"] is False and "holes" in report["how"], f"a file with holes: {report['how']}")
    array = np.load(io.BytesIO(bytes.fromhex(s.sh("hexdump -v -e '/1 \"%02x\"' /share/mnt/sum.npy"))))
    check(array.dtype == "<u4" and array.shape == (2,) and array[0] == 100_000 // 4, f"sum.npy: {array!r}")
    s.sh("umount /share/mnt")
    s.power_off()


def programs(s: Suite) -> None:
    """Computational Programs by nvme-cli: blocks go to the local memory, and a program scans them there."""
    s.sh(f"ls {vm_programs.MEMORY} {vm_programs.PROGRAMS}")
    p = vm_programs.Passthrough(s.sh, s.share)
    count, length = 8, 8 * BLOCK - 100
    data = random.Random(7).randbytes(count * BLOCK)
    (s.share / "blocks").write_bytes(data)
    s.sh(f"dd if=/share/blocks of={DEVICE} bs={BLOCK} seek=64 oflag=direct conv=notrunc 2>/dev/null")
    vm_programs.copy_blocks(p, 64, count, 0)
    check(p.read_memory(0, count * BLOCK) == data, "the local memory has not what the blocks hold")
    vm_programs.load(p, 3, offloads.elf_path("scan").read_bytes(), 0x1234)
    ranges = vm_programs.make_ranges(p, [(0, length), (1 << 20, BLOCK)])
    written = vm_programs.execute(p, 3, ranges)
    expected = offloads.expected_scan(data[:length])
    got = struct.unpack("<2I", p.read_memory(1 << 20, 8))
    check((written, *got) == (8, expected.bytes, expected.checksum), f"{written} bytes of output, {got}; expected 8, {expected}")
    refused = s.guest.run(f"nvme io-passthru {vm_programs.PROGRAMS} --opcode=1 --namespace-id=3 --cdw2={5 | ranges << 16} 2>&1")
    check(refused.code != 0 and "196" in refused.text, f"a program that is not there: {refused.text}")
    vm_programs.remove(p, 3, ranges)


def mkfs(s: Suite) -> None:
    """mkfs.ext4."""
    s.guest.run("umount /mnt 2>/dev/null")
    s.keep("mkfs.txt", s.sh(f"mkfs.ext4 -F {DEVICE}"))
    s.sh(f"e2fsck -fn {DEVICE}")


def copy(s: Suite) -> None:
    """Files from the shared folder onto the drive, and the same bytes back after the page cache was dropped."""
    s.mounted()
    source = s.share / "files"
    source.mkdir(exist_ok=True)
    for i, (name, size) in enumerate(FILES.items()):
        data = random.Random(i).randbytes(size)
        (source / name).write_bytes(data)
        s.sums[name] = hashlib.sha256(data).hexdigest()
    s.sh("cp -r /share/files /mnt/ && sync && echo 3 >/proc/sys/vm/drop_caches")
    _compare(s)


def _compare(s: Suite) -> None:
    for name, wanted in s.sums.items():
        got = s.sh(f"sha256sum /mnt/files/{name}").split()[0]
        check(got == wanted, f"/mnt/files/{name} has other bytes than were written")


def fsck(s: Suite) -> None:
    """e2fsck finds nothing to mend."""
    s.guest.run("umount /mnt")
    s.keep("fsck.txt", s.sh(f"e2fsck -fn {DEVICE}"))


def reboot(s: Suite) -> None:
    """The guest powers off and another one boots on the same board: the files are there."""
    s.mounted()
    s.power_off()
    s.boot()
    s.mounted()
    _compare(s)


def warm_reboot(s: Suite) -> None:
    """The guest reboots without QEMU's end, so that the function sees a reset: the files are there."""
    s.mounted()
    s.guest.reboot()
    s.mounted()
    _compare(s)


def power_cycle(s: Suite) -> None:
    """The board is switched off and on too: the files are there."""
    s.power_off()
    s.board.stop()
    s.start_board()
    s.boot()
    s.mounted()
    _compare(s)


def guest_crash(s: Suite) -> None:
    """QEMU is killed while it writes: the next guest finds a working drive and a file system that its journal mends."""
    s.mounted()
    s.sh("rm -f /mnt/noise; dd if=/dev/urandom of=/mnt/noise bs=64k count=16 oflag=direct >/dev/null 2>&1 & sleep 0.7")
    s.guest.kill()
    s.boot()
    s.sh(f"e2fsck -fp {DEVICE}; test $? -le 1")
    s.mounted()
    _compare(s)


def vanish(s: Suite) -> None:
    """The board is killed under I/O: the guest sees errors, no hang; the next guest finds all as it was."""
    s.power_off()
    s.boot(f"nvme_core.io_timeout={VANISH_TIMEOUT} nvme_core.admin_timeout={VANISH_TIMEOUT}")
    read = f"dd if={DEVICE} of=/dev/null bs=4k count=2000 iflag=direct"
    s.sh(f"({read} >/tmp/dd 2>&1; echo $? >/tmp/code) & sleep 1")
    s.board.kill()
    start = time.monotonic()
    s.sh(
        "for i in $(seq 60); do [ ! -e /tmp/code ] || break; sleep 1; done; test -e /tmp/code", what="waiting for the reader to end"
    )
    s.figures["vanish_seconds"] = round(time.monotonic() - start, 1)
    check(s.sh("cat /tmp/code").strip() != "0", "reading went on without a board")
    check("error" in s.sh("cat /tmp/dd").lower(), f"the reader says: {s.sh('cat /tmp/dd').strip()}")
    s.keep("vanish.txt", s.sh("dmesg | tail -n 20"))
    s.end_guest()
    s.start_board()
    s.boot()
    s.sh(f"e2fsck -fp {DEVICE}; test $? -le 1")
    s.mounted()
    _compare(s)


def full(s: Suite) -> None:
    """Random writes to a half full file system, many times what the log takes: no write is refused, and every file is there."""
    s.guest.run("umount /mnt 2>/dev/null")
    s.sh(f"nvme format --force --ses=1 {DEVICE}", 900)
    check(_smart(s)["avail_spare"] == 100, "a drive just erased has not all of its spare superblocks")
    s.sh(f"mkfs.ext4 -F {DEVICE} 2>&1")
    s.mounted()
    s.sh("cp -r /share/files /mnt/ && sync")
    wear = f"fio --name=wear --filename=/mnt/wear --rw=randwrite --bs=4k --size={WEAR_BYTES} --fsync=32 --ioengine=psync"
    rows: list[dict[str, int]] = []
    for seed in range(WEAR_ROUNDS):
        code = s.guest.run(f"{wear} --randseed={seed} >/tmp/fio 2>&1", 900).code
        health = _smart(s)
        rows.append({"code": code, **{k: health[k] for k in ("critical_warning", "avail_spare")}})
    s.figures["full_rounds"] = rows
    s.keep("full.txt", s.sh("cat /tmp/fio; nvme smart-log /dev/nvme0; dmesg | tail -n 20"))
    good = {"code": 0, "critical_warning": 0, "avail_spare": 100}
    check(all(row == good for row in rows), f"a round of random writes failed, or the health log warns: {rows}")
    s.sh("echo 3 >/proc/sys/vm/drop_caches")
    _compare(s)
    s.sh("umount /mnt")
    s.sh(f"e2fsck -fn {DEVICE}")
    s.mounted()
    _compare(s)


@dataclass(frozen=True)
class FileSystem:
    """A file system of the guest's kernel: how it is made, and how it is looked through without being mended."""

    name: str
    make: str
    check: str
    full: int = 90
    """Per cent of its free space that a file fills."""


FILE_SYSTEMS = (
    FileSystem("ext4", "mkfs.ext4 -F -q", "e2fsck -fn"),
    FileSystem("xfs", "mkfs.xfs -f -q", "xfs_repair -n"),
    # It writes blocks anew before it frees the old ones. On a drive of less than 1 GiB its manual asks for --mixed: with
    # space of their own, metadata have none left when data have taken the rest. Each block of the file is an extent of
    # its own; what tells of them takes a tenth of the drive.
    FileSystem("btrfs", "mkfs.btrfs -f -q --mixed", "btrfs check --readonly", 80),
)

KILLS = 10
KILLS_BYTES = 100 << 20
"""How often the board is killed under synced writes, and what is written in all of that time."""

KILLS_PROFILE = "small-drive"
KILLS_SECONDS = 900.0
"""Longest time between two kills."""


def kills(f: FileSystem, s: Suite) -> None:
    """The board is killed under synced overwrites of a full file system: the drive comes back each time, with each synced block."""
    s.end_guest()
    board = board_of(s.board.KIND, f"{s.board.name}-kills")
    own = Suite(s.config, KILLS_PROFILE, board, s.quick)
    counter = s.share / f"synced-{f.name}"
    counter.unlink(missing_ok=True)
    rng = random.Random(f.name)
    each = KILLS_BYTES // BLOCK // KILLS
    rows: list[dict[str, Any]] = []
    s.figures[f"kills_{f.name}"] = rows
    try:
        own.start_board(format=True)
        own.boot()
        _load_modules(own, f)
        own.sh(f"{f.make} {DEVICE} 2>&1", 300)
        own.sh(f"mount -t {f.name} {DEVICE} /mnt")
        blocks = own.sh(f"fsynced fill /mnt/data {f.full}", KILLS_SECONDS)
        use = own.sh("df -P /mnt | tail -n 1").split()[4]
        for life in range(KILLS):
            target = each * (life + 1) - rng.randrange(each // 4) * (life + 1 < KILLS)
            write = f"fsynced write /mnt/data /share/{counter.name} 1 100000000"
            own.sh(f"({write} >/tmp/fsynced 2>&1; echo $? >/tmp/code) & sleep 0.1")
            _await_synced(own, counter, target)
            own.board.kill()
            own.end_guest()
            start = time.monotonic()
            own.start_board()
            own.boot()
            row: dict[str, Any] = {"synced": _synced(counter), "back_seconds": round(time.monotonic() - start, 1)}
            rows.append(row)
            _load_modules(own, f)
            # The journal is played back.
            own.sh(f"mount -t {f.name} {DEVICE} /mnt", KILLS_SECONDS)
            row["verify"] = own.sh(f"fsynced verify /mnt/data /share/{counter.name} 1", KILLS_SECONDS, what="verifying").strip()
            own.sh("umount /mnt")
            own.keep(f"kills-{f.name}.txt", own.sh(f"{f.check} {DEVICE} 2>&1", KILLS_SECONDS, what="the check of the file system"))
            own.sh(f"mount -t {f.name} {DEVICE} /mnt")
        s.figures[f"kills_{f.name}_filled"] = {"blocks": int(blocks), "use": use}
        check(_synced(counter) * BLOCK >= KILLS_BYTES, f"{_synced(counter)} blocks were synced, fewer than {KILLS_BYTES // BLOCK}")
    finally:
        own.end_guest()
        if board.pid() is not None:
            board.stop()
    # What failed can be looked at.
    board.erase()


def _load_modules(s: Suite, f: FileSystem) -> None:
    s.sh(f"[ ! -e /lib/modules/{f.name} ] || for m in $(cat /lib/modules/{f.name}); do insmod /lib/modules/$m || exit 1; done")


def _synced(counter: Path) -> int:
    return int.from_bytes(counter.read_bytes()[:8], "little") if counter.exists() else 0


def _await_synced(s: Suite, counter: Path, target: int) -> None:
    deadline = time.monotonic() + KILLS_SECONDS
    while _synced(counter) < target:
        check(s.guest.run("test -e /tmp/code").code != 0, f"the writer ended early: {s.guest.run('cat /tmp/fsynced').text}")
        check(time.monotonic() < deadline, f"{_synced(counter)} blocks synced after {KILLS_SECONDS:.0f} s, expected {target}")
        time.sleep(0.2)


def two_drives(s: Suite) -> None:
    """Two drives in one guest: both are there, under serial numbers of their own, and keep what each of them was given."""
    s.end_guest()
    if s.board.pid() is None:
        s.start_board()
    other = board_of(s.board.KIND, f"{s.board.name}-other")
    other.start(s.config, s.profile, format=True)
    try:
        s.boot(others=[other])
        s.sh("for i in $(seq 100); do [ -b /dev/nvme0n1 ] && [ -b /dev/nvme1n1 ] && break; sleep 0.2; done; ls /dev/nvme[01]n1")
        found = {s.sh(f"cat /sys/class/nvme/nvme{n}/address").strip(): n for n in (0, 1)}
        numbers = [found[PCI_ADDRESS], 1 - found[PCI_ADDRESS]]
        serials = [s.sh(f"cat /sys/class/nvme/nvme{n}/serial").strip() for n in numbers]
        wanted = [identity.serial(identity.of_image(Path(board.status()["image"]))) for board in (s.board, other)]
        check(serials == wanted and len(set(serials)) == 2, f"serial numbers {serials}, expected {wanted}")
        names = [s.sh(f"cat /sys/block/nvme{n}n1/wwid").strip() for n in numbers]
        check(len(set(names)) == 2, f"both namespaces are {names[0]}")
        s.keep("two-drives.txt", s.sh("dmesg | grep -i nvme"))
        refused = s.guest.run("dmesg | grep -i 'duplicate\\|rejecting'")
        check(refused.code != 0, f"the driver complains: {refused.text.strip()}")
        size = 64 * BLOCK
        data = [random.Random(n).randbytes(size) for n in (101, 102)]
        for n, own in zip(numbers, data, strict=True):
            (s.share / f"drive-{n}").write_bytes(own)
        copy_in = "dd if=/share/drive-{n} of=/dev/nvme{n}n1 bs=16k oflag=direct conv=notrunc 2>/dev/null"
        s.sh("{ " + " & ".join(copy_in.format(n=n) for n in (0, 1)) + " & wait; }")
        for n in (0, 1):
            s.sh(f"dd if=/dev/nvme{n}n1 of=/tmp/back bs=16k count={size >> 14} iflag=direct 2>/dev/null")
            s.sh(f"cmp /tmp/back /share/drive-{n}", what=f"reading drive {n} back")
    finally:
        s.end_guest()
        other.stop()
        other.erase()


STEPS: tuple[tuple[str, Step, bool], ...] = (
    ("boot", boot, True),
    ("probe", probe, True),
    ("identify", identify, True),
    ("smart", smart, True),
    ("error-log", error_log, True),
    ("effects", effects, True),
    ("lost-block", lost_block, True),
    ("self-test", self_test, True),
    ("sanitize", sanitize, True),
    ("fio-verify", fio_verify, True),
    ("sequential", sequential, True),
    ("queue-depths", queue_depths, True),
    ("idle", idle, True),
    ("reset", reset, True),
    ("intx", intx, False),
    ("polling", polling, False),
    ("vfio", vfio, False),
    ("programs", programs, True),
    ("mkfs", mkfs, True),
    ("copy", copy, True),
    ("offload", offload, True),
    ("offload-files", offload_files, True),
    ("python-file", python_file, False),
    ("fsck", fsck, True),
    ("reboot", reboot, True),
    ("warm-reboot", warm_reboot, False),
    ("power-cycle", power_cycle, False),
    ("guest-crash", guest_crash, False),
    ("vanish", vanish, False),
    ("full", full, False),
    ("two-drives", two_drives, True),
    *((f"kills-{f.name}", partial(kills, f), False) for f in FILE_SYSTEMS),
)
"""Name, function, and whether the quick list has it. Later steps use what earlier ones left."""


def run(
    config: str, profile: str, board: Board, quick: bool, steps: Sequence[str], tell: Callable[[str], None]
) -> tuple[list[Result], dict[str, Any]]:
    """
    Runs the list, or only `steps` of it, on `board`, which is formatted, and writes build/vm/result.json and figures.json.

    `tell` hears each step's name before and result after it. A step that fails does not keep the next from being tried.
    """
    vm_image.image(tell)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    suite = Suite(config, profile, board, quick)
    suite.share.mkdir()
    results: list[Result] = []
    chosen = [(n, f) for n, f, in_quick in STEPS if (n in steps if steps else in_quick or not quick)]
    try:
        for step, function in chosen:
            tell(step)
            start = time.monotonic()
            message = ""
            try:
                function(suite)
            except (StepError, GuestError, BoardError) as e:
                message = str(e)
            except Exception as e:
                # Tools that print something else than they used to; the list goes on.
                message = f"{type(e).__name__}: {e}"
            results.append(Result(step, not message, round(time.monotonic() - start, 1), message))
            tell(f"{step}: {message or 'passed'}")
            _write(results, suite.figures)
    finally:
        suite.end_guest()
        suite.board.stop()
    return results, suite.figures


def _write(results: list[Result], figures: dict[str, Any]) -> None:
    rows = [{k: v for k, v in asdict(r).items() if k != "message" or v} for r in results]
    (FOLDER / "result.json").write_text(json.dumps(rows, indent=2) + "\n")
    (FOLDER / "figures.json").write_text(json.dumps(figures, indent=2) + "\n")


def result_file() -> Path:
    """Where the results are."""
    return FOLDER / "result.json"
