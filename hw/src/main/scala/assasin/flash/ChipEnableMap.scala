// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import chisel3._
import chisel3.util.{OHToUInt, UIntToOH}

class ChipEnableMapIO(p: SocParams) extends Bundle {

  /** Chip enable of every way, four bits each. */
  val map = Input(UInt((4 * p.ways).W))

  /** As the channel counts ways: at most one chip enable low; R/B. */
  val wayCeN = Input(UInt(p.ways.W))
  val wayRbN = Output(UInt(p.ways.W))

  /** As the pins are numbered. */
  val ceN = Output(UInt(p.ways.W))
  val rbN = Input(UInt(p.ways.W))
}

/** Which chip enable each way drives and whose R/B it looks at. A module may have packages at some chip enables only;
  * the rest of the channel counts its ways from 0.
  *
  * A way whose number in `map` no chip enable has drives none, and is busy.
  */
class ChipEnableMap(p: SocParams) extends Module {
  val io = IO(new ChipEnableMapIO(p))

  private val enables  = Seq.tabulate(p.ways)(w => io.map(4 * w + 3, 4 * w))
  private val selected = (~io.wayCeN).asUInt
  // One is low at most, so one number is enough, which is smaller than a switch of every way to every pin.
  private val number = (io.map >> (OHToUInt(selected) ## 0.U(2.W)))(3, 0)
  io.ceN    := ~Mux(selected.orR, UIntToOH(number, 16)(p.ways - 1, 0), 0.U(p.ways.W))
  io.wayRbN := VecInit(enables.map(e => (io.rbN.pad(16) >> e)(0))).asUInt
}
