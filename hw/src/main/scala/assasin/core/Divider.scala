// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Cat, Enum, is, switch}

/** Ports of [[Divider]]. */
class DividerIO extends Bundle {

  /** Held with the operands until `done`; dropping it abandons the division. */
  val valid = Input(Bool())

  /** funct3(1, 0): 0 DIV, 1 DIVU, 2 REM, 3 REMU. */
  val fn = Input(UInt(2.W))
  val a  = Input(UInt(32.W))
  val b  = Input(UInt(32.W))

  /** `out` is the result, in this cycle and while `valid` stays. */
  val done = Output(Bool())
  val out  = Output(UInt(32.W))

  /** The result is taken: ready for the next division. */
  val take = Input(Bool())
}

/** DIV, DIVU, REM, REMU by restoring division, one bit a cycle: 35 cycles, 19 or 11 when the dividend has 16 or 24
  * leading zeros. Division by zero and overflow give the results of the RISC-V specification.
  */
class Divider extends Module {
  val io = IO(new DividerIO)

  private val idle :: step :: fix :: ready :: Nil = Enum(4)

  private val state     = RegInit(idle)
  private val count     = Reg(UInt(6.W))
  private val quotient  = Reg(UInt(32.W))
  private val remainder = Reg(UInt(32.W))
  private val divisor   = Reg(UInt(32.W))

  private val signed = !io.fn(0)
  private val aNeg   = signed && io.a(31)
  private val bNeg   = signed && io.b(31)

  private val shifted = Cat(remainder, quotient(31))
  private val fits    = shifted >= divisor

  switch(state) {
    is(idle) {
      val aAbs  = Mux(aNeg, -io.a, io.a)
      val small = io.a(31, 16) === 0.U
      val tiny  = small && io.a(15, 8) === 0.U
      remainder := 0.U
      divisor   := Mux(bNeg, -io.b, io.b)
      quotient  := Mux(tiny, Cat(io.a(7, 0), 0.U(24.W)), Mux(small, Cat(io.a(15, 0), 0.U(16.W)), aAbs))
      count     := Mux(tiny, 8.U, Mux(small, 16.U, 32.U))
      when(io.valid) { state := step }
    }
    is(step) {
      remainder := Mux(fits, shifted - divisor, shifted)(31, 0)
      quotient  := Cat(quotient(30, 0), fits)
      count     := count - 1.U
      when(count === 1.U) { state := fix }
    }
    is(fix) {
      // Skipped leading zeros leave zero quotient bits, but dividing by zero must give all ones.
      val byZero = divisor === 0.U
      quotient  := Mux(byZero, ~0.U(32.W), Mux(aNeg =/= bNeg, -quotient, quotient))
      remainder := Mux(aNeg, -remainder, remainder)
      state     := ready
    }
    is(ready) {
      when(io.take) { state := idle }
    }
  }
  when(!io.valid) { state := idle }

  io.done := state === ready
  io.out  := Mux(io.fn(1), remainder, quotient)
}
