// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** By which rule [[ElementSizes]] finds how many slots a pair takes: its [[VariableFunction]] decoded, a stage before.
  */
class SizeRule extends Bundle {
  val adds         = Bool()
  val subtracts    = Bool()
  val subtractFrom = Bool()
  val multiplies   = Bool()
  val divides      = Bool()
  val shiftsLeft   = Bool()
  val shiftsRight  = Bool()
  val duplicates   = Bool()
  val indexes      = Bool()

  /** From lanes of a register of fixed width. */
  val copies = Bool()
}

object SizeRule {
  def apply(function: UInt): SizeRule = {
    val rule = Wire(new SizeRule)
    rule.adds         := function === VariableFunction.Add.U
    rule.subtracts    := function === VariableFunction.Subtract.U || function === VariableFunction.SubtractFrom.U
    rule.subtractFrom := function === VariableFunction.SubtractFrom.U
    rule.multiplies   := function === VariableFunction.Multiply.U
    rule.divides      := function === VariableFunction.Divide.U
    rule.shiftsLeft   := function === VariableFunction.ShiftLeft.U
    rule.shiftsRight  := function === VariableFunction.ShiftRight.U
    rule.duplicates   := function === VariableFunction.Duplicate.U
    rule.indexes      := function === VariableFunction.Index.U
    rule.copies       := function >= VariableFunction.FromSigned.U
    rule
  }
}
