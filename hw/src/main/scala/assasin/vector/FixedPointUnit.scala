// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxLookup, RegEnable, log2Ceil}

class FixedPointUnitIO(p: VectorParams) extends Bundle {

  /** Operands are there. */
  val valid = Input(Bool())

  /** [[IntegerFunction]]. */
  val function = Input(UInt(IntegerFunction.bits.W))

  /** Rounding mode. */
  val vxrm = Input(UInt(2.W))

  /** log2 of the bytes of an element. */
  val eew = Input(UInt(2.W))

  /** Clips: the results are narrow. */
  val narrow = Input(Bool())

  /** Operands, and what [[IntegerUnit]] and [[ShiftUnit]] make of them. */
  val a       = Input(UInt(p.dLen.W))
  val b       = Input(UInt(p.dLen.W))
  val sum     = Input(UInt(p.dLen.W))
  val carries = Input(UInt(p.dBytes.W))
  val shifted = Input(UInt(p.dLen.W))
  val guard   = Input(UInt(p.dBytes.W))
  val sticky  = Input(UInt(p.dBytes.W))

  /** Two cycles after the operands: the results are there. */
  val done = Output(Bool())
  val out  = Output(UInt(p.dLen.W))

  /** At each byte of the results: its element did not fit. */
  val saturated = Output(UInt(p.dBytes.W))
}

/** Saturating and averaging sums, scaling shifts and clips of the elements of an element group. Three stages:
  * saturation of sums and the rounding bits, rounding, clips; an element group a cycle.
  */
class FixedPointUnit(p: VectorParams) extends Module {
  val io = IO(new FixedPointUnitIO(p))

  import IntegerFunction._
  private val logs = 0 to log2Ceil(p.eLen / 8)

  /** For each element size the values of all elements, by the number of their first byte. */
  private def bySize(eew: UInt)(of: (Int, Int) => UInt): UInt = MuxLookup(eew, 0.U)(logs.map { log =>
    log.U -> Cat((0 until p.dBytes by (1 << log)).map(first => of(log, first)).reverse)
  })
  private def isOneOf(function: UInt, of: Int*): Bool = of.map(function === _.U).reduce(_ || _)

  // Sums and differences, and in what way they do not fit.
  private val signed    = io.function(0)
  private val subtracts = io.function(1)
  private val averages  = io.function(3, 2) === 1.U
  private val scales    = io.function(3)
  private def tops(log: Int, first: Int): (Bool, Bool, Bool, Bool) = {
    val top = 8 * (first + (1 << log)) - 1
    (io.a(top), io.b(top) ^ subtracts, io.sum(top), io.carries(first + (1 << log) - 1))
  }
  private def overflows(log: Int, first: Int): Bool = {
    val (a, b, sum, carry) = tops(log, first)
    !averages && !scales && Mux(signed, a === b && a =/= sum, carry =/= subtracts)
  }
  private val base = bySize(io.eew) { (log, first) =>
    val bits             = 8 << log
    val (a, b, _, carry) = tops(log, first)
    val value            = io.sum(8 * first + bits - 1, 8 * first)
    val average          = Cat(Mux(signed, a ^ b ^ carry, carry =/= subtracts), value(bits - 1, 1))
    val limit            = Mux(signed, Cat(a, Fill(bits - 1, !a)), Fill(bits, !subtracts))
    val sum              = Mux(averages, average, Mux(overflows(log, first), limit, value))
    Mux(scales, io.shifted(8 * first + bits - 1, 8 * first), sum)
  }
  private val increments = bySize(io.eew) { (log, first) =>
    val scaled   = Rounding.increment(io.vxrm, io.shifted(8 * first), io.guard(first), io.sticky(first))
    val averaged = Rounding.increment(io.vxrm, io.sum(8 * first + 1), io.sum(8 * first), false.B)
    Fill(1 << log, Mux(scales, scaled, averages && averaged))
  }
  private val overflow = bySize(io.eew)((log, first) => Fill(1 << log, overflows(log, first)))

  // Rounding.
  private val valid2      = RegNext(io.valid, false.B)
  private val function2   = RegEnable(io.function, io.valid)
  private val eew2        = RegEnable(io.eew, io.valid)
  private val base2       = RegEnable(base, io.valid)
  private val increments2 = RegEnable(increments, io.valid)
  private val overflow2   = RegEnable(overflow, io.valid)
  private val highest     = bySize(eew2)((log, _) => (BigInt(1) << ((1 << log) - 1)).U((1 << log).W))
  private val rounded     = LaneSum(p, base2, 0.U(p.dLen.W), highest, increments2)

  // Clips.
  private val function3 = RegEnable(function2, valid2)
  private val eew3      = RegEnable(eew2, valid2)
  private val rounded3  = RegEnable(rounded, valid2)
  private val overflow3 = RegEnable(overflow2, valid2)
  private val signed3   = function3(0)
  private val clips     = isOneOf(function3, ClipUnsigned, Clip)
  private def clip(log: Int, first: Int): (Bool, UInt, UInt) = {
    val bits  = 8 << log
    val half  = bits / 2
    val value = rounded3(8 * first + bits - 1, 8 * first)
    val minus = signed3 && value(bits - 1)
    val above = value(bits - 1, half) ^ Fill(half, minus)
    val over  = clips && (above.orR || (signed3 && value(half - 1) =/= minus))
    val limit = Mux(signed3, Cat(minus, Fill(half - 1, !minus)), Fill(half, 1.U(1.W)))
    (over, value, limit.pad(bits))
  }
  private val narrow3 = RegEnable(RegEnable(io.narrow, io.valid), valid2)
  private val fitting = bySize(eew3) { (log, first) =>
    val (over, value, limit) = clip(log, first)
    Mux(over, limit, value)
  }
  private val misfits = overflow3 | bySize(eew3)((log, first) => Fill(1 << log, clip(log, first)._1))
  io.done      := RegNext(valid2, false.B)
  io.out       := Mux(narrow3, ResultNarrow(p, eew3, fitting), fitting)
  io.saturated := Mux(narrow3, ResultNarrow(p, eew3, misfits, 1), misfits)
}
