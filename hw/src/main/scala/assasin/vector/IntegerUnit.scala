// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxLookup, log2Ceil}

class IntegerUnitIO(p: VectorParams) extends Bundle {

  /** [[IntegerFunction]]. */
  val function = Input(UInt(IntegerFunction.bits.W))

  /** log2 of the bytes of an element. */
  val eew = Input(UInt(2.W))

  /** Values of vs2; of vs1, a scalar or an immediate. */
  val a = Input(UInt(p.dLen.W))
  val b = Input(UInt(p.dLen.W))

  /** The mask bit of each byte's element. Merge: the bytes that are taken from `b`; carry and borrow in. */
  val choose = Input(UInt(p.dBytes.W))

  val out = Output(UInt(p.dLen.W))

  /** The sum or difference; at the highest byte of each element the carry out of it. Not for comparisons. */
  val sum     = Output(UInt(p.dLen.W))
  val carries = Output(UInt(p.dBytes.W))

  /** The flag of each element, the first in bit 0. */
  val flags = Output(UInt(p.dBytes.W))
}

/** Addition, comparison, logic and moves on the elements of an element group. Combinational. */
class IntegerUnit(p: VectorParams) extends Module {
  val io = IO(new IntegerUnitIO(p))

  import IntegerFunction._
  private val logs                      = 0 to log2Ceil(p.eLen / 8)
  private def is(functions: Int*): Bool = functions.map(f => io.function === f.U).reduce(_ || _)

  /** By element size: whether byte `i` is the highest of its element, counted in a lane of ELEN bits. */
  private def isTop(i: Int): Bool = MuxLookup(io.eew, true.B)(logs.map(log => log.U -> ((i + 1) % (1 << log) == 0).B))

  private val chooses  = is(MinUnsigned, Min, MaxUnsigned, Max)
  private val compares = io.function(6, 3) === (Equal >> 3).U
  private val subtracts = chooses || compares || is(Subtract, SubtractFrom, SubtractBorrow) ||
    (IntegerFunction.isFixed(io.function) && io.function(1))
  private val signed = is(Min, Max, Less, LessEqual, Greater)
  private val swaps  = is(SubtractFrom, LessEqual, LessEqualUnsigned, Greater, GreaterUnsigned)
  private val x      = Mux(swaps, io.b, io.a)
  private val y      = Mux(swaps, io.a, io.b)

  // Into the element that begins at byte `i`.
  private def carryIn(i: Int): Bool = Mux(is(AddCarry, SubtractBorrow), io.choose(i) ^ subtracts, subtracts)

  // One addition a lane of ELEN bits with a bit above each byte. Inside an element that bit is 1 + 0, so the carry
  // passes; above an element's highest byte it is twice the carry into the next one. Its sum tells the carry out.
  private val laneBytes = p.eLen / 8
  private val lanes = for (lane <- 0 until p.dLen / p.eLen) yield {
    val bytes = for (i <- 0 until laneBytes) yield {
      val at   = lane * p.eLen + 8 * i
      val flip = Cat(signed && isTop(i), 0.U(7.W))
      val last = isTop(i)
      val next = carryIn((lane * laneBytes + i + 1) % p.dBytes)
      val xi   = x(at + 7, at) ^ flip
      val yi   = (y(at + 7, at) ^ flip) ^ Fill(8, subtracts)
      (Cat(!last || next, xi), Cat(last && next, yi))
    }
    Cat(bytes.map(_._1).reverse) +& Cat(bytes.map(_._2).reverse) + carryIn(lane * laneBytes)
  }
  private def laneOf(i: Int) = (lanes(i / laneBytes), i % laneBytes * 9)
  private val sum = Cat((0 until p.dBytes).map { i =>
    val (lane, at) = laneOf(i)
    lane(at + 7, at)
  }.reverse)
  private val carries = VecInit((0 until p.dBytes).map { i =>
    val (lane, at) = laneOf(i)
    lane(at + 8)
  })

  io.sum     := sum
  io.carries := carries.asUInt

  // a < b, at each byte of the element.
  private val less = (0 until p.dBytes).map { i =>
    !MuxLookup(io.eew, carries(i))(logs.map(log => log.U -> carries(i | ((1 << log) - 1))))
  }
  private val takeB = Cat((0 until p.dBytes).map { i =>
    Mux(is(Merge), io.choose(i), is(MoveB) || (chooses && (less(i) === is(MaxUnsigned, Max))))
  }.reverse)
  private val chosen = Cat((0 until p.dBytes).map { i =>
    Mux(takeB(i), io.b(8 * i + 7, 8 * i), io.a(8 * i + 7, 8 * i))
  }.reverse)

  // Flags, at each byte, right at the highest byte of the element.
  private val same = (0 until p.dBytes).map(i => io.a(8 * i + 7, 8 * i) === io.b(8 * i + 7, 8 * i))
  private val flagAt = (0 until p.dBytes).map { i =>
    val equal = MuxLookup(io.eew, same(i))(logs.map { log =>
      log.U -> (0 until (1 << log)).map(k => same((i - k) max 0)).reduce(_ && _)
    })
    // x < y after the swap: a < b, or b < a of which LessEqual is the opposite.
    MuxLookup(io.function, less(i))(
      Seq(
        AddCarry.U          -> carries(i),
        Equal.U             -> equal,
        NotEqual.U          -> !equal,
        LessEqualUnsigned.U -> !less(i),
        LessEqual.U         -> !less(i)
      )
    )
  }
  io.flags := MuxLookup(io.eew, 0.U)(logs.map { log =>
    log.U -> Cat((0 until (p.dBytes >> log)).map(e => flagAt(((e + 1) << log) - 1)).reverse)
  })

  io.out := MuxLookup(io.function, chosen)(
    Seq(
      Add.U            -> sum,
      Subtract.U       -> sum,
      SubtractFrom.U   -> sum,
      And.U            -> (io.a & io.b),
      Or.U             -> (io.a | io.b),
      AddCarry.U       -> sum,
      SubtractBorrow.U -> sum,
      Xor.U            -> (io.a ^ io.b)
    )
  )
}
