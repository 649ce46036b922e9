// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Cat, Fill, MuxLookup}

/** Ports of [[Alu]]. */
class AluIO extends Bundle {
  val fn           = Input(UInt(3.W))
  val alt          = Input(Bool())
  val unsignedLess = Input(Bool())

  /** XOR, OR and AND take the complement of `b`. */
  val invertB = Input(Bool())
  val a       = Input(UInt(32.W))
  val b       = Input(UInt(32.W))
  val out     = Output(UInt(32.W))

  /** a + b, whatever `fn`. */
  val sum   = Output(UInt(32.W))
  val equal = Output(Bool())
  val less  = Output(Bool())
}

/** Integer unit, combinational. Function codes are the funct3 of OP; `alt` turns ADD into SUB and SRL into SRA. The
  * comparison outputs serve branches: `less` is signed unless `unsignedLess`.
  */
class Alu extends Module {
  val io = IO(new AluIO)

  private val shift = io.b(4, 0)
  io.sum   := io.a + io.b
  io.equal := io.a === io.b
  // Flipping the sign bits turns the signed order into the unsigned one.
  private val flip = !io.unsignedLess
  io.less := Cat(io.a(31) ^ flip, io.a(30, 0)) < Cat(io.b(31) ^ flip, io.b(30, 0))

  private val logicB = io.b ^ Fill(32, io.invertB)

  io.out := MuxLookup(io.fn, io.sum)(
    Seq(
      0.U -> Mux(io.alt, io.a - io.b, io.sum),
      1.U -> (io.a << shift)(31, 0),
      2.U -> io.less.asUInt,
      3.U -> io.less.asUInt,
      4.U -> (io.a ^ logicB),
      5.U -> Mux(io.alt, (io.a.asSInt >> shift).asUInt, io.a >> shift),
      6.U -> (io.a | logicB),
      7.U -> (io.a & logicB)
    )
  )
}
