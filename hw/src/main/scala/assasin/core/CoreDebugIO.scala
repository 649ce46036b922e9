// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._

/** Debug port of a [[Core]], seen from the core; registers DEBUG in hw/regs/debug.toml say what it does.
  *
  * @param breakpoints
  *   number of breakpoint registers
  */
class CoreDebugIO(breakpoints: Int) extends Bundle {

  /** Level: finish what is in the pipeline and take no further instruction. */
  val halt = Input(Bool())

  /** Pulse: take one. */
  val step = Input(Bool())

  /** EBREAK is `caught` instead of trapping. */
  val ebreak = Input(Bool())

  /** The hart is `caught` when it stops on a trap or hangs, and when it exits. */
  val stops = Input(Bool())
  val exits = Input(Bool())

  /** Addresses of instructions before which this hart is `caught`. */
  val breakEnable = Input(Vec(breakpoints, Bool()))
  val breakAddr   = Input(Vec(breakpoints, UInt(30.W)))

  /** Pulse, only while `halted`: execute `insn`, or with `fetch` take the word at PC as the result. */
  val issue = Input(Bool())
  val fetch = Input(Bool())
  val insn  = Input(UInt(32.W))

  /** No instruction is under way, and none will be. */
  val halted = Output(Bool())

  /** `halt` is to be raised: the hart stands before a breakpoint or an EBREAK, which is repeated until it is, or stops
    * in this cycle.
    */
  val caught = Output(Bool())

  /** In one cycle: the issued instruction is done, `result` is what it computed; with `error` it trapped or was given
    * up.
    */
  val done   = Output(Bool())
  val error  = Output(Bool())
  val result = Output(UInt(32.W))
}
