// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._

/** Ports of [[WideCounter]].
  *
  * @param addBits
  *   bits of what is added in a cycle
  */
class WideCounterIO(addBits: Int) extends Bundle {
  val clear     = Input(Bool())
  val increment = Input(UInt(addBits.W))

  /** The low half is being read. */
  val takeLow = Input(Bool())
  val low     = Output(UInt(32.W))

  /** As of the latest `takeLow`. */
  val high = Output(UInt(32.W))
}

/** 64-bit event counter read in two halves: taking the low half latches the high one.
  *
  * @param addBits
  *   bits of the number of events of a cycle
  */
class WideCounter(addBits: Int = 1) extends Module {
  val io = IO(new WideCounterIO(addBits))

  private val count = RegInit(0.U(64.W))
  private val latch = RegInit(0.U(32.W))
  when(io.increment =/= 0.U) { count := count + io.increment }
  when(io.clear) { count := 0.U }
  when(io.takeLow) { latch := count(63, 32) }
  io.low  := count(31, 0)
  io.high := latch
}
