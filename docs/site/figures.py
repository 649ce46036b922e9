# SPDX-License-Identifier: BSD-3-Clause
"""The figures of docs/architecture.md and README.md: the chip's blocks, and the lives of a read, a streamed page and an offload."""

from __future__ import annotations

from drawing import Drawing, sequence

HOST, FIRMWARE, DATA, CORE, NAND = "#e8eef8", "#fde9d0", "#e6f3e6", "#dff0f7", "#eee6f5"


def blocks() -> str:
    """The chip between the host and the flash."""
    d = Drawing(980, 500, "Blocks of the drive: host, chip, DRAM and flash packages")
    d.labelled(16, 120, 130, 120, "Host\nprogram\nlibassasin, or the\nkernel's NVMe driver", HOST)
    d.box(196, 16, 600, 376, "#fafafc", "#99a")
    d.text(496, 36, "chip (hw/)", 13, bold=True)
    d.labelled(216, 120, 130, 70, "NVMe front end\nregisters, queues,\nhost DMA", HOST)
    d.labelled(400, 56, 190, 64, "Firmware processor\nRV32IM, firmware in 384 KiB", FIRMWARE)
    d.labelled(216, 246, 150, 60, "DRAM ports\nreader, writer, arbiter", DATA)
    d.labelled(400, 216, 190, 120, "Crossbar\npackets of up to 64 bytes,\nround robin for each\ndestination", DATA)
    for i in range(3):
        d.labelled(
            634 + 6 * i,
            56 + 6 * i,
            140,
            98,
            "ASSASIN cores\n0 to 7: RV32IM and\nstream instructions,\nstream buffers" if i == 2 else "",
            CORE,
        )
    for i in range(3):
        d.labelled(634 + 6 * i, 226 + 6 * i, 140, 98, "Flash channels\n0 to 7: ways, bus,\npage codec" if i == 2 else "", NAND)
    d.labelled(846, 226, 118, 110, "NAND\nup to 16 packages\n(ways) a channel", NAND)
    d.labelled(216, 424, 150, 56, "DRAM\nmap, buffers, results", DATA)
    d.line([(146, 155), (216, 155)], arrow="both")
    d.text(171, 146, "PCIe", 12)
    d.line([(146, 215), (176, 215), (176, 270), (216, 270)], arrow="both")
    d.text(168, 290, "data\n(XDMA)", 12)
    d.line([(346, 140), (376, 140), (376, 88), (400, 88)], arrow="both")
    d.text(370, 104, "commands", 11, "end")
    d.line([(590, 88), (634, 88)], arrow="both")
    d.text(612, 80, "control", 11)
    d.line([(590, 108), (606, 108), (606, 250), (634, 250)])
    d.text(602, 196, "descriptors", 11, "end")
    d.line([(366, 276), (400, 276)], arrow="both")
    d.line([(590, 286), (634, 286)], arrow="both")
    d.line([(520, 216), (520, 146), (634, 146)], arrow="both")
    d.text(516, 180, "pages, output", 11, "end")
    d.line([(786, 282), (846, 282)], arrow="both")
    d.text(816, 274, "flash bus", 11)
    d.line([(291, 306), (291, 424)], arrow="both")
    d.line([(416, 120), (416, 204), (340, 204), (340, 246)], dash=True)
    d.text(410, 198, "loads, stores", 11, "end")
    d.text(
        586,
        360,
        "The crossbar brings pages from every channel to every core,\nand the cores' output to DRAM or to another core.",
        11.5,
    )
    return d.svg()


def read() -> str:
    """A read of one block by the host."""
    actors = [
        ("Host", HOST),
        ("NVMe front end", HOST),
        ("Firmware", FIRMWARE),
        ("Flash channel", NAND),
        ("NAND package", NAND),
        ("DRAM", DATA),
    ]
    return sequence("Life of a read", actors, [
        (0, 1, "writes a Read into the queue,\nrings the doorbell"),
        (1, 0, "fetches the entry by DMA"),
        (1, 2, "raises an event; the entry waits\nin its registers"),
        (2, 5, "looks up the sector's place in the map\n(through the read cache)"),
        (2, 3, "pushes a READ descriptor to the way"),
        (3, 4, "read command and address; the array\nreads the page (tR)"),
        (4, 3, "data out of one sector"),
        (3, 3, "corrects bit errors, takes the scrambler\noff, compares the CRC"),
        (3, 5, "packets over the crossbar\ninto a page buffer"),
        (3, 2, "completion, by an event"),
        (2, 1, "pushes the card-to-host transfer,\nthen the completion"),
        (5, 0, "the block's bytes, by DMA"),
        (1, 0, "posts the completion behind them, and the interrupt"),
    ], 172)  # fmt: skip


def stream() -> str:
    """A page that a function reads."""
    actors = [("Firmware", FIRMWARE), ("Flash channel", NAND), ("NAND package", NAND), ("Crossbar", DATA), ("Stream buffer", CORE), ("ASSASIN core", CORE), ("DRAM", DATA)]  # noqa: E501  # fmt: skip
    return sequence("Life of a streamed page", actors, [
        (0, 1, "READ for core, stream and position"),
        (1, 2, "read command and address; the array\nreads the page (tR)"),
        (4, 1, "shows for which page it has room"),
        (2, 1, "with room: data out of the sector"),
        (1, 1, "corrects bit errors, takes the scrambler\noff, compares the CRC"),
        (1, 3, "64-byte packets"),
        (3, 4, "to position modulo ring;\nthe last packet carries the mark"),
        (4, 4, "Tail (ITAIL) advances over whole pages"),
        (1, 0, "completion of the READ, by an event"),
        (4, 5, "StreamLoad takes the next bytes; waits while there are none"),
        (5, 4, "Head (IHEAD) advances: room for a later page"),
        (5, 4, "StreamStore appends to the output ring"),
        (0, 4, "pushes a drain of the output"),
        (4, 6, "over the crossbar, as a chunk for the host"),
        (0, 4, "at the stream's end: writes where it ends (IEND)"),
    ], 158)  # fmt: skip


def offload() -> str:
    """A function that the host runs."""
    actors = [
        ("Host library", HOST),
        ("NVMe front end", HOST),
        ("Firmware", FIRMWARE),
        ("DRAM", DATA),
        ("ASSASIN cores", CORE),
        ("Flash channels", NAND),
    ]
    return sequence("Life of an offload", actors, [
        (0, 2, "IO_SESSION_OPEN with a secret: a session"),
        (0, 2, "ADMIN_FUNC_LOAD: the ELF file, which the drive keeps in DRAM"),
        (0, 2, "IO_EXEC: arguments, pieces, streams, extents"),
        (2, 2, "checks the request, a slice at a time"),
        (3, 4, "for each piece: program, data, arguments and task\nare copied into a free core"),
        (2, 4, "RUN: the core begins at _start, then compute()"),
        (2, 5, "READs for the core's streams, ahead of what it has consumed"),
        (5, 4, "pages (figure: life of a streamed page)"),
        (4, 3, "drains: chunks of output"),
        (0, 2, "IO_READ: asks for whole chunks, again and again"),
        (3, 0, "chunks, by DMA; the library puts each piece's output together"),
        (4, 2, "end of the input: SEPILOGUE; ECALL ends the core with compute's result"),
        (2, 4, "the next piece, while there are some"),
        (2, 0, "IO_EXEC completes: number of pieces that failed, reports in chunks"),
    ], 172)  # fmt: skip


FIGURES = {"blocks": blocks, "read": read, "stream": stream, "offload": offload}
"""By the name of their file in docs/figures."""
