// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxCase, MuxLookup, log2Ceil}

/** Bits that the values of lanes need (docs/varve/isa.md 1.2). */
object LaneWidths {

  /** Of a value whose bits above the highest that differs from its sign are cut: how many are left. */
  private def highest(byte: UInt): UInt =
    MuxCase(0.U(7.W), (7 to 0 by -1).map(i => byte(i) -> (i + 1).U(7.W)))

  /** Width of the value in each lane.
    *
    * @param data
    *   lanes of 8 << `log` bits each
    * @param log
    *   log2 of the bytes of a lane, 0 to 3
    */
  def apply(data: UInt, log: Int, unsigned: Bool): Seq[UInt] = {
    val bytes = 1 << log
    Seq.tabulate(data.getWidth / (8 * bytes)) { lane =>
      val value = data(8 * bytes * (lane + 1) - 1, 8 * bytes * lane)
      val sign  = !unsigned && value(8 * bytes - 1)
      val parts = Seq.tabulate(bytes)(k => value(8 * k + 7, 8 * k) ^ Fill(8, sign))
      val upTo = MuxCase(
        0.U(7.W),
        (bytes - 1 to 0 by -1).map(k => parts(k).orR -> (highest(parts(k)) + (8 * k).U))
      )
      Mux(unsigned || (upTo === 0.U && !sign), upTo, upTo + 1.U)
    }
  }

  /** The same of lanes of 8 << `eew` bits; in lanes that there are not with this size 0. The bytes are looked at once
    * for all sizes.
    */
  def bySize(data: UInt, eew: UInt, logs: Seq[Int], unsigned: Bool): Seq[UInt] = {
    val (lanes, signs) = parts(data, eew, logs, unsigned)
    Seq.tabulate(data.getWidth / 8) { lane =>
      val there = logs.filter(log => lane < (data.getWidth / 8 >> log))
      val upTo  = MuxLookup(eew, 0.U(7.W))(there.map(log => log.U -> lanes(log)(lane)))
      val sign  = MuxLookup(eew, false.B)(there.map(log => log.U -> signs(lane << log)))
      upTo + (!unsigned && (upTo =/= 0.U || sign))
    }
  }

  /** For each byte the width of the lane that it is in. */
  def ofBytes(data: UInt, eew: UInt, logs: Seq[Int], unsigned: Bool): Seq[UInt] = {
    val (lanes, signs) = parts(data, eew, logs, unsigned)
    Seq.tabulate(data.getWidth / 8) { b =>
      val upTo = MuxLookup(eew, lanes(0)(b))(logs.tail.map(log => log.U -> lanes(log)(b >> log)))
      upTo + (!unsigned && (upTo =/= 0.U || signs(b)))
    }
  }

  /** Bits that are left of each lane, by log2 of its bytes; the sign of each byte's lane. */
  private def parts(data: UInt, eew: UInt, logs: Seq[Int], unsigned: Bool): (Seq[Seq[UInt]], Seq[Bool]) = {
    val bytes                                        = data.getWidth / 8
    def chosen[T <: Data](of: Int => T, other: T): T = MuxLookup(eew, other)(logs.map(log => log.U -> of(log)))
    val signs = Seq.tabulate(bytes) { b =>
      !unsigned && chosen(log => data(8 * (b | ((1 << log) - 1)) + 7), false.B)
    }
    val parts = Seq.tabulate(bytes)(b => data(8 * b + 7, 8 * b) ^ Fill(8, signs(b)))
    // Of each lane: whether a bit differs from the sign, and how many bits are left; from lanes of half the size.
    val lanes = logs.tail.scanLeft(parts.map(part => (part.orR, highest(part)))) { (halves, log) =>
      halves.grouped(2).toSeq.map { case Seq((low, lowBits), (high, highBits)) =>
        (low || high, Mux(high, highBits + (4 << log).U, lowBits))
      }
    }
    (lanes.map(_.map(_._2)), signs)
  }

  /** Slots of `align` bits, one of 8, 4, 2 and 1, that hold a width of up to 64 bits. */
  def slots(width: UInt, align: Int): UInt =
    ((width +& (align - 1).U) >> log2Ceil(align))(log2Ceil(64 / align), 0)

  /** The lowest `count` of `all` bits. */
  def ones(count: UInt, all: Int): UInt = {
    val bits = count.getWidth
    if (bits <= 6) Cat((0 until all).map(i => count > i.U).reverse)
    else {
      // In groups of 16, so that a bit takes one LUT and no carry chain.
      val inside = Cat((0 until 16).map(i => count(3, 0) > i.U).reverse)
      val group  = count(bits - 1, 4)
      Cat((0 until all).map(i => group > (i / 16).U || (group === (i / 16).U && inside(i % 16))).reverse)
    }
  }
}
