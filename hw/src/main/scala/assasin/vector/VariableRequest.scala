// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** An operation on elements of any width. */
class VariableRequest(p: VectorParams) extends Bundle {

  /** [[VariableFunction]], but for those to a scalar. */
  val function = UInt(VariableFunction.bits.W)

  /** vs2 and vs1, or with `byScalar` the number in `scalar`. Of a register of fixed width `a` has its lanes as
    * elements.
    */
  val a        = new VariableOperand(p)
  val b        = new VariableOperand(p)
  val byScalar = Bool()
  val scalar   = UInt(p.xLen.W)

  /** Of vv.index: what is added from element to element, 5 bits signed. */
  val step = UInt(5.W)

  /** Elements that the mask lets through. */
  val active = UInt(p.elements.W)
}
