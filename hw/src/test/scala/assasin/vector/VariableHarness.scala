// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.Valid

/** VariableUnit with each bundle as one word, its last field in the lowest bits, so that a bench need not name every
  * element.
  */
class VariableHarness(p: VectorParams) extends Module {
  private val unit = Module(new VariableUnit(p))

  val valid   = IO(Input(Bool()))
  val in      = IO(Input(UInt((new VariableRequest(p)).getWidth.W)))
  val counted = IO(Output(chiselTypeOf(unit.io.counted)))
  val out     = IO(Output(Valid(UInt((new VariableOperand(p)).getWidth.W))))
  val mask    = IO(Output(chiselTypeOf(unit.io.mask)))

  unit.io.in.valid := valid
  unit.io.in.bits  := in.asTypeOf(new VariableRequest(p))
  counted          := unit.io.counted
  out.valid        := unit.io.out.valid
  out.bits         := unit.io.out.bits.asUInt
  mask             := unit.io.mask
}
