// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxLookup}

class SlotShifterIO(slots: Int) extends Bundle {
  val data = Input(Vec(slots, UInt(8.W)))

  /** Slots of the same element below each slot, and above it. */
  val byteId = Input(Vec(slots, UInt(3.W)))
  val above  = Input(Vec(slots, UInt(3.W)))

  /** At each slot the element's count, and what comes in from above. */
  val count = Input(Vec(slots, UInt(6.W)))
  val sign  = Input(Vec(slots, Bool()))

  /** To the left, else to the right. */
  val left = Input(Bool())

  val out = Output(Vec(slots, UInt(8.W)))
}

/** Shifts elements of up to 8 slots of 8 bits, each by its own count (docs/varve/unit.md 6.6): a byte of the result
  * comes from two neighbouring ones of the element. Combinational.
  */
class SlotShifter(slots: Int) extends Module {
  val io = IO(new SlotShifterIO(slots))

  for (s <- 0 until slots) {
    def from(distance: Int): UInt = {
      val fill = Fill(8, io.sign(s))
      if (distance > 7 || s + distance >= slots) fill
      else if (distance == 0) io.data(s)
      else Mux(io.above(s) >= distance.U, io.data(s + distance), fill)
    }
    def to(distance: Int): UInt =
      if (distance > 7 || s < distance) 0.U(8.W)
      else if (distance == 0) io.data(s)
      else Mux(io.byteId(s) >= distance.U, io.data(s - distance), 0.U(8.W))
    val bytes = io.count(s)(5, 3)
    val bits  = io.count(s)(2, 0)
    val pair = MuxLookup(bytes, 0.U(16.W))(
      (0 to 7).map(d => d.U -> Mux(io.left, Cat(to(d), to(d + 1)), Cat(from(d + 1), from(d))))
    )
    io.out(s) := (pair >> Mux(io.left, 8.U(4.W) - bits, bits))(7, 0)
  }
}
