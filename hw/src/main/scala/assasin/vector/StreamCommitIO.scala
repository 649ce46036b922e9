// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.Valid

/** What [[CommitGate]] and [[StreamGate]] tell each other, seen from the former. */
class StreamCommitIO(p: VectorParams) extends Bundle {

  /** The instruction in the commit stage, if `held`. At the end of this cycle the offered one enters; the one in the
    * stage leaves it with `done`; the core cancels the one in the stage.
    */
  val at      = Output(new VectorOffer(p))
  val held    = Output(Bool())
  val enters  = Output(Bool())
  val leaves  = Output(Bool())
  val forgets = Output(Bool())

  /** The dispatch register is free. */
  val room = Output(Bool())

  /** Nothing is under way. */
  val idle = Output(Bool())

  /** Whether `at` is an instruction of custom-2. Everything below means something only then. */
  val mine = Input(Bool())

  /** As in [[VectorCommitIO]]. */
  val done    = Input(Bool())
  val illegal = Input(Bool())
  val trap    = Input(Bool())
  val cause   = Input(UInt(5.W))
  val tval    = Input(UInt(p.xLen.W))
  val late    = Input(Bool())
  val setVl   = Input(Valid(UInt(p.vlBits.W)))
  val waits   = Input(Valid(new VectorWait))
  val check   = Flipped(new VectorCheckIO(p))

  /** It goes to a path, as `op`. */
  val dispatches = Input(Bool())
  val op         = Input(new VectorOp(p))

  /** Packs for memory are under way: vector loads and stores wait for them. */
  val packing = Input(Bool())
}
