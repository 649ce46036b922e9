// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import chisel3._
import chisel3.util.Valid

class ScramblerIO extends Bundle {

  /** Register SEED. */
  val seed = Input(UInt(32.W))

  /** The sector with this address begins. */
  val start = Flipped(Valid(UInt(24.W)))

  /** `word` belongs to the sector's next word; `step` passes on to the one behind it. */
  val ready = Output(Bool())
  val word  = Output(UInt(64.W))
  val step  = Input(Bool())
}

/** The pseudo-random words that data and metadata of a sector are mixed with, see docs/medium.md "Scrambler". Ready
  * three cycles after `start`.
  */
class Scrambler extends Module {
  val io = IO(new ScramblerIO)

  private val state  = RegInit(1.U(64.W))
  private val warmUp = RegInit(0.U(2.W))

  when(io.start.valid) {
    state  := Scrambler.next(Scrambler.next(Scrambler.initial(io.seed, io.start.bits)))
    warmUp := 2.U
  }.elsewhen(warmUp =/= 0.U || io.step) {
    state := Scrambler.next(state)
  }
  when(!io.start.valid && warmUp =/= 0.U) { warmUp := warmUp - 1.U }
  io.ready := warmUp === 0.U
  io.word  := state
}

object Scrambler {

  /** One step of xorshift64. */
  def next(s: UInt): UInt = {
    val a = s ^ (s(50, 0) ## 0.U(13.W))
    val b = a ^ a(63, 7)
    b ^ (b(46, 0) ## 0.U(17.W))
  }

  /** State before the four steps that come ahead of the sector's first word. */
  def initial(seed: UInt, address: UInt): UInt = {
    val s = (seed ^ "h9E3779B9".U) ## (address ^ "h7F4A7C15".U(32.W))
    Mux(s === 0.U, 1.U, s)
  }
}
