# SPDX-License-Identifier: BSD-3-Clause
"""The agent's requests on a fake board: programming, registers, console, configuration files, bad clients."""

from __future__ import annotations

import hashlib
import json
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from assasin.agent import Agent, AgentError
from assasin.agent.client import parse_address
from assasin.bringup.link import open_link
from fakes import CONFIG, SYNC, Chip, FpgaManager, Overlay, Start, Tree, bitstream


def raw(address: tuple[str, int]) -> socket.socket:
    """A connection past the greeting."""
    s = socket.create_connection(address, 10)
    assert json.loads(s.makefile("rb", 0).readline()) == {"agent": "assasin", "protocol": 1, "board": "zcu106"}
    return s


def ask(s: socket.socket, line: bytes) -> dict[str, object]:
    s.sendall(line)
    return json.loads(s.makefile("rb", 0).readline())


def test_status(agent: Agent, tree: Tree) -> None:
    status = agent.status()
    assert (status.board, status.fpga, status.window) == ("zcu106", "operating", "uio")
    tree.state("write error")
    assert agent.status().fpga == "write error"
    (tree.root / "sys/class/fpga_manager/fpga0/state").unlink()
    assert "CONFIG_FPGA" in agent.status().fpga


def test_programs_by_the_firmware_attribute(agent: Agent, tree: Tree) -> None:
    kernel = FpgaManager(tree)
    data = bitstream(100_000)
    seconds = agent.program(data)
    assert kernel.taken == data
    assert kernel.flags.read_text() == "0\n"
    assert 0.05 <= seconds < 5
    assert [p.name for p in (tree.root / "lib/firmware").iterdir()] == [".assasin.lock"]
    assert agent.status().fpga == "operating"


def test_programs_by_an_overlay(start: Start, tree: Tree, configfs: Path) -> None:
    overlays = tree.root / "sys/kernel/config/device-tree/overlays"
    overlays.mkdir(parents=True)
    tree.state("unknown")
    with Agent(*start(preload=configfs)) as agent:
        for _ in range(2):
            kernel = Overlay(tree, overlays / "assasin")
            agent.program(bitstream())
            kernel.join(5)
            assert kernel.named == "assasin.dtbo"
            assert kernel.taken == bitstream()
        tree.state("unknown")
        Overlay(tree, overlays / "assasin", "write complete error")
        with pytest.raises(AgentError, match="'write complete error'"):
            agent.program(bitstream())


def test_refuses_what_the_kernel_cannot_take(agent: Agent, tree: Tree) -> None:
    with pytest.raises(AgentError, match=r"neither .*firmware nor .*CONFIG_OF_OVERLAY"):
        agent.program(bitstream())
    straight = bitstream().replace(SYNC, SYNC[::-1])
    with pytest.raises(AgentError, match="bytes of each word have to be reversed"):
        agent.program(straight)
    with pytest.raises(AgentError, match="no sync word in the first 1024 bytes"):
        agent.program(bytes(4096))
    with pytest.raises(AgentError, match="3 bytes: give a multiple of 4"):
        agent.program(b"abc")
    FpgaManager(tree, "write error")
    with pytest.raises(AgentError, match="state is 'write error'; see dmesg"):
        agent.program(bitstream())
    assert agent.status().fpga == "write error"


def test_refuses_what_did_not_arrive_as_announced(start: Start, tree: Tree) -> None:
    data = bitstream()
    with raw(start()) as s:
        ready = ask(s, f"program {len(data)} {hashlib.sha256(data).hexdigest()}\n".encode())
        assert ready == {"ready": True}
        # In pieces, the last with the next request behind it.
        s.sendall(data[:5])
        time.sleep(0.05)
        answer = ask(s, data[5:-1] + bytes([data[-1] ^ 1]) + b"status\n")
        assert "announced was" in str(answer["error"])
        assert json.loads(s.makefile("rb", 0).readline())["fpga"] == "operating"
        for line in (
            b"program\n",
            b"program 8\n",
            b"program 8 zz\n",
            b"program 8 " + b"a" * 65 + b"\n",
            b"program 8 " + b"A" * 64 + b"\n",
        ):
            assert "error" in ask(s, line)
    assert not (tree.root / "lib/firmware/assasin.bin").exists()


