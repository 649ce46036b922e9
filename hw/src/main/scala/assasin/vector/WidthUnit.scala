// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxCase, log2Ceil}

class WidthUnitIO(slots: Int, align: Int, most: Int) extends Bundle {
  val values   = Input(Vec(slots, UInt(align.W)))
  val unsigned = Input(Bool())

  /** Of each slot: how far it is behind the first of its element; whether it is the first, the last; whether it belongs
    * to any.
    */
  val slotId = Input(Vec(slots, UInt(log2Ceil(most).W)))
  val first  = Input(Vec(slots, Bool()))
  val last   = Input(Vec(slots, Bool()))
  val inside = Input(Vec(slots, Bool()))

  /** At the last slot of each element: the bits that its value needs. */
  val widths = Output(Vec(slots, UInt(7.W)))

  /** Slots that hold bits of a value. */
  val live = Output(UInt(slots.W))
}

/** Widths of elements that lie side by side, each of up to `most` slots of `align` bits (docs/varve/unit.md 6.2): X2 of
  * [[VariableUnit]]. Combinational.
  */
class WidthUnit(slots: Int, align: Int, most: Int) extends Module {
  require(align * most == 64, s"align = $align, most = $most: choose the slots of an element of 64 bits")
  val io = IO(new WidthUnitIO(slots, align, most))

  private val signed = !io.unsigned
  private val sign   = ElementSlots.fromLast(io.values.map(slot => slot(align - 1) && signed), io.last, most)
  // Bits that differ from the sign.
  private val differs = Seq.tabulate(slots)(s => io.values(s) ^ Fill(align, sign(s)))
  private val some    = differs.map(_.orR)

  // A slot is live if one from it up to the element's last differs, or if it holds the sign alone.
  private val someAbove = ElementSlots
    .distances(most)
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
        val below = if (s == 0) sign(s) else Mux(io.first(s), sign(s), io.values(s - 1)(align - 1) ^ sign(s))
        io.inside(s) && (someAbove(s) || (signed && below))
      }
      .reverse
  )

  // The highest bit that differs, from the element's first slot up to this one. The sign's bit is added before the places
  // are chosen, so that what follows the choice is a carry of one bit.
  private case class Place(some: Bool, slotId: UInt, bits: UInt, complete: Bool)
  private val logAlign  = log2Ceil(align)
  private val placeBits = log2Ceil(align + 2)
  private val own = Seq.tabulate(slots) { s =>
    val bits = MuxCase(
      0.U(placeBits.W),
      (align - 1 to 0 by -1).map(i => differs(s)(i) -> Mux(signed, (i + 2).U(placeBits.W), (i + 1).U))
    )
    Place(some(s), io.slotId(s), bits, io.first(s))
  }
  private val highest = ElementSlots.distances(most).foldLeft(own) { (now, distance) =>
    Seq.tabulate(slots) { s =>
      val here = now(s)
      if (s < distance) here
      else {
        val below = now(s - distance)
        val keeps = here.some || here.complete
        Place(
          here.some || (!here.complete && below.some),
          Mux(keeps, here.slotId, below.slotId),
          Mux(keeps, here.bits, below.bits),
          here.complete || below.complete
        )
      }
    }
  }
  for (s <- 0 until slots) {
    val place = highest(s)
    val slot  = place.slotId +& (place.bits >> logAlign)
    val width = if (align == 1) slot else Cat(slot, place.bits(logAlign - 1, 0))
    io.widths(s) := Mux(place.some, width, sign(s))
  }
}
