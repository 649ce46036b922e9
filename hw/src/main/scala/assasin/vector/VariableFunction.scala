// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** Operations of VarVE-full on vectors (docs/varve/isa.md 3.1). Operand a is vs2, b is vs1 or a number. */
object VariableFunction {
  val Add          = 0
  val Subtract     = 1
  val SubtractFrom = 2
  val Min          = 3
  val Max          = 4
  val BitClear     = 5
  val And          = 6
  val Or           = 7
  val Xor          = 8
  val Equal        = 9
  val NotEqual     = 10
  val Less         = 11
  val LessEqual    = 12
  val GreaterEqual = 13
  val Greater      = 14
  val Multiply     = 15
  val Divide       = 16
  val ShiftLeft    = 17
  val ShiftRight   = 18

  /** All elements are b; element i is `scalar` + i * step; elements of a fixed-width register. */
  val Duplicate    = 19
  val Index        = 20
  val FromSigned   = 21
  val FromUnsigned = 22

  /** To a scalar: number of elements, the low XLEN bits of their sum, the bits above. */
  val Count   = 23
  val Sum     = 24
  val SumHigh = 25
  val bits    = 5

  def isCompare(function: UInt): Bool = function >= Equal.U && function <= Greater.U
  def isSum(function: UInt): Bool     = function === Sum.U || function === SumHigh.U
}
