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

  private val sign = ElementSlots.fromLast(io.bytes.map(byte => byte(7) && !io.unsigned), io.last)
  private val own = Seq.tabulate(slots) { s =>
    val bits = io.bytes(s) ^ Fill(8, sign(s))
    val high = MuxCase(0.U(4.W), (7 to 0 by -1).map(i => bits(i) -> (i + 1).U(4.W)))
    (bits.orR, (io.byteId(s) ## 0.U(3.W)) +& high)
  }
  // The highest byte that differs from the sign, from the element's first slot up to this one.
  private val upTo = Seq(1, 2, 4)
    .foldLeft(Seq.tabulate(slots)(s => (own(s)._1, own(s)._2.pad(7), io.first(s)))) { (now, distance) =>
      Seq.tabulate(slots) { s =>
        val (some, width, complete) = now(s)
        if (s < distance) (some, width, complete)
        else {
          val (otherSome, otherWidth, otherComplete) = now(s - distance)
          (
            some || (!complete && otherSome),
            Mux(some || complete, width, otherWidth),
            complete || otherComplete
          )
        }
      }
    }
  private val found = Seq.tabulate(slots) { s =>
    val (some, width, _) = upTo(s)
    val plain            = Mux(some, width, 0.U(7.W))
    Mux(io.unsigned || (!some && !sign(s)), plain, plain + 1.U)
  }
  private val slotsOf = ElementSlots.fromLast(found.map(LaneWidths.slots), io.last)
  io.live  := Cat(Seq.tabulate(slots)(s => io.inside(s) && io.byteId(s) < slotsOf(s)).reverse)
  io.widths := VecInit(found)
}
