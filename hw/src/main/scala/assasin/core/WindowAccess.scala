// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Decoupled, Enum, Valid}

import assasin.vector.{VectorParams, VectorWindowRequest}

/** Ports of [[WindowAccess]]. */
class WindowAccessIO(p: VectorParams) extends Bundle {

  /** MEM holds an access to VSDAT or, with `nume`, to NUME, which with `write` writes `data`. The access leaves MEM in
    * the first cycle of `ready`; until then it holds still, but for `data`.
    */
  val valid  = Input(Bool())
  val nume   = Input(Bool())
  val select = Input(UInt(32.W))
  val write  = Input(Bool())
  val data   = Input(UInt(32.W))

  /** `value`, that before a write, is known, and the window takes a request. Does not depend on inputs in the same
    * cycle but for `window.ready`.
    */
  val ready = Output(Bool())
  val value = Output(UInt(32.W))

  /** MEM is emptied whatever it holds; the unit is cleared and owes no answer. */
  val cancel = Input(Bool())
  val clear  = Input(Bool())

  /** [[assasin.vector.VectorIssueIO.window]] and its answer. */
  val window = Decoupled(new VectorWindowRequest)
  val answer = Flipped(Valid(UInt(32.W)))
}

/** Accesses to VSDAT and NUME (docs/varve/isa.md 2.2) by the vector unit's window: a request to read, its answer, and
  * if the instruction writes another request in the cycle in which it leaves MEM. One request is under way at a time.
  */
class WindowAccess(p: VectorParams) extends Module {
  val io = IO(new WindowAccessIO(p))

  // Nothing is under way; a read for the instruction in MEM is; its answer has come; a request whose answer nobody wants.
  private val idle :: asked :: known :: ignored :: Nil = Enum(4)

  private val state = RegInit(idle)
  private val value = RegInit(0.U(32.W))

  io.ready := state === known && io.window.ready
  io.value := value

  io.window.valid       := io.valid && !io.cancel && (state === idle || state === known && io.write)
  io.window.bits.write  := state === known
  io.window.bits.nume   := p.full.B && io.nume
  io.window.bits.select := io.select
  io.window.bits.data   := io.data

  when(io.answer.valid) {
    when(state === asked) {
      state := known
      value := io.answer.bits
    }
    when(state === ignored) { state := idle }
  }
  when(io.window.fire) { state := asked }
  when(io.valid && io.ready) { state := Mux(io.write, ignored, idle) }
  when(io.cancel) {
    when(state === asked) { state := Mux(io.answer.valid, idle, ignored) }
    when(state === known) { state := idle }
  }
  when(io.clear) { state := idle }
}
