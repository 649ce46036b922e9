// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** What an operation of [[VariableUnit]] is, along its pipeline. */
class VariableKind extends Bundle {

  /** [[VariableFunction]]. */
  val function = UInt(VariableFunction.bits.W)

  /** Of the operands, and of the result. */
  val aUnsigned = Bool()
  val bUnsigned = Bool()
  val unsigned  = Bool()

  /** Of the result. */
  val mb = UInt(2.W)

  val byScalar = Bool()
  val scalar   = UInt(64.W)
  val step     = UInt(5.W)

  def is(functions: Int*): Bool = functions.map(f => function === f.U).reduce(_ || _)
}
