# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that run while their caller does something else: their handles, and how asyncio waits for them."""

from __future__ import annotations

import errno
from ctypes import byref, c_uint32, c_void_p
from typing import TYPE_CHECKING

from assasin import later
from assasin.job import DriveError, Job, Piece, pack

if TYPE_CHECKING:
    import asyncio

    from assasin.drive import Drive
else:
    asyncio = later.module("asyncio")


class Execution:
    """
    A job that has begun (Drive.start()). It goes on whenever the drive is used: Drive.poll(), or any call that waits for the drive.
    Its end has to be taken with result(), or it ends with Drive.close().
    """

    def __init__(self, drive: Drive, job: Job) -> None:
        """Begins the job. Raises DriveError when the library refuses the request, ValueError for a job with a tick."""
        if job.tick is not None:
            raise ValueError("a job that is started has no tick: look at it between two calls of Drive.poll()")
        self._drive = drive
        self._streams_out = job.streams_out
        # The library uses what the job points to until its end.
        self._packed, self._alive = pack(job)
        self._open: c_void_p | None = None
        handle = c_void_p()
        drive._check(drive._call(drive._lib.assasin_run_start, drive._handle, byref(self._packed), byref(handle)))
        self._open = handle
        drive._executions.add(self)

    @property
    def ended(self) -> bool:
        """The job has ended, or the drive is gone, or result() was called: result() does not wait."""
        return self._open is None or bool(self._drive._lib.assasin_execution_ended(self._open))

    def cancel(self) -> None:
        """Has the job aborted, without waiting for it; result() then raises DriveError (ECANCELED), unless it had ended."""
        if self._open is not None:
            self._drive._lib.assasin_execution_cancel(self._open)

    def result(self) -> list[Piece]:
        """
        The job's pieces, as of Drive.run_job(); waits until it has ended. Once only. Raises DriveError as Drive.run_job() does, and
        with ECANCELED after cancel().
        """
        if self._open is None:
            raise DriveError(errno.EBADF, "the job's result was taken before, or its drive is closed")
        drive, handle = self._drive, self._open
        failed, result = c_uint32(), c_void_p()
        rc = drive._call(drive._lib.assasin_execution_finish, handle, byref(failed), byref(result))
        self.forget()
        drive._check(rc)
        return drive._pieces(result, self._packed.pieces, self._streams_out, self._packed.node_count)

    def forget(self) -> None:
        """Lets go of what the job used: its handle is gone."""
        self._open = None
        self._drive._executions.discard(self)


class Waiters:
    """Futures of an event loop for jobs of a drive that have not ended."""

    def __init__(self, drive: Drive) -> None:
        self._drive = drive
        self._futures: dict[Execution, asyncio.Future[list[Piece]]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._fd = -1

    def wait(self, execution: Execution) -> asyncio.Future[list[Piece]]:
        """What becomes the result of the job. A future that is cancelled cancels the job. Raises RuntimeError in another loop."""
        loop = asyncio.get_running_loop()
        if not self._futures:
            self._fd = self._drive.event_fd()
            self._loop = loop
            loop.add_reader(self._fd, self._look)
        elif loop is not self._loop:
            raise RuntimeError("jobs of this drive are awaited in another event loop: open the drive once more for this one")
        future: asyncio.Future[list[Piece]] = loop.create_future()
        future.add_done_callback(lambda done: execution.cancel() if done.cancelled() else None)
        self._futures[execution] = future
        return future

    def close(self) -> None:
        """The drive is closed: who still waits is told so."""
        gone = DriveError(errno.EBADF, "the drive was closed while the job ran")
        for execution in list(self._futures):
            self._end(execution, gone)

    def _look(self) -> None:
        try:
            self._drive.poll()
        except DriveError as error:
            for execution in list(self._futures):
                execution.forget()
                self._end(execution, error)
            return
        for execution in [e for e in self._futures if e.ended]:
            try:
                outcome: list[Piece] | DriveError = execution.result()
            except DriveError as error:
                outcome = error
            self._end(execution, outcome)

    def _end(self, execution: Execution, outcome: list[Piece] | DriveError) -> None:
        future = self._futures.pop(execution)
        if not future.done():
            if isinstance(outcome, DriveError):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)
        if not self._futures and self._loop is not None:
            self._loop.remove_reader(self._fd)
            self._loop = None
