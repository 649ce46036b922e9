// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Cat, Fill, MuxLookup, PopCount, PriorityEncoder, Reverse}

import assasin.CoreExtensions

/** Operations of [[BitUnit]]. */
object BitOp {
  val Width = 4

  /** The result is the ALU's. */
  val None: UInt = 0.U(Width.W)

  /** `b` plus `a` shifted left by funct3 / 2. */
  val ShiftAdd: UInt = 1.U(Width.W)

  /** MIN, MINU, MAX, MAXU: bit 1 of funct3 asks for the larger one. */
  val MinMax: UInt      = 2.U(Width.W)
  val RotateLeft: UInt  = 3.U(Width.W)
  val RotateRight: UInt = 4.U(Width.W)

  /** Leading zeros, trailing zeros, ones. */
  val Clz: UInt   = 5.U(Width.W)
  val Ctz: UInt   = 6.U(Width.W)
  val Cpop: UInt  = 7.U(Width.W)
  val SextB: UInt = 8.U(Width.W)
  val SextH: UInt = 9.U(Width.W)
  val ZextH: UInt = 10.U(Width.W)
  val OrcB: UInt  = 11.U(Width.W)
  val Rev8: UInt  = 12.U(Width.W)
}

/** Ports of [[BitUnit]]. */
class BitUnitIO extends Bundle {

  /** [[BitOp]]. */
  val op = Input(UInt(BitOp.Width.W))
  val fn = Input(UInt(3.W))
  val a  = Input(UInt(32.W))
  val b  = Input(UInt(32.W))

  /** a < b in the order that `fn` asks for. */
  val less = Input(Bool())
  val out  = Output(UInt(32.W))
}

/** Zba and what Zbb has beyond the [[Alu]], combinational. */
class BitUnit(e: CoreExtensions) extends Module {
  val io = IO(new BitUnitIO)

  private val shiftAdd = Seq(BitOp.ShiftAdd -> ((io.a << io.fn(2, 1))(31, 0) + io.b))

  private val left    = io.op === BitOp.RotateLeft
  private val amount  = Mux(left, 0.U - io.b(4, 0), io.b(4, 0))
  private val rotated = (Cat(io.a, io.a) >> amount)(31, 0)

  private def leadingZeros(x: UInt): UInt = Mux(x === 0.U, 32.U(6.W), PriorityEncoder(Reverse(x)))
  private val zeros                       = leadingZeros(Mux(io.op === BitOp.Ctz, Reverse(io.a), io.a))

  private val bytes = Seq.tabulate(4)(i => io.a(8 * i + 7, 8 * i))
  private val basic = Seq(
    BitOp.MinMax      -> Mux(io.less =/= io.fn(1), io.a, io.b),
    BitOp.RotateLeft  -> rotated,
    BitOp.RotateRight -> rotated,
    BitOp.Clz         -> zeros,
    BitOp.Ctz         -> zeros,
    BitOp.Cpop        -> PopCount(io.a),
    BitOp.SextB       -> Cat(Fill(24, io.a(7)), io.a(7, 0)),
    BitOp.SextH       -> Cat(Fill(16, io.a(15)), io.a(15, 0)),
    BitOp.ZextH       -> io.a(15, 0),
    BitOp.OrcB        -> Cat(bytes.reverse.map(byte => Fill(8, byte.orR))),
    BitOp.Rev8        -> Cat(bytes)
  )

  io.out := MuxLookup(io.op, 0.U(32.W))((if (e.zba) shiftAdd else Nil) ++ (if (e.zbb) basic else Nil))
}
