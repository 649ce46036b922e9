// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, OHToUInt, log2Ceil}

class SqueezeIO(bits: Int, slots: Int) extends Bundle {
  val data = Input(UInt((bits * slots).W))

  /** The slots that are kept. */
  val live = Input(UInt(slots.W))

  /** They stand together in the lowest slots; `count` of them. */
  val out   = Output(UInt((bits * slots).W))
  val count = Output(UInt(log2Ceil(slots + 1).W))
}

/** Leaves out some of `slots` slots of `bits` bits, by steps that move slots downwards by up to 3, 3 * 4, 3 * 16...
  * places: a LUT chooses among four bits. A slot moves as many places as there are dead slots below it. As these
  * numbers never decrease from slot to slot, no two slots meet. What stands above the kept slots means nothing.
  * Combinational.
  */
class Squeeze(bits: Int, slots: Int) extends Module {
  val io = IO(new SqueezeIO(bits, slots))

  /** `places`: how many it has to move. */
  private case class Place(live: Bool, places: UInt, data: UInt)

  private val dead  = PrefixCount(~io.live)
  private val first = Seq.tabulate(slots)(i => Place(io.live(i), dead(i), io.data(bits * (i + 1) - 1, bits * i)))
  private val last = (0 until log2Ceil(slots) by 2).foldLeft(first) { (places, step) =>
    val high = log2Ceil(slots) min (step + 2)
    places.indices.map { i =>
      val sources = (0 until (1 << (high - step))).map(k => i + (k << step)).filter(_ < slots).map(places)
      val comes = sources.zipWithIndex.map { case (source, k) =>
        source.live && source.places(high - 1, step) === k.U
      }
      // At most one comes.
      val number = OHToUInt(comes.padTo(1 << (high - step), false.B))
      Place(comes.reduce(_ || _), MuxTree(number, sources.map(_.places)), MuxTree(number, sources.map(_.data)))
    }
  }
  io.out   := Cat(last.map(_.data).reverse)
  io.count := slots.U - dead.last
}
