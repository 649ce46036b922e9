// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxCase}

class WidthUnitIO(slots: Int) extends Bundle {
  val bytes    = Input(Vec(slots, UInt(8.W)))
  val unsigned = Input(Bool())

  /** Of each slot: how far it is behind the first of its element; whether it is the first, the last; whether it belongs
    * to any.
    */
  val byteId = Input(Vec(slots, UInt(3.W)))
  val first  = Input(Vec(slots, Bool()))
  val last   = Input(Vec(slots, Bool()))
  val inside = Input(Vec(slots, Bool()))

  /** At the last slot of each element: the bits that its value needs. */
  val widths = Output(Vec(slots, UInt(7.W)))

  /** Slots that hold bits of a value. */
  val live = Output(UInt(slots.W))
}

/** Widths of the elements of up to 8 slots that lie side by side (docs/varve/unit.md 6.2): X2 of [[VariableUnit]].
  * Combinational.
  */
class WidthUnit(slots: Int) extends Module {
  val io = IO(new WidthUnitIO(slots))

  private val signed = !io.unsigned
  private val sign   = ElementSlots.fromLast(io.bytes.map(byte => byte(7) && signed), io.last)
  // Bits that differ from the sign.
  private val differs = Seq.tabulate(slots)(s => io.bytes(s) ^ Fill(8, sign(s)))
  private val some    = differs.map(_.orR)

  // A slot is live if one from it up to the element's last differs, or if it holds the sign alone.
  private val someAbove = Seq(1, 2, 4)
    .foldLeft(some.zip(io.last)) { (now, distance) =>
      Seq.tabulate(slots) { s =>
        val (any, complete) = now(s)
        if (s + distance >= slots) (any, complete)
        else (any || (!complete && now(s + distance)._1), complete || now(s + distance)._2)
      }
    }
    .map(_._1)
  io.live := Cat(
    Seq
      .tabulate(slots) { s =>
        val below = if (s == 0) sign(s) else Mux(io.first(s), sign(s), io.bytes(s - 1)(7) ^ sign(s))
        io.inside(s) && (someAbove(s) || (signed && below))
      }
      .reverse
  )

  // The highest bit that differs, from the element's first slot up to this one. The sign's bit is added before the places
  // are chosen, so that what follows the choice is a carry of one bit.
  private case class Place(some: Bool, byteId: UInt, bits: UInt, complete: Bool)
  private val own = Seq.tabulate(slots) { s =>
    val bits = MuxCase(0.U(4.W), (7 to 0 by -1).map(i => differs(s)(i) -> Mux(signed, (i + 2).U(4.W), (i + 1).U)))
    Place(some(s), io.byteId(s), bits, io.first(s))
  }
  private val highest = Seq(1, 2, 4).foldLeft(own) { (now, distance) =>
    Seq.tabulate(slots) { s =>
      val here = now(s)
      if (s < distance) here
      else {
        val below = now(s - distance)
        val keeps = here.some || here.complete
        Place(
          here.some || (!here.complete && below.some),
          Mux(keeps, here.byteId, below.byteId),
          Mux(keeps, here.bits, below.bits),
          here.complete || below.complete
        )
      }
    }
  }
  for (s <- 0 until slots) {
    val place = highest(s)
    val width = Cat(place.byteId +& place.bits(3), place.bits(2, 0))
    io.widths(s) := Mux(place.some, width, sign(s))
  }
}
