// SPDX-License-Identifier: BSD-3-Clause
package assasin.cache

import chisel3._
import chisel3.util.{Decoupled, DecoupledIO, Queue, Valid, log2Ceil}

import assasin.bus.{Axi4, Axi4IO, Axi4Params}

/** A burst to DRAM inside one line. */
class LineWrite(lineBits: Int) extends Bundle {
  val line = UInt(lineBits.W)

  /** First beat, and beats - 1. */
  val first = UInt(3.W)
  val len   = UInt(3.W)

  /** Valid bytes of the last beat, 1..8. */
  val lastBytes = UInt(4.W)

  /** Which of the data ports it takes its beats from. */
  val source = UInt(1.W)

  /** The write completes a page: its slot. */
  val mark = Bool()
  val slot = UInt(7.W)
}

/** Ports of [[LineDram]]. */
class LineDramIO(lineBits: Int, axi: Axi4Params) extends Bundle {

  /** Address of the region, a multiple of its size. */
  val base  = Input(UInt(32.W))
  val read  = Flipped(Decoupled(UInt(lineBits.W)))
  val beat  = Valid(UInt(64.W))
  val write = Flipped(Decoupled(new LineWrite(lineBits)))

  /** Data of the writes, in their order for each source. */
  val data = Vec(2, Flipped(Decoupled(UInt(64.W))))

  /** The slot of a marked write that has been answered. */
  val marked = Valid(UInt(7.W))

  /** A write to line `probe` is under way: a read of it must wait. Same cycle. */
  val probe   = Input(UInt(lineBits.W))
  val writing = Output(Bool())

  val dram = new Axi4IO(axi)

  /** Nothing is under way; no write is. */
  val idle       = Output(Bool())
  val writesIdle = Output(Bool())
}

/** Reads and writes lines of a region of DRAM. Reads come back in order, eight beats each, and are always taken.
  *
  * @param reads
  *   reads under way at most
  * @param writes
  *   writes under way at most
  */
class LineDram(lineBits: Int, reads: Int, writes: Int, axi: Axi4Params = Axi4Params()) extends Module {
  val io = IO(new LineDramIO(lineBits, axi))

  private def address(line: UInt, first: UInt): UInt =
    io.base(31, lineBits + 6) ## line ## first ## 0.U(3.W)

  // ---- Reads ----------------------------------------------------------------------------------------------------------------
  private val asked    = Module(new Queue(UInt(lineBits.W), 2))
  private val reading  = RegInit(0.U(log2Ceil(reads + 1).W))
  private val lineDone = io.dram.r.fire && io.dram.r.bits.last
  private val ar       = io.dram.ar
  io.read.ready      := asked.io.enq.ready && reading =/= reads.U
  asked.io.enq.valid := io.read.fire
  asked.io.enq.bits  := io.read.bits
  ar.valid           := asked.io.deq.valid
  asked.io.deq.ready := ar.ready
  ar.bits.id         := 0.U
  ar.bits.addr       := address(asked.io.deq.bits, 0.U(3.W))
  ar.bits.len        := 7.U
  ar.bits.size       := Axi4.Size8
  ar.bits.burst      := Axi4.Incr
  io.dram.r.ready    := true.B
  io.beat.valid      := io.dram.r.valid
  io.beat.bits       := io.dram.r.bits.data
  when(io.read.fire =/= lineDone) { reading := Mux(lineDone, reading - 1.U, reading + 1.U) }

  // ---- Writes: a ring of what is under way ------------------------------------------------------------------------------------
  private val ringBits = log2Ceil(writes)
  require((1 << ringBits) == writes, s"writes = $writes: choose a power of two")
  private val ring    = Reg(Vec(writes, new LineWrite(lineBits)))
  private val pending = RegInit(VecInit.fill(writes)(false.B))
  private val newest  = RegInit(0.U(ringBits.W))
  private val toSend  = RegInit(0.U(ringBits.W))
  private val oldest  = RegInit(0.U(ringBits.W))
  private val unsent  = RegInit(0.U((ringBits + 1).W))

  io.write.ready := !pending(newest)
  when(io.write.fire) {
    ring(newest)    := io.write.bits
    pending(newest) := true.B
    newest          := newest + 1.U
  }
  io.writing := ring.zip(pending).map { case (w, p) => p && w.line === io.probe }.reduce(_ || _)

  private val current    = ring(toSend)
  private val addrSent   = RegInit(false.B)
  private val beat       = RegInit(0.U(3.W))
  private val aw         = io.dram.aw
  private val w          = io.dram.w
  private val last       = beat === current.len
  private val b          = io.dram.b
  private val fromSecond = current.source.asBool
  aw.valid      := unsent =/= 0.U && !addrSent
  aw.bits.id    := 0.U
  aw.bits.addr  := address(current.line, current.first)
  aw.bits.len   := current.len
  aw.bits.size  := Axi4.Size8
  aw.bits.burst := Axi4.Incr
  w.valid       := addrSent && Mux(fromSecond, io.data(1).valid, io.data(0).valid)
  w.bits.data   := Mux(fromSecond, io.data(1).bits, io.data(0).bits)
  w.bits.last   := last
  w.bits.strb   := Mux(last, ((1.U(9.W) << current.lastBytes) - 1.U)(7, 0), 0xff.U)
  io.data.zipWithIndex.foreach { case (d: DecoupledIO[UInt], i) =>
    d.ready := addrSent && current.source === i.U && w.ready
  }
  private val sent = w.fire && last
  when(aw.fire) { addrSent := true.B }
  when(w.fire) { beat := beat + 1.U }
  when(sent) {
    addrSent := false.B
    beat     := 0.U
    toSend   := toSend + 1.U
  }
  when(io.write.fire =/= sent) { unsent := Mux(sent, unsent - 1.U, unsent + 1.U) }

  b.ready         := true.B
  io.marked.valid := b.valid && ring(oldest).mark
  io.marked.bits  := ring(oldest).slot
  when(b.valid) {
    pending(oldest) := false.B
    oldest          := oldest + 1.U
  }

  io.writesIdle := !pending(oldest)
  io.idle       := io.writesIdle && reading === 0.U
}
