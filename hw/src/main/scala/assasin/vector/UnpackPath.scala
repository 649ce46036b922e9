// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Decoupled, Queue, UIntToOH, Valid, log2Ceil}

class UnpackPathIO(p: VectorParams) extends PathIO(p) {

  /** Streams in memory. */
  val load       = Decoupled(new VectorLoadRequest(p))
  val loadAnswer = Input(Valid(UInt(p.memoryBits.W)))

  /** Streams in stream buffers. */
  val read       = Output(Valid(new StreamReadRequest))
  val readAnswer = Input(UInt(p.memoryBits.W))
  val consume    = Output(Valid(new StreamConsume))

  val write    = Decoupled(new RegisterWrite(p))
  val writeTag = Output(UInt(p.tagBits.W))

  /** Element groups that are asked for and not written. */
  val landing = Output(UInt(p.egs.W))

  /** An instruction has read all of its bytes of this stream. */
  val done = Output(Valid(UInt(4.W)))
}

/** Unpacks elements of input streams into registers, an element group a cycle (docs/varve/unit.md 5.1): S asks for the
  * bytes, the answer waits in a queue, and is spread over the lanes and written in the two cycles behind it. An
  * instruction without elements only gives bytes back.
  */
class UnpackPath(p: VectorParams) extends Module {
  val io = IO(new UnpackPathIO(p))

  private val depth    = 4
  private val posBits  = p.xLen + 3
  private val logD     = log2Ceil(p.dBytes)
  private val sizeBits = log2Ceil(p.dBytes) + 1

  /** What becomes of an answer; `silent`: there is none. */
  private class Ticket extends Bundle {
    val tag    = UInt(p.tagBits.W)
    val eg     = UInt(p.egBits.W)
    val mask   = UInt(p.dBytes.W)
    val eew    = UInt(2.W)
    val use    = new StreamUse(p)
    val silent = Bool()
    val last   = Bool()
    val head   = UInt(32.W)
  }

  // ---- S --------------------------------------------------------------------------------------------------------------------
  private val valid    = RegInit(false.B)
  private val op       = Reg(new VectorOp(p))
  private val beat     = Reg(UInt(p.beatBits.W))
  private val position = Reg(UInt(posBits.W))
  private val writes   = Reg(UInt(p.egs.W))
  private val landing  = RegInit(0.U(p.egs.W))
  private val use      = op.use.get

  private val tickets = Module(new Queue(new Ticket, depth))
  private val answers = Module(new Queue(UInt(p.memoryBits.W), depth))
  tickets.reset := reset.asBool || io.clear
  answers.reset := reset.asBool || io.clear

  // Answers to what was asked before a clear are dropped; nothing is asked until they have come.
  private val asked = RegInit(0.U(log2Ceil(depth + 1).W))
  private val drop  = RegInit(0.U(log2Ceil(depth + 1).W))

  // Memory answers later than stream buffers: what is under way is of one kind, so that answers come in order.
  private val kind    = Reg(Bool())
  private val oneKind = !tickets.io.deq.valid || kind === use.buffer

  private val silent = op.evl === 0.U
  private val eg     = (op.vd * p.egsPerRegister.U + beat)(p.egBits - 1, 0)
  private val last   = silent || beat === ((op.evl << op.eew)(p.vlBits, 0) - 1.U) >> logD
  private val hazard = !silent && (io.olderWrites(eg) || io.olderReads(eg) || landing(eg))
  private val goes =
    valid && !hazard && tickets.io.enq.ready && (silent || (oneKind && drop === 0.U)) && !io.clear
  private val addr = (position >> 3)(p.xLen - 1, 0)
  // The last bytes of a full request may lie behind the range that was checked.
  private val rest = op.last - addr
  io.load.valid       := goes && !silent && !use.buffer
  io.load.bits.addr   := addr
  io.load.bits.bytes  := Mux(rest >= (p.memoryBytes - 1).U, p.memoryBytes.U, rest(sizeBits - 1, 0) + 1.U)
  io.read.valid       := goes && !silent && use.buffer
  io.read.bits.stream := use.stream(2, 0)
  io.read.bits.pos    := addr(31, 0)
  private val step = goes && (silent || use.buffer || io.load.ready)

