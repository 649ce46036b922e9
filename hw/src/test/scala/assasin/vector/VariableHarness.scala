// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.Valid

/** VariableUnit, VariableSum and LaneOperand with each bundle as one word, its last field in the lowest bits, so that a
  * bench need not name every element.
  */
class VariableHarness(p: VectorParams) extends Module {
  private val unit = Module(new VariableUnit(p))

  val valid   = IO(Input(Bool()))
  val in      = IO(Input(UInt((new VariableRequest(p)).getWidth.W)))
  val room    = IO(Output(Bool()))
  val clear   = IO(Input(Bool()))
  val counted = IO(Output(chiselTypeOf(unit.io.counted)))
  val out     = IO(Output(Valid(UInt((new VariableOperand(p)).getWidth.W))))
  val mask    = IO(Output(chiselTypeOf(unit.io.mask)))

  unit.io.in.valid := valid
  unit.io.in.bits  := in.asTypeOf(new VariableRequest(p))
  private val request = in.asTypeOf(new VariableRequest(p))
  unit.io.scalar := VariableScalar(p, request.scalar, request.step)
  unit.io.rule   := SizeRule(request.function)
  counted        := unit.io.counted
  out.valid      := unit.io.out.valid
  out.bits       := unit.io.out.bits.asUInt
  mask           := unit.io.mask
  room           := unit.io.room
  unit.io.clear  := clear

  // Adds up the elements of a that are active.
  private val adder = Module(new VariableSum(p))
  val adds          = IO(Input(Bool()))
  val total         = IO(Output(chiselTypeOf(adder.io.out)))
  adder.io.in.valid        := adds
  adder.io.in.bits.operand := in.asTypeOf(new VariableRequest(p)).a
  adder.io.in.bits.active  := in.asTypeOf(new VariableRequest(p)).active
  adder.io.clear           := clear
  total                    := adder.io.out

  // a's data in lanes.
  private val lanes = Module(new LaneOperand(p))
  val laneEew       = IO(Input(UInt(2.W)))
  val laneCount     = IO(Input(UInt(p.vlBits.W)))
  val laneUnsigned  = IO(Input(Bool()))
  val operand       = IO(Output(UInt((new VariableOperand(p)).getWidth.W)))
  lanes.io.data     := in.asTypeOf(new VariableRequest(p)).a.data
  lanes.io.eew      := laneEew
  lanes.io.count    := laneCount
  lanes.io.unsigned := laneUnsigned
  operand           := lanes.io.out.asUInt
}