def test_a_client_that_goes_during_an_upload_leaves_nothing(start: Start, tree: Tree) -> None:
    address = start()
    with raw(address) as s:
        assert ask(s, b"program 4096 " + b"0" * 64 + b"\n") == {"ready": True}
        s.sendall(bytes(100))
    kernel = FpgaManager(tree)
    with Agent(*address) as again:
        again.program(bitstream())
    assert kernel.taken is not None
    assert not (tree.root / "lib/firmware/assasin.bin.new").exists()


def test_registers_through_uio(agent: Agent, tree: Tree) -> None:
    with pytest.raises(AgentError, match="no UIO device 'assasin'"):
        agent.access([(0x8000, None)])
    registers = tree.uio()
    assert agent.access([(0x8008, 0xDEADBEEF), (0x8008, None), (0x800C, 7), (0x800C, None)]) == [0xDEADBEEF, 7]
    assert registers.read_bytes()[0x8008:0x8010] == bytes.fromhex("efbeadde07000000")
    assert len(agent.access([(0x8008, None)] * 2000)) == 2000
    for offset in (2, 0x10000, 0xFFFFFFFC):
        with pytest.raises(AgentError, match="multiples of 4 below 0x10000"):
            agent.access([(offset, None)])


def test_registers_through_dev_mem(start: Start, tree: Tree) -> None:
    memory = tree.put("dev/mem", bytes(0x1000) + (0x41535331).to_bytes(4, "little") + bytes(0x10000))
    with Agent(*start(CONFIG.replace("uio assasin", "mem 0x1000"))) as agent:
        assert agent.access([(0, None), (4, 5)]) == [0x41535331]
    assert memory.read_bytes()[0x1004] == 5


def test_no_access_to_a_fabric_that_is_not_configured(agent: Agent, tree: Tree) -> None:
    """It would hang the processor's bus."""
    tree.uio()
    tree.state("power off")
    for request in (lambda: agent.access([(0x8000, None)]), agent.reset, agent.console):
        with pytest.raises(AgentError, match=r"not configured \(state 'power off'\)"):
            request()


def test_reset_pulses_the_register(start: Start, tree: Tree, tmp_path: Path) -> None:
    chip = Chip(tmp_path / "bars")
    with Agent(*start(CONFIG.replace("uio assasin", f"proxy {tmp_path / 'bars'}"))) as agent:
        agent.reset()
        assert chip.resets == [1, 0]
        agent.reset(hold=True)
        assert chip.resets == [1, 0, 1]


def test_console_both_ways(start: Start, tmp_path: Path) -> None:
    chip = Chip(tmp_path / "bars")
    chip.said.extend(b"boot\n" * 200)
    chip.full_for = 5
    with Agent(*start(CONFIG.replace("uio assasin", f"proxy {tmp_path / 'bars'}"))) as agent:
        s = agent.console()
        s.settimeout(10)
        heard = b""
        while len(heard) < 1000:
            heard += s.recv(4096)
        assert heard == b"boot\n" * 200
        s.sendall(b"help\n")
        heard = b""
        while len(heard) < 5:
            heard += s.recv(4096)
        assert heard == b"HELP\n"


def test_the_debugger_goes_through_the_agent(start: Start, tmp_path: Path) -> None:
    Chip(tmp_path / "bars")
    host, port = start(CONFIG.replace("uio assasin", f"proxy {tmp_path / 'bars'}"))
    with open_link(f"agent:{host}:{port}") as link:
        assert link.read(0x8000) == 0x41535331
        assert link.access([(0x8000, None), (0x8004, 1), (0x8014, None)]) == [0x41535331, 0xFFFFFFFF]


def test_requests_that_are_none(start: Start) -> None:
    with raw(start()) as s:
        for line, part in (
            (b"frobnicate\n", "there are status, sensors"),
            (b"\n", "is unknown"),
            (b"reset now\n", "reset hold"),
            (b"status please\r\n", "is unknown"),
            (b'"\\\x01\xff\n', "is unknown"),
            (b"p 1 2\n", "is unknown"),
        ):
            assert part in str(ask(s, line)["error"])
        assert ask(s, b"status\r\n")["board"] == "zcu106"
        assert ask(s, b"x" * 20000)["error"] == "a line has at most 16383 bytes"
        assert s.recv(1) == b""


