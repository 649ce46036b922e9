// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import chisel3._

class BeatWatchIO(p: SocParams) extends Bundle {

  /** A beat is asked for; one comes from the PHY. */
  val re        = Input(Bool())
  val dqInValid = Input(Bool())
  val dqIn      = Input(UInt((8 * p.phyBytes).W))

  /** The beats, as many as were asked for; `lost`: none came for it, and it is all ones. */
  val valid = Output(Bool())
  val bits  = Output(UInt((8 * p.phyBytes).W))
  val lost  = Output(Bool())

  /** All beats that were asked for are here. */
  val settled = Output(Bool())
}

/** Ends data out that does not come. A package that is not there, or that has lost its power, gives no strobe, and no
  * beat comes from the PHY: everything behind it would wait for ever.
  */
class BeatWatch(p: SocParams) extends Module {
  val io = IO(new BeatWatchIO(p))

  private val missing = RegInit(0.U(16.W))
  private val silence = RegInit(0.U(6.W))
  private val give    = missing =/= 0.U && silence === BeatWatch.Silence.U
  when(io.re =/= io.valid) { missing := Mux(io.re, missing + 1.U, missing - 1.U) }
  when(io.re || io.dqInValid) {
    silence := 0.U
  }.elsewhen(missing =/= 0.U && !give) {
    silence := silence + 1.U
  }
  // A beat that comes after it was given up is none that anybody waits for.
  io.valid   := missing =/= 0.U && io.dqInValid || give
  io.lost    := give && !io.dqInValid
  io.bits    := Mux(io.lost, ~0.U((8 * p.phyBytes).W), io.dqIn)
  io.settled := missing === 0.U
}

object BeatWatch {

  /** Cycles without a beat, and without one being asked for, after which none comes any more: twice the latency that a
    * PHY may have, see [[FlashPhyIO]].
    */
  val Silence: Int = 32
}
