// SPDX-License-Identifier: BSD-3-Clause
package assasin.subsystem

import chisel3._

/** For a board that stops the chip's clock while nothing happens. */
class ChipClockIO extends Bundle {

  /** Cycles, also those in which the clock stood still. */
  val timebase = Input(UInt(64.W))

  /** Nothing changes inside until an input changes or the timebase reaches `wakeAt`: the clock may stop. */
  val asleep = Output(Bool())
  val wakeAt = Output(UInt(64.W))
}
