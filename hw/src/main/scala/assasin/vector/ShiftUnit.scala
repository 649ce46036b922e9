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

  /** Of a shift to the right, at the first byte of each element: the highest of the bits that it drops, and whether a
    * lower one is 1.
    */
  val guard  = Output(UInt(p.dBytes.W))
  val sticky = Output(UInt(p.dBytes.W))
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
    val none          = Seq.fill(laneBytes)(false.B)
    val (shifted, guard, sticky) = (0 until 3 + maxLog).foldLeft((Mux(io.left, Reverse(a), a), none, none)) {
      case ((data, guard, sticky), stage) =>
        val by      = 1 << stage
        val dropped = (0 until laneBytes).map(i => data((8 * i + by - 1) min (p.eLen - 1), 8 * i))
        val newData = Cat((0 until p.eLen).map { j =>
          val inside =
            MuxLookup(io.eew, false.B)((0 to maxLog).map(log => log.U -> (j % (8 << log) + by < (8 << log)).B))
          val source = if (j + by < p.eLen) Mux(inside, data(j + by), negative(j / 8)) else negative(j / 8)
          Mux(turnedAmounts(j / 8)(stage), source, data(j))
        }.reverse)
        val newGuard = (0 until laneBytes).map { i =>
          Mux(amounts(i)(stage), if (8 * i + by <= p.eLen) dropped(i)(by - 1) else false.B, guard(i))
        }
        val newSticky = (0 until laneBytes).map { i =>
          val lower = if (by > 1 && 8 * i + by <= p.eLen) dropped(i)(by - 2, 0).orR else false.B
          sticky(i) || (amounts(i)(stage) && (guard(i) || lower))
        }
        (newData, newGuard, newSticky)
    }
    (Mux(io.left, Reverse(shifted), shifted), Cat(guard.reverse), Cat(sticky.reverse))
  }
  io.out    := Cat(lanes.map(_._1).reverse)
  io.guard  := Cat(lanes.map(_._2).reverse)
  io.sticky := Cat(lanes.map(_._3).reverse)
}
