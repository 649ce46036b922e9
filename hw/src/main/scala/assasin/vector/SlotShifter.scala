// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxLookup, log2Ceil}

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

/** Shifts elements of up to 64 bits in slots of `bits` bits, each by its own count (docs/varve/unit.md 6.6). A slot of
  * 8 bits of the result comes from two neighbouring ones of the element, chosen among all; narrower slots, of which an
  * element has more, move by 1, 2, 4... of them. Combinational.
  */
class SlotShifter(slots: Int, bits: Int) extends Module {
  val io = IO(new SlotShifterIO(slots, bits))

  if (bits == 8) byChoice() else bySteps()

  private def byChoice(): Unit = for (s <- 0 until slots) {
    def from(distance: Int): UInt = {
      val fill = Fill(8, io.sign(s))
      if (distance > 7 || s + distance >= slots) fill
      else if (distance == 0) io.data(s)
      else Mux(io.above(s) >= distance.U, io.data(s + distance), fill)
    }
    def to(distance: Int): UInt =
      if (distance > 7 || s < distance) 0.U(8.W)
      else if (distance == 0) io.data(s)
      else Mux(io.below(s) >= distance.U, io.data(s - distance), 0.U(8.W))
    val whole = io.count(s)(5, 3)
    val rest  = io.count(s)(2, 0)
    val pair = MuxLookup(whole, 0.U(16.W))(
      (0 to 7).map(d => d.U -> Mux(io.left, Cat(to(d), to(d + 1)), Cat(from(d + 1), from(d))))
    )
    io.out(s) := (pair >> Mux(io.left, 8.U(4.W) - rest, rest))(7, 0)
  }

  private def bySteps(): Unit = {
    val inSlot = log2Ceil(bits)

    /** What lies `distance` slots above a slot, in direction of the shift. */
    def moved(of: Seq[UInt], s: Int, distance: Int): UInt = {
      val fill = Fill(bits, io.sign(s))
      val from = if (s + distance < slots) Mux(io.above(s) >= distance.U, of(s + distance), fill) else fill
      val to   = if (s >= distance) Mux(io.below(s) >= distance.U, of(s - distance), 0.U(bits.W)) else 0.U(bits.W)
      Mux(io.left, to, from)
    }
    // All slots of an element have the same count.
    val whole =
      ElementSlots.distances(64 / bits).zipWithIndex.foldLeft(io.data: Seq[UInt]) { case (now, (distance, step)) =>
        Seq.tabulate(slots)(s => Mux(io.count(s)(inSlot + step), moved(now, s, distance), now(s)))
      }
    for (s <- 0 until slots) {
      io.out(s) := (if (bits == 1) whole(s)
                    else {
                      val rest = io.count(s)(inSlot - 1, 0)
                      val next = moved(whole, s, 1)
                      val pair = Mux(io.left, Cat(whole(s), next), Cat(next, whole(s)))
                      (pair >> Mux(io.left, bits.U((inSlot + 1).W) - rest, rest))(bits - 1, 0)
                    })
    }
  }
}
