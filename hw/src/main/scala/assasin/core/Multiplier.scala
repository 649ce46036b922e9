// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._

/** Ports of [[Multiplier]]. */
class MultiplierIO extends Bundle {

  /** Takes the operands into MEM. */
  val advance = Input(Bool())

  /** funct3(1, 0): 0 MUL, 1 MULH, 2 MULHSU, 3 MULHU. */
  val fn  = Input(UInt(2.W))
  val a   = Input(UInt(32.W))
  val b   = Input(UInt(32.W))
  val out = Output(UInt(32.W))
}

/** MUL, MULH, MULHSU, MULHU in two pipelined steps: the unsigned product is registered at the end of EX, MEM corrects
  * and selects. One multiplication a cycle; the product register may be merged into DSP slices.
  */
class Multiplier extends Module {
  val io = IO(new MultiplierIO)

  private val aSigned = io.fn === 1.U || io.fn === 2.U
  private val bSigned = io.fn === 1.U

  private val product = Reg(UInt(64.W))
  private val excess  = Reg(UInt(32.W))
  private val low     = Reg(Bool())
  when(io.advance) {
    product := io.a * io.b
    // A negative operand read as unsigned is 2^32 too large, which adds the other operand to the high half.
    excess := Mux(aSigned && io.a(31), io.b, 0.U) + Mux(bSigned && io.b(31), io.a, 0.U)
    low    := io.fn === 0.U
  }
  io.out := Mux(low, product(31, 0), product(63, 32) - excess)
}
