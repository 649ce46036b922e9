// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._

/** Ports of [[WideCounter]]. */
class WideCounterIO extends Bundle {
  val clear     = Input(Bool())
  val increment = Input(Bool())

  /** The low half is being read. */
  val takeLow = Input(Bool())
  val low     = Output(UInt(32.W))

  /** As of the latest `takeLow`. */
  val high = Output(UInt(32.W))
}

/** 64-bit event counter read in two halves: taking the low half latches the high one. */
class WideCounter extends Module {
  val io = IO(new WideCounterIO)

  private val count = RegInit(0.U(64.W))
  private val latch = RegInit(0.U(32.W))
  when(io.increment) { count := count + 1.U }
  when(io.clear) { count := 0.U }
  when(io.takeLow) { latch := count(63, 32) }
  io.low  := count(31, 0)
  io.high := latch
}
