# SPDX-License-Identifier: BSD-3-Clause
"""
Ctrl-C and SIGTERM. The first one raises Interrupted in the main thread, also when that waits in C; the second ends the process at
once.

Nothing but the standard library is imported here: the `assasin` command installs this before its other imports.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)

NOTICE_SECONDS = 0.8
"""The main thread has so long to run Python code after the first signal."""

SAME_SECONDS = 0.3
"""Signals that come so soon after the first are the same: a terminal signals the whole group, and a parent passes its own on."""


class Interrupted(KeyboardInterrupt):
    """A signal asks the process to end."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


class _State:
    """Of this process."""

    starting = True
    arrived = False
    noticed = threading.Event()
    at_signal: list[Callable[[], None]]


_state = _State()
_state.at_signal = []


def exit_code(e: BaseException) -> int:
    """128 and the signal's number, as shells have it."""
    return 128 + (e.signum if isinstance(e, Interrupted) else signal.SIGINT)


def arrived() -> bool:
    """Whether the process has been asked to end."""
    return _state.arrived


def noticed() -> None:
    """For handlers of one's own: the signal is not lost."""
    _state.noticed.set()


def at_signal(call: Callable[[], None]) -> None:
    """Has `call` called when the process is asked to end, before anything is cleaned up."""
    _state.at_signal.append(call)


def _end_at_once(signum: int) -> None:
    # A live display may have hidden the cursor.
    show_cursor = b"\x1b[?25h\n" if os.isatty(2) else b""
    os.write(2, show_cursor + b"assasin: interrupted\n")
    os._exit(128 + signum)


def _handle(signum: int, _frame: FrameType | None) -> None:
    _state.noticed.set()
    if _state.starting:
        _end_at_once(signum)
    if _state.arrived:
        return
    _state.arrived = True
    for call in _state.at_signal:
        call()
    raise Interrupted(signum)


def _watch(signals: int) -> None:
    """Ends the process when the main thread does not notice the first signal, or at the second."""
    first = None
    while number := os.read(signals, 1):
        if number[0] not in SIGNALS:
            continue
        if first is None:
            first = time.monotonic()
            if not _state.noticed.wait(NOTICE_SECONDS):
                _end_at_once(number[0])
        elif time.monotonic() - first > SAME_SECONDS:
            _end_at_once(number[0])


def _leave() -> None:
    """The process ends by itself. What Python does last would give the signals back to the system, and so change the exit code."""
    for signum in SIGNALS:
        signal.signal(signum, signal.SIG_IGN)


def install() -> None:
    """
    Takes over the signals of this process, those of SIGNALS that it does not ignore. Until ready() is called they end it at once.
    """
    for signum in SIGNALS:
        if signal.getsignal(signum) is not signal.SIG_IGN:
            signal.signal(signum, _handle)
    # Registered before all others, so that it runs after them.
    atexit.register(_leave)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader,), name="signals", daemon=True).start()
    # scripts/bin/assasin blocks them, so that Python cannot be interrupted before this line.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def ready() -> None:
    """From here on a signal raises Interrupted."""
    _state.starting = False


class Held:
    """
    In a `with` block signals are only noted (`arrived`); their handlers are called at its end. Around a call into C that calls
    Python back: what a handler raises in a callback cannot be caught there. `note` is added to what the handler raises.
    """

    def __init__(self) -> None:
        self.arrived: list[int] = []
        self.note: str | None = None
        self._handlers: dict[int, Any] = {}

    def _record(self, signum: int, _frame: FrameType | None) -> None:
        _state.noticed.set()
        self.arrived.append(signum)

    def __enter__(self) -> Held:
        if threading.current_thread() is threading.main_thread():
            try:
                for signum in SIGNALS:
                    handler = signal.getsignal(signum)
                    if callable(handler):
                        self._handlers[signum] = handler
                        signal.signal(signum, self._record)
            except BaseException:
                self._restore()
                raise
        return self

    def _restore(self) -> None:
        for signum, handler in self._handlers.items():
            signal.signal(signum, handler)

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._restore()
        finally:
            self._restore()
        for signum in self.arrived[:1]:
            try:
                self._handlers[signum](signum, None)
            except BaseException as e:
                if self.note:
                    e.add_note(self.note)
                raise
