// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, MuxLookup, Reverse, log2Ceil}

class ShiftUnitIO(p: VectorParams) extends Bundle {
  val left   = Input(Bool())
  val signed = Input(Bool())

  /** log2 of the bytes of an element. */
  val eew = Input(UInt(2.W))

  /** Elements, and how far each is shifted, in its low bits. */
  val a = Input(UInt(p.dLen.W))
  val b = Input(UInt(p.dLen.W))

  val out = Output(UInt(p.dLen.W))
}

/** Shifts of the elements of an element group. Combinational. */
class ShiftUnit(p: VectorParams) extends Module {
  val io = IO(new ShiftUnitIO(p))

  private val maxLog    = log2Ceil(p.eLen / 8)
  private val laneBytes = p.eLen / 8

  private val lanes = for (lane <- 0 until p.dLen / p.eLen) yield {
    val a = io.a((lane + 1) * p.eLen - 1, lane * p.eLen)
    val b = io.b((lane + 1) * p.eLen - 1, lane * p.eLen)

    // At each byte: the amount of its element, less than its bits, and whether the element is negative.
    val amounts = (0 until laneBytes).map { i =>
      MuxLookup(io.eew, 0.U)((0 to maxLog).map { log =>
        val first = i >> log << log
        log.U -> b(8 * first + 2 + log, 8 * first).pad(3 + maxLog)
      })
    }
    val negative = (0 until laneBytes).map { i =>
      io.signed && MuxLookup(io.eew, false.B)((0 to maxLog).map(log => log.U -> a(8 * (i | ((1 << log) - 1)) + 7)))
    }

    // To the right; for a shift to the left the lane is turned round before and behind.
    val turnedAmounts = (0 until laneBytes).map(i => Mux(io.left, amounts(laneBytes - 1 - i), amounts(i)))
    val shifted = (0 until 3 + maxLog).foldLeft(Mux(io.left, Reverse(a), a)) { (data, stage) =>
      val by = 1 << stage
      Cat((0 until p.eLen).map { j =>
        val inside = MuxLookup(io.eew, false.B)((0 to maxLog).map(log => log.U -> (j % (8 << log) + by < (8 << log)).B))
        val source = if (j + by < p.eLen) Mux(inside, data(j + by), negative(j / 8)) else negative(j / 8)
        Mux(turnedAmounts(j / 8)(stage), source, data(j))
      }.reverse)
    }
    Mux(io.left, Reverse(shifted), shifted)
  }
  io.out := Cat(lanes.reverse)
}
