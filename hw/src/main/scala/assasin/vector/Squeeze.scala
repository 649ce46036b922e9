// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, log2Ceil}

class SqueezeIO(bits: Int, slots: Int) extends Bundle {
  val data = Input(UInt((bits * slots).W))

  /** The slots that are kept. */
  val live = Input(UInt(slots.W))

  /** They stand together in the lowest slots; `count` of them. */
  val out   = Output(UInt((bits * slots).W))
  val count = Output(UInt(log2Ceil(slots + 1).W))
}

/** Leaves out some of `slots` slots of `bits` bits, by log2 steps that move slots downwards by 1, 2, 4... places. A
  * slot moves as many places as there are dead slots below it. As these numbers never decrease from slot to slot, no
  * two slots meet. Combinational.
  */
class Squeeze(bits: Int, slots: Int) extends Module {
  val io = IO(new SqueezeIO(bits, slots))

  /** `places`: how many it has to move. */
  private case class Place(live: Bool, places: UInt, data: UInt)

  private val dead  = PrefixCount(~io.live)
  private val first = Seq.tabulate(slots)(i => Place(io.live(i), dead(i), io.data(bits * (i + 1) - 1, bits * i)))
  private val last = (0 until log2Ceil(slots)).foldLeft(first) { (places, step) =>
    def moves(place: Place) = place.live && place.places(step)
    places.indices.map { i =>
      val here = places(i)
      val stay = here.live && !here.places(step)
      if (i + (1 << step) >= slots) Place(stay, here.places, here.data)
      else {
        val above = places(i + (1 << step))
        val comes = moves(above)
        Place(stay || comes, Mux(comes, above.places, here.places), Mux(comes, above.data, here.data))
      }
    }
  }
  io.out   := Cat(last.map(_.data).reverse)
  io.count := slots.U - dead.last
}
