// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, log2Ceil}

class SqueezeIO(p: VectorParams) extends Bundle {
  val data = Input(UInt(p.dLen.W))

  /** The bytes that are kept. */
  val live = Input(UInt(p.dBytes.W))

  /** They stand together in the lowest bytes; `count` of them. */
  val out   = Output(UInt(p.dLen.W))
  val count = Output(UInt(log2Ceil(p.dBytes + 1).W))
}

/** Leaves out bytes of an element group, by log2 steps that move bytes downwards by 1, 2, 4... places. A byte moves as
  * many places as there are dead bytes below it. As these numbers never decrease from byte to byte, no two bytes meet.
  * Combinational.
  */
class Squeeze(p: VectorParams) extends Module {
  val io = IO(new SqueezeIO(p))

  /** `places`: how many it has to move. */
  private case class Place(live: Bool, places: UInt, data: UInt)

  private val dead  = PrefixCount(~io.live)
  private val first = Seq.tabulate(p.dBytes)(i => Place(io.live(i), dead(i), io.data(8 * i + 7, 8 * i)))
  private val last = (0 until log2Ceil(p.dBytes)).foldLeft(first) { (places, step) =>
    def moves(place: Place) = place.live && place.places(step)
    places.indices.map { i =>
      val here = places(i)
      val stay = here.live && !here.places(step)
      if (i + (1 << step) >= p.dBytes) Place(stay, here.places, here.data)
      else {
        val above = places(i + (1 << step))
        val comes = moves(above)
        Place(stay || comes, Mux(comes, above.places, here.places), Mux(comes, above.data, here.data))
      }
    }
  }
  io.out   := Cat(last.map(_.data).reverse)
  io.count := p.dBytes.U - dead.last
}
