// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Decoupled, Valid}

class StreamReadersIO(p: VectorParams) extends Bundle {

  /** Which of them looks from now on until `done`: at elements with widths, with codes; or loads a table. */
  val scans   = Input(Bool())
  val decodes = Input(Bool())
  val loads   = Input(Bool())

  /** Elements to look at, and the stream's first; the table to load, and where it lies. */
  val request = Input(new StreamScanRequest(p))
  val table   = Input(new HuffmanBuild)
  val address = Input(UInt(p.xLen.W))

  /** What was found. Of a table only whether it is good, or cannot be read. */
  val done   = Output(Bool())
  val result = Output(new StreamScanResult(p))

  /** A stream buffer's pointers, in the same cycle: those of the widths with `aux`. */
  val aux   = Output(Bool())
  val tail  = Input(UInt(32.W))
  val end   = Input(UInt(32.W))
  val known = Input(Bool())

  /** Waits for delivery to this stream buffer. */
  val lacks = Output(Valid(UInt(4.W)))

  val check = new VectorCheckIO(p)

  /** Streams in memory, tables; streams in stream buffers, when nobody else reads. */
  val load       = Decoupled(new VectorLoadRequest(p))
  val loadAnswer = Input(Valid(UInt(p.memoryBits.W)))
  val read       = Output(Valid(new StreamReadRequest))
  val granted    = Input(Bool())
  val readAnswer = Input(UInt(p.memoryBits.W))

  /** An answer of memory is awaited. */
  val loading = Output(Bool())

  val codes = new HuffmanReadersIO(p)

  val clear = Input(Bool())
}

/** What Huffman streams need besides. */
class HuffmanReadersIO(p: VectorParams) extends Bundle {
  val tables = Flipped(new HuffmanTablesIO)

  /** The set of the stream that is decoded; codes that are looked up. */
  val set  = Input(Bool())
  val look = Flipped(new HuffmanLookIO)

  /** Elements of an unpack as they are decoded, and the bank for them. */
  val element = Output(Valid(new SymbolWrite(p)))
  val bank    = Input(Bool())
}

/** Those that read in the commit stage (docs/varve/unit.md 5.5), one of them at a time: StreamScan the widths of
  * elements, HuffmanScan codes, HuffmanLoad a table. Memory answers one of them at a time, also if the answer is for an
  * instruction that was cancelled.
  */
class StreamReaders(p: VectorParams) extends Module {
  require(p.pup, "StreamReaders is of VarVE-pup")
  val io = IO(new StreamReadersIO(p))

  private val scan = Module(new StreamScan(p))
  scan.io.active     := io.scans
  scan.io.request    := io.request
  scan.io.tail       := io.tail
  scan.io.end        := io.end
  scan.io.known      := io.known
  scan.io.granted    := io.granted
  scan.io.readAnswer := io.readAnswer
  scan.io.clear      := io.clear
  scan.io.load <> io.load
  scan.io.loadAnswer  := io.loadAnswer
  scan.io.check.ok    := io.check.ok
  scan.io.check.hold  := io.check.hold
  scan.io.check.cause := io.check.cause

  io.done        := io.scans && scan.io.done
  io.result      := scan.io.result
  io.aux         := io.scans && scan.io.aux
  io.lacks.valid := io.scans && scan.io.lacks.valid
  io.lacks.bits  := Mux(io.scans, scan.io.lacks.bits, io.request.stream)
  io.check.valid := io.scans && scan.io.check.valid
  io.check.write := false.B
  io.check.first := scan.io.check.first
  io.check.last  := scan.io.check.last
  io.read        := scan.io.read
  io.loading     := scan.io.loading

  private val decoder = Module(new HuffmanScan(p))
  private val loader  = Module(new HuffmanLoad(p))
  private val tables  = io.codes.tables
  decoder.io.active     := io.decodes
  decoder.io.request    := io.request
  decoder.io.tail       := io.tail
  decoder.io.end        := io.end
  decoder.io.known      := io.known
  decoder.io.granted    := io.granted
  decoder.io.readAnswer := io.readAnswer
  decoder.io.clear      := io.clear
  decoder.io.length     := tables.length
  decoder.io.longest    := tables.longest
  decoder.io.symbol     := tables.symbol
  decoder.io.bank       := io.codes.bank
  io.codes.element      := decoder.io.element

  loader.io.active    := io.loads
  loader.io.address   := io.address
  loader.io.request   := io.table
  loader.io.built     := tables.idle
  loader.io.builtGood := tables.good
  loader.io.clear     := io.clear

  tables.fill  := loader.io.fill
  tables.build := loader.io.build
  tables.set   := io.codes.set
  tables.bits  := decoder.io.bits
  // Nothing is built for an instruction that was cancelled.
  tables.clear := io.clear || !io.loads
  tables.look <> io.codes.look

  for (check <- Seq(decoder.io.check, loader.io.check)) {
    check.ok    := io.check.ok
    check.hold  := io.check.hold
    check.cause := io.check.cause
  }
  when(io.decodes) {
    io.done        := decoder.io.done
    io.result      := decoder.io.result
    io.lacks.valid := decoder.io.lacks.valid
    io.check.valid := decoder.io.check.valid
    io.check.first := decoder.io.check.first
    io.check.last  := decoder.io.check.last
  }
  when(io.loads) {
    io.done            := loader.io.done
    io.result.passed   := 0.U
    io.result.position := io.request.position
    io.result.ended    := false.B
    io.result.broken   := !loader.io.good
    io.result.reason   := 4.U
    io.result.fault    := loader.io.fault
    io.result.cause    := loader.io.cause
    io.result.byte     := loader.io.byte
    io.check.valid     := loader.io.check.valid
    io.check.first     := loader.io.check.first
    io.check.last      := loader.io.check.last
  }
  when(decoder.io.read.valid)(io.read := decoder.io.read)

  private val loads  = Seq(scan.io.load, decoder.io.load, loader.io.load)
  private val busy   = Seq(scan.io.loading, decoder.io.loading, loader.io.loading)
  private val others = busy.indices.map(i => busy.zipWithIndex.filter(_._2 != i).map(_._1).reduce(_ || _))
  io.load.valid := loads.zip(others).map { case (load, other) => load.valid && !other }.reduce(_ || _)
  io.load.bits  := Mux(loads(0).valid, loads(0).bits, Mux(loads(1).valid, loads(1).bits, loads(2).bits))
  for ((load, other)  <- loads.zip(others)) load.ready := io.load.ready && !other
  for ((answer, mine) <- Seq(scan.io.loadAnswer, decoder.io.loadAnswer, loader.io.loadAnswer).zip(busy)) {
    answer.valid := io.loadAnswer.valid && mine
    answer.bits  := io.loadAnswer.bits
  }
  io.loading := busy.reduce(_ || _)
}