def test_accesses_that_are_none(agent: Agent, tree: Tree) -> None:
    tree.uio()
    for words in ("x0", "r", "r0=1", "w0", "w0=", "r00000000000", "w0=1x"):
        with pytest.raises(AgentError, match="write rOFFSET or wOFFSET=VALUE"):
            agent._request(f"access {words}")


def test_many_clients_and_no_more_than_that(start: Start) -> None:
    address = start()
    clients = [Agent(*address) for _ in range(16)]
    with pytest.raises(AgentError, match="all connections are taken"):
        Agent(*address)
    for c in clients:
        assert c.status().board == "zcu106"
        c.close()
    deadline = time.monotonic() + 5
    while True:
        try:
            Agent(*address).close()
            return
        except AgentError:
            assert time.monotonic() < deadline
            time.sleep(0.02)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("board", "agent.conf:2: 'board'"),
        ("sensor a b ina226 3", "sensor a b ina226 3"),
        ("sensor a b lm75", "ina226|ams|pmbus PAGES"),
        ("sensor a b pmbus", "ina226|ams|pmbus PAGES"),
        ("sensor a b pmbus 0", "ina226|ams|pmbus PAGES"),
        ("sensor a b pmbus 33", "1 to 32"),
        ('sensor "a b', "sensor"),
        ("sensor " + "x" * 60 + " b ina226", "names below 48 characters"),
        ("window mem 0x43c00001", "mem ADDRESS"),
        ("window telescope", "window none"),
        ("volume 11", "board NAME"),
        ("sensor a b ina226\n" * 65, "at most 64 sensors"),
    ],
)
def test_configuration_files_that_are_wrong(binary: Path, tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "agent.conf"
    file.write_text(f"board b\n{line}\n")
    run = subprocess.run([binary, "--config", file, "--port", "0"], capture_output=True, text=True, timeout=10, check=False)
    assert run.returncode == 1
    assert message in run.stderr and run.stdout == ""


def test_options_that_are_wrong(binary: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.conf"
    empty.write_text("# nothing\n")
    for options, code, message in (
        (["--config", empty], 1, "no line 'board NAME'"),
        (["--config", tmp_path / "none"], 1, "No such file"),
        (["--port", "70000"], 1, "not a TCP port"),
        (["--frob"], 2, "usage:"),
        (["word"], 2, "usage:"),
    ):
        run = subprocess.run([binary, *options], capture_output=True, text=True, timeout=10, check=False)
        assert run.returncode == code and message in run.stderr
    empty.write_text("board b\n")
    run = subprocess.run(
        [binary, "--config", empty, "--listen", "everywhere"], capture_output=True, text=True, timeout=10, check=False
    )
    assert run.returncode == 1 and "not an IPv4 address" in run.stderr


def test_the_client_knows_what_is_no_agent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def serve(line: bytes) -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(line)

        for line, message in (
            (b"SSH-2.0-OpenSSH\r\n", "no JSON"),
            (b'{"agent": "assasin", "protocol": 2}\n', "not an agent of protocol 1"),
            (b"[]\n", "is this an assasin-agent"),
            (b"", "closed the connection"),
        ):
            threading.Thread(target=serve, args=(line,), daemon=True).start()
            with pytest.raises(AgentError, match=message):
                Agent("127.0.0.1", port)
    with pytest.raises(AgentError, match=r"no agent answers .*ssh -L"):
        Agent("127.0.0.1", port)


def test_addresses() -> None:
    assert parse_address("zcu106.lab") == ("zcu106.lab", 7090)
    assert parse_address("10.0.0.2:80") == ("10.0.0.2", 80)
    assert parse_address("[fe80::1]:80") == ("fe80::1", 80)
    for text in ("", "a:b", "a:99999", "fe80::1", "a b"):
        with pytest.raises(AgentError, match="not HOST or HOST:PORT"):
            parse_address(text)
