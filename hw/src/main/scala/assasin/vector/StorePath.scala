// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Decoupled, Queue, UIntToOH, log2Ceil}

class StorePathIO(p: VectorParams) extends MemoryPathIO(p) {
  val store     = Decoupled(new VectorStoreRequest(p))
  val storeDone = Input(Bool())

  /** It reads registers, or would if memory took more: it does not wait for another instruction. */
  val wants = Output(Bool())
}

/** Stores: reads element groups and sends them, whole or one element after the other. */
class StorePath(p: VectorParams) extends Module {
  val io = IO(new StorePathIO(p))

  private val inFlight = 15
  private val v0Groups = ((BigInt(1) << p.egsPerRegister) - 1).U(p.egs.W)
  private val sequence = new MemorySequence(p, io, write = true)
  private val op       = sequence.op
  private val cursor   = sequence.cursor
  private val reads    = Reg(UInt(p.egs.W))

  private val sending = Module(new Queue(new VectorStoreRequest(p), 1, pipe = true))
  sending.reset := reset.asBool || io.clear

  // Stores sent and not done. A clear does not undo them.
  private val sent = RegInit(0.U(log2Ceil(inFlight + 1).W))
  private val room = sent < (inFlight - 1).U

  io.older.eg := cursor.eg
  private val hazard = io.older.writes || (op.readsMask && io.older.writesV0)
  private val goes   = sequence.atAccess && !hazard && io.ordered && sending.io.enq.ready && room && !io.clear

  io.wants := io.reading || (sequence.atAccess && !hazard && io.ordered)

  private val words = Seq.tabulate(p.dLen / p.eLen)(i => io.read.data(p.eLen * (i + 1) - 1, p.eLen * i))
  sending.io.enq.valid     := goes && sequence.needed && sequence.allowed
  sending.io.enq.bits.addr := sequence.addr
  sending.io.enq.bits.data := Cat((Mux(op.elementwise, io.read.element, words.head) +: words.tail).reverse)
  sending.io.enq.bits.mask := Mux(op.elementwise, ((1.U << cursor.size) - 1.U)(7, 0), cursor.mask)
  io.store <> sending.io.deq

  sequence.drive(goes, sending.io.enq.fire)
  when(io.op.fire) {
    reads := VecInit(Seq.tabulate(p.egs)(eg => io.registers.reads(eg / p.egsPerRegister))).asUInt
  }.elsewhen(sequence.step) {
    // v0 is read to the end.
    when(cursor.lastOfGroup) {
      reads := (reads & ~UIntToOH(cursor.eg, p.egs)) | Mux(op.readsMask, v0Groups, 0.U)
    }
  }
  io.activity.beat   := sequence.step
  io.activity.hazard := sequence.atAccess && hazard
  io.activity.strip  := false.B
  io.activity.memory := sequence.atAccess

  io.use.valid       := sequence.valid
  io.use.bits.tag    := op.tag
  io.use.bits.reads  := reads
  io.use.bits.writes := 0.U
  io.end.valid       := sequence.ends
  io.end.bits        := op.tag

  sent := sent + io.store.fire - io.storeDone

  sequence.ranges(sending.io.deq.valid || sent =/= 0.U)
}
