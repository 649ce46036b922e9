// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

class SlotAdderIO(slots: Int, bits: Int) extends Bundle {
  val left  = Input(Vec(slots, UInt(bits.W)))
  val right = Input(Vec(slots, UInt(bits.W)))

  /** Slots that begin an element. */
  val first = Input(Vec(slots, Bool()))

  /** Carry into the first slot of every element. */
  val carryIn = Input(Bool())

  val sum = Output(Vec(slots, UInt(bits.W)))

  /** Carry out of the element's slots up to this one. */
  val carryOut = Output(Vec(slots, Bool()))
}

/** Sums of elements of up to 64 bits in slots of `bits` bits (docs/varve/unit.md 6.6). Carries end at the elements'
  * boundaries. Combinational.
  */
class SlotAdder(slots: Int, bits: Int) extends Module {
  val io = IO(new SlotAdderIO(slots, bits))

  private val sums0 = io.left.zip(io.right).map { case (x, y) => x +& y }
  private val sums1 = sums0.map(_ + 1.U)
  private val begin = Seq.tabulate(slots) { s =>
    val passes = sums0(s)(bits - 1, 0).andR
    (sums0(s)(bits) || (io.first(s) && passes && io.carryIn), passes && !io.first(s))
  }

  // A carry is generated, or passed on from the slot below in the same element.
  private val carries = ElementSlots
    .distances(64 / bits)
    .foldLeft(begin) { (now, distance) =>
      Seq.tabulate(slots) { s =>
        val (generates, passes) = now(s)
        if (s < distance) (generates, passes)
        else (generates || (passes && now(s - distance)._1), passes && now(s - distance)._2)
      }
    }
    .map(_._1)

  for (s <- 0 until slots) {
    val carry = Mux(io.first(s), io.carryIn, if (s == 0) io.carryIn else carries(s - 1))
    io.sum(s)      := Mux(carry, sums1(s)(bits - 1, 0), sums0(s)(bits - 1, 0))
    io.carryOut(s) := carries(s)
  }
}
