// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, log2Ceil}

class SlotShifterIO(slots: Int, bits: Int) extends Bundle {
  val data = Input(Vec(slots, UInt(bits.W)))

  /** Slots of the same element below each slot, and above it. */
  val below = Input(Vec(slots, UInt(log2Ceil(64 / bits).W)))
  val above = Input(Vec(slots, UInt(log2Ceil(64 / bits).W)))

  /** At each slot the element's count, and what comes in from above. */
  val count = Input(Vec(slots, UInt(6.W)))
  val sign  = Input(Vec(slots, Bool()))

  /** To the left, else to the right. */
  val left = Input(Bool())

  val out = Output(Vec(slots, UInt(bits.W)))
}

/** Shifts elements of up to 64 bits in slots of `bits` bits, each by its own count (docs/varve/unit.md 6.6): slots move
  * by 1, 2, 4... of them, then bits between neighbouring ones. Combinational.
  */
class SlotShifter(slots: Int, bits: Int) extends Module {
  val io = IO(new SlotShifterIO(slots, bits))

  private val inSlot = log2Ceil(bits)

  private def fill(s: Int): UInt = Fill(bits, io.sign(s) && !io.left)

  /** Whether the element has a slot `distance` above, below. */
  private def hasAbove(s: Int, distance: Int): Bool =
    if (s + distance < slots) io.above(s) >= distance.U else false.B
  private def hasBelow(s: Int, distance: Int): Bool = if (s >= distance) io.below(s) >= distance.U else false.B

  /** One slot of a move by `distance` against the direction of the shift, if `moves`: a LUT a bit chooses among the
    * slot itself, the one above, the one below and what comes in.
    */
  private def moved(of: Seq[UInt], s: Int, distance: Int, moves: Bool): UInt = {
    val above   = if (s + distance < slots) of(s + distance) else of(s)
    val below   = if (s >= distance) of(s - distance) else of(s)
    val outside = !Mux(io.left, hasBelow(s, distance), hasAbove(s, distance))
    MuxTree(Cat(moves && (io.left || outside), moves && (!io.left || outside)), Seq(of(s), above, below, fill(s)))
  }

  // All slots of an element have the same count.
  private val whole =
    ElementSlots.distances(64 / bits).zipWithIndex.foldLeft(io.data: Seq[UInt]) { case (now, (distance, step)) =>
      Seq.tabulate(slots)(s => moved(now, s, distance, io.count(s)(inSlot + step)))
    }
  for (s <- 0 until slots) {
    io.out(s) := (if (bits == 1) whole(s)
                  else {
                    // To the left by n is to the right by `bits` - n, of this slot and the one below.
                    val rest   = io.count(s)(inSlot - 1, 0)
                    val shifts = rest =/= 0.U
                    val low =
                      Mux(io.left && shifts, if (s == 0) 0.U else Mux(hasBelow(s, 1), whole(s - 1), 0.U), whole(s))
                    val next = if (s + 1 < slots) Mux(hasAbove(s, 1), whole(s + 1), fill(s)) else fill(s)
                    val high = Mux(io.left, whole(s), next)
                    BarrelShift.right(Cat(high, low), Mux(io.left, (0.U - rest)(inSlot - 1, 0), rest), bits)
                  })
  }
}
