// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{MuxLookup, log2Ceil}

/** The sequencer of a memory path: its instruction, and where it stands in it: at an element group, or at an element of
  * a field. Of an indexed access each element takes one cycle more, in which its index is read.
  *
  * A memory path makes one and drives its `older`, `ordered` and so on into `goes`.
  *
  * @param io
  *   the path's ports. This class drives those of the operation, of the range, of the check and of the careful end
  * @param write
  *   it stores
  */
class MemorySequence(p: VectorParams, io: MemoryPathIO, write: Boolean) {
  val valid: Bool      = RegInit(false.B)
  val op: VectorOp     = Reg(new VectorOp(p))
  val addr: UInt       = Reg(UInt(p.xLen.W))
  private val count    = Reg(UInt(p.vlBits.W))
  private val field    = Reg(UInt(3.W))
  private val indexing = Reg(Bool())
  val cursor           = new ElementCursor(p, op, count, field, io.v0)

  /** It stands at the instruction's first element group or element. */
  val atFirst: Bool = count === 0.U && field === 0.U

  /** It stands at an access, whose bytes are not all masked off, and which may be made. */
  val atAccess: Bool     = valid && !indexing
  val needed: Bool       = cursor.mask =/= 0.U
  private val misaligned = (addr & (cursor.size - 1.U)) =/= 0.U
  val allowed: Bool      = !op.careful || (!misaligned && io.check.ok)

  /** Happens in this cycle: the access or the step over bytes that are masked off; a fault instead; the end. */
  val step: Bool  = Wire(Bool())
  val fault: Bool = Wire(Bool())
  val ends: Bool  = step && (cursor.last || fault)

  io.check.valid := atAccess && op.careful && needed
  io.check.write := write.B
  io.check.first := addr
  io.check.last  := addr + (cursor.size - 1.U)

  // The index of the next element. `count` is that element already.
  private val logD     = log2Ceil(p.dBytes)
  private val position = (count << op.indexEew)(p.vlBits - 1, 0)
  private val index = MuxLookup(op.indexEew, io.read.element)(
    (0 until log2Ceil(p.eLen / 8)).map(log => log.U -> io.read.element((8 << log) - 1, 0))
  )
  io.reading   := valid && op.indexed
  io.read.eg   := Mux(indexing, (op.vs2 * p.egsPerRegister.U + (position >> logD))(p.egBits - 1, 0), cursor.eg)
  io.read.byte := Mux(indexing, position(logD - 1, 0), cursor.byte)

  io.op.ready := !valid || ends
  when(io.op.fire) {
    op       := io.op.bits
    count    := 0.U
    field    := 0.U
    addr     := io.op.bits.scalar
    indexing := io.op.bits.indexed
  }.elsewhen(indexing) {
    addr     := op.scalar + index
    indexing := false.B
  }.elsewhen(step) {
    count    := count + cursor.lastField
    field    := Mux(cursor.lastField, 0.U, field + 1.U)
    addr     := addr + cursor.step
    indexing := op.indexed && cursor.lastField
  }
  valid := !io.clear && (io.op.fire || (valid && !ends))

  /** What the path does in this cycle: it may step (`goes`); it sends an access (`sent`, only with `goes`). */
  def drive(goes: Bool, sent: Bool): Unit = {
    fault := goes && needed && op.careful && (misaligned || (!io.check.ok && !io.check.hold))
    step  := sent || (goes && !needed) || fault
  }

  /** The ranges for the other path; the first byte of one that is not careful is at the base address. `under`: accesses
    * have left the sequencer and are not done.
    */
  def ranges(under: Bool): Unit = {
    val pending = Reg(new AccessRange(p))
    when(step) {
      pending.tag   := op.tag
      pending.first := Mux(under && pending.first < op.scalar, pending.first, op.scalar)
      pending.last  := Mux(under && pending.last > op.last, pending.last, op.last)
    }
    io.pending.valid    := under
    io.pending.bits     := pending
    io.range.valid      := valid
    io.range.bits.tag   := op.tag
    io.range.bits.first := op.scalar
    io.range.bits.last  := op.last

    // A careful access is alone, so it has ended when nothing is left.
    val careful = RegInit(false.B)
    val end     = Reg(new CarefulEnd(p))
    io.carefulEnd.valid := careful && !valid && !under
    io.carefulEnd.bits  := end
    careful             := !io.clear && ((io.op.fire && io.op.bits.careful) || (careful && !io.carefulEnd.valid))
    when(step) {
      end.fault   := fault
      end.cause   := Mux(misaligned, (if (write) 6 else 4).U, io.check.cause)
      end.addr    := addr
      end.element := count(p.vstartBits - 1, 0)
    }
    io.busy := valid || under || careful
  }
}
