// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.log2Ceil

/** Where a memory path stands in its instruction, as values made of the instruction and a counter.
  *
  * @param count
  *   the element, or with whole element groups the number of the group
  * @param field
  *   the field of a segment
  */
class ElementCursor(p: VectorParams, op: VectorOp, count: UInt, field: UInt, v0: UInt) {
  private val logD = log2Ceil(p.dBytes)

  /** Position of its first byte in the register group, and the element group in it. */
  private val position = Mux(op.elementwise, count << op.eew, count << logD)(p.vlBits - 1, 0)
  private val beat     = (position >> logD).asUInt
  val byte: UInt       = position(logD - 1, 0)
  private val register = (op.vd + (field << op.groups))(4, 0)
  val eg: UInt         = (register * p.egsPerRegister.U + beat)(p.egBits - 1, 0)

  /** Bytes of one element. */
  val size: UInt = (1.U << op.eew)(3, 0)

  /** The bytes of the element group that are to be accessed. */
  private val active = ElementBytes.body(p, op.eew, beat, op.vstart, op.evl) &
    Mux(op.masked, ElementBytes.chosen(p, op.eew, beat, v0), ((BigInt(1) << p.dBytes) - 1).U)
  private val element = (((1.U << size) - 1.U)(7, 0) << byte)(p.dBytes - 1, 0)
  val mask: UInt      = Mux(op.elementwise, active & element, active)

  /** The last field of its segment; the last of the instruction; the last in its element group. */
  val lastField: Bool     = field === op.nf
  private val lastElement = count +& 1.U === op.evl
  val last: Bool = Mux(
    op.elementwise,
    lastElement && lastField,
    count === ((op.evl << op.eew)(p.vlBits - 1, 0) - 1.U) >> logD
  )
  val lastOfGroup: Bool = !op.elementwise || lastElement || byte +& size === p.dBytes.U

  /** From its address to that of the next. Of no meaning where an index follows. */
  val step: UInt = Mux(op.elementwise, Mux(lastField, op.stride, size), p.dBytes.U)
}
