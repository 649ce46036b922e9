// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

class ElementUnitsIO(p: VectorParams) extends Bundle {

  /** Operands are there. They stay until `done` of a division. */
  val valid = Input(Bool())

  /** [[IntegerFunction]], rounding mode and log2 of the bytes of an element. */
  val function = Input(UInt(IntegerFunction.bits.W))
  val vxrm     = Input(UInt(2.W))
  val eew      = Input(UInt(2.W))

  /** The results are narrow. */
  val narrow = Input(Bool())

  /** Values of vs2; of vs1, a scalar or an immediate; the third operand; the mask bit of each byte's element. */
  val a      = Input(UInt(p.dLen.W))
  val b      = Input(UInt(p.dLen.W))
  val c      = Input(UInt(p.dLen.W))
  val choose = Input(UInt(p.dBytes.W))

  /** The result of a short function in the same cycle, and the flag of each element; of a division with `done`. */
  val out   = Output(UInt(p.dLen.W))
  val flags = Output(UInt(p.dBytes.W))
  val done  = Output(Bool())

  /** The result of a long function two cycles later; at each byte: its element did not fit. */
  val longOut   = Output(UInt(p.dLen.W))
  val saturated = Output(UInt(p.dBytes.W))

  val clear = Input(Bool())
}

/** The functional units that work on the elements of an element group, and the choice of the result. */
class ElementUnits(p: VectorParams) extends Module {
  val io = IO(new ElementUnitsIO(p))

  import IntegerFunction._
  private val integer = Module(new IntegerUnit(p))
  integer.io.function := io.function
  integer.io.eew      := io.eew
  integer.io.a        := io.a
  integer.io.b        := io.b
  integer.io.choose   := io.choose

  private val shift = Module(new ShiftUnit(p))
  shift.io.left   := io.function === ShiftLeft.U
  shift.io.signed := shiftsSigned(io.function)
  shift.io.eew    := io.eew
  shift.io.a      := io.a
  shift.io.b      := io.b

  private val divide = Module(new DivideUnit(p))
  divide.io.start    := io.valid && isDivide(io.function)
  divide.io.quotient := !io.function(1)
  divide.io.signed   := io.function(0)
  divide.io.eew      := io.eew
  divide.io.a        := io.a
  divide.io.b        := io.b
  divide.io.clear    := io.clear

  private val short = Mux(divide.io.done, divide.io.out, Mux(isShift(io.function), shift.io.out, integer.io.out))
  io.out   := Mux(io.narrow, ResultNarrow(p, io.eew, short), short)
  io.flags := integer.io.flags
  io.done  := divide.io.done

  private val multiply = Module(new MultiplyUnit(p))
  multiply.io.valid    := io.valid && isMultiply(io.function)
  multiply.io.function := io.function
  multiply.io.vxrm     := io.vxrm
  multiply.io.eew      := io.eew
  multiply.io.a        := io.a
  multiply.io.b        := io.b
  multiply.io.c        := io.c

  private val fixed = Module(new FixedPointUnit(p))
  fixed.io.valid    := io.valid && isFixed(io.function)
  fixed.io.function := io.function
  fixed.io.vxrm     := io.vxrm
  fixed.io.eew      := io.eew
  fixed.io.narrow   := io.narrow
  fixed.io.a        := io.a
  fixed.io.b        := io.b
  fixed.io.sum      := integer.io.sum
  fixed.io.carries  := integer.io.carries
  fixed.io.shifted  := shift.io.out
  fixed.io.guard    := shift.io.guard
  fixed.io.sticky   := shift.io.sticky

  io.longOut   := Mux(fixed.io.done, fixed.io.out, multiply.io.out)
  io.saturated := Mux(fixed.io.done, fixed.io.saturated, multiply.io.saturated)
}
