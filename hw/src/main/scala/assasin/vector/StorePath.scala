// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Decoupled, Queue, UIntToOH, log2Ceil}

class StorePathIO(p: VectorParams) extends MemoryPathIO(p) {
  val read      = new RegisterReadIO(p)
  val store     = Decoupled(new VectorStoreRequest(p))
  val storeDone = Input(Bool())
}

/** Stores: reads element groups and sends them, whole or one element after the other. */
class StorePath(p: VectorParams) extends Module {
  val io = IO(new StorePathIO(p))

  private val inFlight = 15
  private val v0Groups = ((BigInt(1) << p.egsPerRegister) - 1).U(p.egs.W)
  private val valid    = RegInit(false.B)
  private val op       = Reg(new VectorOp(p))
  private val count    = Reg(UInt(p.vlBits.W))
  private val addr     = Reg(UInt(p.xLen.W))
  private val reads    = Reg(UInt(p.egs.W))
  private val cursor   = new ElementCursor(p, op, count, io.v0)

  private val sending = Module(new Queue(new VectorStoreRequest(p), 1, pipe = true))
  sending.reset := reset.asBool || io.clear

  // Stores sent and not done. A clear does not undo them.
  private val sent = RegInit(0.U(log2Ceil(inFlight + 1).W))
  private val room = sent < (inFlight - 1).U

  private val hazard     = io.olderWrites(cursor.eg) || (op.readsMask && (io.olderWrites & v0Groups) =/= 0.U)
  private val goes       = valid && !hazard && io.ordered && sending.io.enq.ready && room && !io.clear
  private val needed     = cursor.mask =/= 0.U
  private val misaligned = (addr & (cursor.size - 1.U)) =/= 0.U
  private val allowed    = !op.careful || (!misaligned && io.check.ok)
  private val fault      = goes && needed && op.careful && (misaligned || (!io.check.ok && !io.check.hold))

  io.check.valid := valid && op.careful && needed
  io.check.write := true.B
  io.check.first := addr
  io.check.last  := addr + (cursor.size - 1.U)

  io.read.eg               := cursor.eg
  sending.io.enq.valid     := goes && needed && allowed
  sending.io.enq.bits.addr := addr
  sending.io.enq.bits.data := Mux(op.elementwise, io.read.data >> (cursor.byte ## 0.U(3.W)), io.read.data)
  sending.io.enq.bits.mask := Mux(op.elementwise, ((1.U << cursor.size) - 1.U)(7, 0), cursor.mask)
  io.store <> sending.io.deq

  private val step = sending.io.enq.fire || (goes && !needed) || fault
  private val ends = step && (cursor.last || fault)
  io.op.ready := !valid || ends
  when(io.op.fire) {
    op    := io.op.bits
    count := 0.U
    addr  := io.op.bits.scalar
    reads := VecInit(Seq.tabulate(p.egs)(eg => io.op.bits.readRegisters(eg / p.egsPerRegister))).asUInt
  }.elsewhen(step) {
    count := count + 1.U
    addr  := addr + cursor.step
    // v0 is read to the end.
    when(cursor.lastOfGroup) {
      reads := (reads & ~UIntToOH(cursor.eg, p.egs)) | Mux(op.readsMask, v0Groups, 0.U)
    }
  }
  valid              := !io.clear && (io.op.fire || (valid && !ends))
  io.use.valid       := valid
  io.use.bits.tag    := op.tag
  io.use.bits.reads  := reads
  io.use.bits.writes := 0.U
  io.end.valid       := ends
  io.end.bits        := op.tag

  sent := sent + io.store.fire - io.storeDone

  // Ranges.
  private val under   = sending.io.deq.valid || sent =/= 0.U
  private val pending = Reg(new AccessRange(p))
  when(step) {
    pending.tag   := op.tag
    pending.first := Mux(under && pending.first < op.first, pending.first, op.first)
    pending.last  := Mux(under && pending.last > op.last, pending.last, op.last)
  }
  io.pending.valid    := under
  io.pending.bits     := pending
  io.range.valid      := valid
  io.range.bits.tag   := op.tag
  io.range.bits.first := op.first
  io.range.bits.last  := op.last

  // A careful access is alone, so it has ended when nothing is left.
  private val careful = RegInit(false.B)
  private val end     = Reg(new CarefulEnd(p))
  io.carefulEnd.valid := careful && !valid && !under
  io.carefulEnd.bits  := end
  careful             := !io.clear && ((io.op.fire && io.op.bits.careful) || (careful && !io.carefulEnd.valid))
  when(step) {
    end.fault   := fault
    end.cause   := Mux(misaligned, 6.U, io.check.cause)
    end.addr    := addr
    end.element := count(p.vstartBits - 1, 0)
  }

  io.busy := valid || under || careful
}
