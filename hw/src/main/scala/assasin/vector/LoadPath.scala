// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Decoupled, Fill, MuxLookup, Queue, UIntToOH, Valid, log2Ceil}

class LoadPathIO(p: VectorParams) extends MemoryPathIO(p) {
  val load       = Decoupled(new VectorLoadRequest(p))
  val loadAnswer = Input(Valid(UInt(p.dLen.W)))

  val write    = Decoupled(new RegisterWrite(p))
  val writeTag = Output(UInt(p.tagBits.W))

  /** Element groups that are asked for and not written. */
  val landing = Output(UInt(p.egs.W))

  /** The same without what is written in this cycle, as one that reads with write-through in the next has to see it. */
  val lasting = Output(UInt(p.egs.W))
}

/** Loads: asks for element groups, or for elements one after the other, and writes the answers into the registers. */
class LoadPath(p: VectorParams) extends Module {
  val io = IO(new LoadPathIO(p))

  private val depth = 4

  /** What becomes of an answer; or, with `silent`, of an element or group that is not loaded. */
  private class Ticket extends Bundle {
    val tag         = UInt(p.tagBits.W)
    val eg          = UInt(p.egBits.W)
    val mask        = UInt(p.dBytes.W)
    val elementwise = Bool()
    val eew         = UInt(2.W)
    val silent      = Bool()
    val last        = Bool()
    val lastOfGroup = Bool()
    val fault       = Bool()
  }

  private val v0Groups = ((BigInt(1) << p.egsPerRegister) - 1).U(p.egs.W)
  private val sequence = new MemorySequence(p, io, write = false)
  private val op       = sequence.op
  private val cursor   = sequence.cursor
  private val writes   = Reg(UInt(p.egs.W))
  private val touched  = Reg(Bool())
  private val landing  = RegInit(0.U(p.egs.W))

  private val tickets = Module(new Queue(new Ticket, depth))
  private val answers = Module(new Queue(UInt(p.dLen.W), depth, flow = true))
  tickets.reset := reset.asBool || io.clear
  answers.reset := reset.asBool || io.clear

  // Answers to what was asked before a clear are dropped; nothing is asked until they have come.
  private val asked = RegInit(0.U(log2Ceil(depth + 1).W))
  private val drop  = RegInit(0.U(log2Ceil(depth + 1).W))

  // A segment has elements in several element groups: its instruction begins when none of them is landing.
  io.older.eg := cursor.eg
  private val meets = Mux(op.nf =/= 0.U, sequence.atFirst && landing =/= 0.U, landing(cursor.eg) && !touched)
  private val hazard = io.older.writes || io.older.reads || meets ||
    (op.readsMask && (io.older.writesV0 || (landing & v0Groups) =/= 0.U))
  private val goes =
    sequence.atAccess && !hazard && io.ordered && tickets.io.enq.ready && drop === 0.U && !io.clear

  // A group's last bytes may lie behind the range that was checked.
  private val groupBytes = op.last - sequence.addr
  io.load.valid     := goes && sequence.needed && sequence.allowed
  io.load.bits.addr := sequence.addr
  io.load.bits.bytes := Mux(
    op.elementwise,
    cursor.size,
    Mux(groupBytes >= (p.dBytes - 1).U, p.dBytes.U, groupBytes(log2Ceil(p.dBytes), 0) + 1.U)
  )
  private val step = sequence.step
  sequence.drive(goes, io.load.fire)

  tickets.io.enq.valid            := step
  tickets.io.enq.bits.tag         := op.tag
  tickets.io.enq.bits.eg          := cursor.eg
  tickets.io.enq.bits.mask        := cursor.mask
  tickets.io.enq.bits.elementwise := op.elementwise
  tickets.io.enq.bits.eew         := op.eew
  tickets.io.enq.bits.silent      := !io.load.valid
  tickets.io.enq.bits.last        := sequence.ends
  tickets.io.enq.bits.lastOfGroup := cursor.lastOfGroup
  tickets.io.enq.bits.fault       := sequence.fault

  when(io.op.fire) {
    writes  := VecInit(Seq.tabulate(p.egs)(eg => io.registers.writes(eg / p.egsPerRegister))).asUInt
    touched := false.B
  }.elsewhen(step) {
    touched                         := !cursor.lastOfGroup
    when(cursor.lastOfGroup)(writes := writes & ~UIntToOH(cursor.eg, p.egs))
  }
  io.use.valid       := sequence.valid
  io.use.bits.tag    := op.tag
  io.use.bits.reads  := Mux(op.readsMask, v0Groups, 0.U)
  io.use.bits.writes := writes

  io.activity.beat   := step
  io.activity.hazard := sequence.atAccess && hazard
  io.activity.strip  := false.B
  io.activity.memory := sequence.atAccess

  // Answers.
  private val ticket   = tickets.io.deq
  private val answered = io.loadAnswer.valid && drop === 0.U
  answers.io.enq.valid := answered
  answers.io.enq.bits  := io.loadAnswer.bits
  io.write.valid       := ticket.valid && (ticket.bits.silent || answers.io.deq.valid)
  io.write.bits.eg     := ticket.bits.eg
  io.write.bits.mask   := Mux(ticket.bits.silent, 0.U, ticket.bits.mask)
  private val data = answers.io.deq.bits
  io.write.bits.data := Mux(
    ticket.bits.elementwise,
    MuxLookup(ticket.bits.eew, data)(
      (0 to log2Ceil(p.eLen / 8)).map(log => log.U -> Fill(p.dLen >> (3 + log), data((8 << log) - 1, 0)))
    ),
    data
  )
  io.writeTag          := ticket.bits.tag
  ticket.ready         := io.write.fire
  answers.io.deq.ready := io.write.fire && !ticket.bits.silent
  io.end.valid         := io.write.fire && ticket.bits.last
  io.end.bits          := ticket.bits.tag

  // Behind a fault nothing is asked for, and groups of other fields may not have come to their ends.
  private val lands   = Mux(ticket.bits.lastOfGroup, UIntToOH(ticket.bits.eg, p.egs), 0.U)
  private val arrives = Mux(io.write.fire, lands | Fill(p.egs, ticket.bits.fault), 0.U)
  private val departs = Mux(step, UIntToOH(cursor.eg, p.egs), 0.U)
  landing    := Mux(io.clear, 0.U, (landing & ~arrives) | departs)
  io.landing := landing
  io.lasting := landing & ~arrives

  asked := asked + io.load.fire - io.loadAnswer.valid
  drop := Mux(
    io.clear,
    asked - io.loadAnswer.valid,
    drop - (io.loadAnswer.valid && drop =/= 0.U)
  )

  sequence.ranges(ticket.valid)
}