  tickets.io.enq.valid       := step
  tickets.io.enq.bits.tag    := op.tag
  tickets.io.enq.bits.eg     := eg
  tickets.io.enq.bits.mask   := Mux(silent, 0.U, ElementBytes.body(p, op.eew, beat, 0.U, op.evl))
  tickets.io.enq.bits.eew    := op.eew
  tickets.io.enq.bits.use    := use
  tickets.io.enq.bits.silent := silent
  tickets.io.enq.bits.last   := last
  tickets.io.enq.bits.head   := op.first(31, 0)
  // Where a beat begins in its first byte; the rest of `use` is the instruction's.
  tickets.io.enq.bits.use.bitpos := position(2, 0)

  private val ends = step && last
  io.op.ready := !valid || ends
  when(io.op.fire) {
    op       := io.op.bits
    beat     := 0.U
    position := io.op.bits.scalar ## io.op.bits.use.get.bitpos
    writes   := VecInit(Seq.tabulate(p.egs)(eg => io.op.bits.writeRegisters(eg / p.egsPerRegister))).asUInt
  }.elsewhen(step) {
    beat     := beat + 1.U
    position := position + (use.valueBits << (logD.U - op.eew))
    writes   := writes & ~UIntToOH(eg, p.egs)
  }
  when(step)(kind := use.buffer)
  valid           := !io.clear && (io.op.fire || (valid && !ends))

  io.use.valid       := valid
  io.use.bits.tag    := op.tag
  io.use.bits.reads  := 0.U
  io.use.bits.writes := writes

  // ---- Answers --------------------------------------------------------------------------------------------------------------
  private val fromMemory = io.loadAnswer.valid && drop === 0.U
  private val fromBuffer = RegNext(io.read.valid, false.B)
  answers.io.enq.valid := fromMemory || fromBuffer
  answers.io.enq.bits  := Mux(fromMemory, io.loadAnswer.bits, io.readAnswer)

  asked := asked + io.load.fire - io.loadAnswer.valid
  drop := Mux(
    io.clear,
    asked - io.loadAnswer.valid,
    drop - (io.loadAnswer.valid && drop =/= 0.U)
  )

  // ---- Lanes, then W --------------------------------------------------------------------------------------------------------
  private val outValid = RegInit(false.B)
  private val out      = Reg(new RegisterWrite(p))
  private val outTag   = Reg(UInt(p.tagBits.W))
  private val outLast  = Reg(Bool())
  private val outLands = Reg(Bool())
  private val ticket   = tickets.io.deq
  private val extract  = Module(new ByteExtract(p))
  extract.io.window    := answers.io.deq.bits
  extract.io.bitpos    := ticket.bits.use.bitpos
  extract.io.valueBits := ticket.bits.use.valueBits
  extract.io.unsigned  := ticket.bits.use.unsigned
  extract.io.eew       := ticket.bits.eew

  ticket.ready         := (!outValid || io.write.ready) && (ticket.bits.silent || answers.io.deq.valid)
  answers.io.deq.ready := ticket.fire && !ticket.bits.silent
  when(ticket.fire) {
    out.eg   := ticket.bits.eg
    out.mask := ticket.bits.mask
    out.data := extract.io.out
    outTag   := ticket.bits.tag
    outLast  := ticket.bits.last
    outLands := !ticket.bits.silent
  }
  outValid := !io.clear && (ticket.fire || (outValid && !io.write.ready))

  // All bytes have been read: they are given back.
  io.done.valid          := ticket.fire && ticket.bits.last && !io.clear
  io.done.bits           := ticket.bits.use.stream
  io.consume.valid       := io.done.valid && ticket.bits.use.buffer
  io.consume.bits.stream := ticket.bits.use.stream(2, 0)
  io.consume.bits.head   := ticket.bits.head

  io.write.valid := outValid
  io.write.bits  := out
  io.writeTag    := outTag
  io.end.valid   := io.write.fire && outLast
  io.end.bits    := outTag

  private val departs = Mux(step && !silent, UIntToOH(eg, p.egs), 0.U)
  private val arrives = Mux(io.write.fire && outLands, UIntToOH(out.eg, p.egs), 0.U)
  landing    := Mux(io.clear, 0.U, (landing & ~arrives) | departs)
  io.landing := landing

  io.busy := valid || ticket.valid || outValid
}
