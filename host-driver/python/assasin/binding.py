# SPDX-License-Identifier: BSD-3-Clause
"""libassasin through ctypes: the structures and functions of host-driver/include/assasin/assasin.h as they are there."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_bool,
    c_char,
    c_char_p,
    c_int,
    c_int8,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any, ClassVar

from assasin.tree import BUILD, ROOT

TickFn = ctypes.CFUNCTYPE(c_int, c_void_p)


class ErrorStruct(ctypes.Structure):
    """struct assasin_error."""

    _fields_: ClassVar = [("text", c_char * 384)]


class OptionsStruct(ctypes.Structure):
    """struct assasin_options."""

    _fields_: ClassVar = [
        ("queue_depth", c_uint32),
        ("memory_bytes", c_uint64),
        ("stall_ms", c_uint32),
        ("limit_ms", c_uint32),
        ("tick", TickFn),
        ("tick_arg", c_void_p),
    ]


class AccessStruct(ctypes.Structure):
    """struct assasin_access."""

    _fields_: ClassVar = [("lba", c_uint64), ("blocks", c_uint64), ("rights", c_uint32)]


class SessionStruct(ctypes.Structure):
    """struct assasin_session."""

    _fields_: ClassVar = [("number", c_uint16), ("secret", c_uint32 * 2)]


class InfoStruct(ctypes.Structure):
    """struct assasin_info."""

    _fields_: ClassVar = [
        ("model", c_char * 41),
        ("serial", c_char * 21),
        ("firmware", c_char * 9),
        ("block_bytes", c_uint32),
        ("blocks", c_uint64),
        ("transfer_bytes", c_uint32),
        ("queue_depth", c_uint32),
        ("cores", c_uint32),
        ("channels", c_uint32),
        ("ways", c_uint32),
    ]


class Command(ctypes.Structure):
    """A submission queue entry."""

    _fields_: ClassVar = [("dw", c_uint32 * 16)]

    @classmethod
    def of(cls, opcode: int, nsid: int = 0, prp1: int = 0, prp2: int = 0, **dwords: int) -> Command:
        """A command from opcode, namespace, PRPs and `dw10=`..`dw15=`."""
        c = cls()
        c.dw[0], c.dw[1] = opcode, nsid
        for i, prp in ((6, prp1), (8, prp2)):
            c.dw[i], c.dw[i + 1] = prp & 0xFFFFFFFF, prp >> 32
        for name, value in dwords.items():
            c.dw[int(name.removeprefix("dw"))] = value
        return c


class Completion(ctypes.Structure):
    """A completion: dw0, dw1, status (SCT << 8 | SC)."""

    _fields_: ClassVar = [("dw0", c_uint32), ("dw1", c_uint32), ("status", c_uint16), ("more", c_bool), ("no_retry", c_bool)]


class ExtentStruct(ctypes.Structure):
    """struct assasin_extent."""

    _fields_: ClassVar = [("lba", c_uint64), ("count", c_uint32)]


class InputStruct(ctypes.Structure):
    """struct assasin_input."""

    _fields_: ClassVar = [("first_extent", c_uint32), ("extent_count", c_uint32), ("bytes", c_uint64), ("data", c_void_p)]


class OutputStruct(ctypes.Structure):
    """struct assasin_output."""

    _fields_: ClassVar = [("first_extent", c_uint32), ("extent_count", c_uint32)]


class NodeStruct(ctypes.Structure):
    """struct assasin_node."""

    _fields_: ClassVar = [
        ("function", c_uint16),
        ("streams_in", c_uint8),
        ("streams_out", c_uint8),
        ("s_log2", c_int8),
        ("args_offset", c_uint32),
        ("args_bytes", c_uint32),
    ]


class EdgeStruct(ctypes.Structure):
    """struct assasin_edge."""

    _fields_: ClassVar = [("from_node", c_uint8), ("from_stream", c_uint8), ("to_node", c_uint8), ("to_stream", c_uint8)]


DoneFn = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Completion))
ProgressFn = ctypes.CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64)


class JobStruct(ctypes.Structure):
    """struct assasin_job."""

    _fields_: ClassVar = [
        ("function", c_uint16),
        ("streams_in", c_uint8),
        ("streams_out", c_uint8),
        ("s_log2", c_int8),
        ("channel_local", c_bool),
        ("pieces", c_uint32),
        ("inputs", POINTER(InputStruct)),
        ("outputs", POINTER(OutputStruct)),
        ("extents", POINTER(ExtentStruct)),
        ("extent_count", c_uint32),
        ("nodes", POINTER(NodeStruct)),
        ("node_count", c_uint8),
        ("edges", POINTER(EdgeStruct)),
        ("edge_count", c_uint8),
        ("args", c_void_p),
        ("args_bytes", c_uint32),
        ("max_cores", c_uint32),
        ("watchdog_kcycles", c_uint32),
        ("tick", TickFn),
        ("tick_arg", c_void_p),
    ]


class ReportStruct(ctypes.Structure):
    """struct assasin_report."""

    _fields_: ClassVar = [("core", c_uint32), ("node", c_uint32)] + [
        (n, c_uint64)
        for n in (
            "bytes_in",
            "bytes_out",
            "t_start",
            "t_end",
            "cycles",
            "instret",
            "wait_in",
            "wait_out",
            "t_first_page",
            "t_last_page",
            "pages",
            "wait_mem",
            "l1_misses",
            "l2_misses",
            "prefetches",
        )
    ]


class PieceStruct(ctypes.Structure):
    """struct assasin_piece."""

    _fields_: ClassVar = [
        ("status", c_uint16),
        ("cause", c_uint32),
        ("pc", c_uint32),
        ("tval", c_uint32),
        ("exit_code", c_uint32),
        ("stream", c_uint8),
        ("position", c_uint64),
        ("report", ReportStruct),
    ]


class LayoutStruct(ctypes.Structure):
    """struct assasin_layout."""

    _fields_: ClassVar = [
        ("device", c_char * 64),
        ("extents", POINTER(ExtentStruct)),
        ("extent_count", c_uint32),
        ("bytes", c_uint64),
        ("data", c_void_p),
        ("reason", c_char_p),
    ]


def _load_library() -> ctypes.CDLL:
    path = BUILD / "host" / "libassasin.so"
    if not path.exists():
        raise FileNotFoundError(f"{path.relative_to(ROOT)} is not there: run make -C host-driver")
    lib = ctypes.CDLL(str(path))
    d, p = c_void_p, c_void_p
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "assasin_open": (c_int, [c_char_p, POINTER(OptionsStruct), POINTER(d), POINTER(ErrorStruct)]),
        "assasin_close": (c_int, [d]),
        "assasin_abandon": (None, [d]),
        "assasin_last_error": (c_char_p, [d]),
        "assasin_last_status": (c_uint16, [d]),
        "assasin_get_info": (None, [d, POINTER(InfoStruct)]),
        "assasin_register_read": (c_int, [d, c_uint32, POINTER(c_uint32)]),
        "assasin_register_write": (c_int, [d, c_uint32, c_uint32]),
        "assasin_clock": (c_int, [d, POINTER(c_uint64)]),
        "assasin_dma_alloc": (c_void_p, [d, c_size_t]),
        "assasin_dma_free": (None, [d, p]),
        "assasin_dma_address": (c_uint64, [d, p]),
        "assasin_execute": (c_int, [d, ctypes.c_uint, POINTER(Command), p, c_size_t, POINTER(Completion)]),
        "assasin_submit": (c_int, [d, ctypes.c_uint, POINTER(Command), p, c_size_t, DoneFn, p]),
        "assasin_wait": (c_int, [d]),
        "assasin_poll": (c_int, [d]),
        "assasin_event_fd": (c_int, [d]),
        "assasin_raw_command": (c_int, [d, ctypes.c_uint, POINTER(Command), POINTER(Completion)]),
        "assasin_strerror": (c_char_p, [c_uint16]),
        "assasin_read": (c_int, [d, c_uint64, p, c_uint64, ProgressFn, p]),
        "assasin_write": (c_int, [d, c_uint64, p, c_uint64, ProgressFn, p]),
        "assasin_compare": (c_int, [d, c_uint64, p, c_uint64, ProgressFn, p]),
        "assasin_trim": (c_int, [d, POINTER(ExtentStruct), c_uint32]),
        "assasin_write_zeroes": (c_int, [d, c_uint64, c_uint64]),
        "assasin_flush": (c_int, [d]),
        "assasin_identify": (c_int, [d, c_uint8, c_uint32, p]),
        "assasin_log_page": (c_int, [d, c_uint8, p, c_uint32]),
        "assasin_nand_block": (c_int, [d, c_uint8, c_uint32, c_uint32, c_uint32, p]),
        "assasin_function_image": (c_size_t, [c_char_p, c_size_t, p]),
        "assasin_function_load": (c_int, [d, c_char_p, c_size_t]),
        "assasin_function_unload": (c_int, [d, c_uint16]),
        "assasin_access": (c_int, [d, c_uint16, POINTER(AccessStruct), c_uint32]),
        "assasin_get_session": (c_int, [d, POINTER(SessionStruct)]),
        "assasin_session_end": (c_int, [d, c_uint16]),
        "assasin_slots": (c_int, [d, POINTER(c_uint32), POINTER(c_uint32)]),
        "assasin_kernel_id": (c_uint32, [c_char_p, c_char_p]),
        "assasin_kernel_load": (c_int, [d, c_uint32, c_uint8, c_uint8]),
        "assasin_run": (c_int, [d, POINTER(JobStruct), POINTER(c_void_p)]),
        "assasin_run_start": (c_int, [d, POINTER(JobStruct), POINTER(c_void_p)]),
        "assasin_execution_ended": (c_bool, [p]),
        "assasin_execution_cancel": (None, [p]),
        "assasin_execution_finish": (c_int, [p, POINTER(c_uint32), POINTER(c_void_p)]),
        "assasin_result_failed": (c_uint32, [p]),
        "assasin_result_piece": (POINTER(PieceStruct), [p, c_uint32]),
        "assasin_result_node": (POINTER(PieceStruct), [p, c_uint32, c_uint8]),
        "assasin_core_arch": (c_int, [d, POINTER(c_uint32)]),
        "assasin_offload_variant": (c_char_p, [c_uint32]),
        "assasin_result_data": (c_void_p, [p, c_uint32, c_uint8, POINTER(c_size_t)]),
        "assasin_result_free": (None, [p]),
        "assasin_piece_strerror": (c_char_p, [POINTER(PieceStruct), POINTER(ErrorStruct)]),
        "assasin_file_hold": (c_int, [c_char_p, c_bool, POINTER(p), POINTER(ErrorStruct)]),
        "assasin_file_layout": (POINTER(LayoutStruct), [p]),
        "assasin_file_check": (c_int, [p, POINTER(ErrorStruct)]),
        "assasin_file_release": (None, [p]),
        "assasin_split": (
            c_int,
            [
                POINTER(ExtentStruct),
                c_uint32,
                c_uint64,
                c_uint32,
                c_uint32,
                c_uint32,
                POINTER(InputStruct),
                POINTER(ExtentStruct),
                POINTER(c_uint32),
            ],
        ),
        "assasin_split_text": (
            c_int,
            [
                POINTER(ExtentStruct),
                c_uint32,
                c_uint64,
                c_uint32,
                c_uint32,
                c_uint32,
                POINTER(InputStruct),
                POINTER(ExtentStruct),
                POINTER(c_uint32),
                POINTER(c_uint64),
            ],
        ),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


_lib: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """libassasin, loaded at first use."""
    global _lib
    if _lib is None:
        _lib = _load_library()
    return _lib
