// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._

import assasin.bus.ClockGate

/** [[RowBanks]] that has a clock only in cycles that read or write: in a drive nearly all cycles do neither, and what
  * is made of its wide rows would be evaluated in each. `data` keeps what was read last. Arguments as there.
  *
  * @param clockGate
  *   without it the memory has the clock in every cycle
  */
class GatedRowBanks(
    bytes: Int,
    rowBytes: Int,
    readBytes: Int,
    writeBytes: Int,
    clockGate: Boolean,
    granule: Int = 1,
    rings: Boolean = false
) extends Module {
  private val active = WireDefault(true.B)
  private val gated  = if (clockGate) ClockGate(active) else Module.clock
  private val ram    = withClock(gated)(Module(new RowBanks(bytes, rowBytes, readBytes, writeBytes, granule, rings)))

  val io = IO(chiselTypeOf(ram.io))
  io <> ram.io
  if (clockGate) active := io.read.enable || io.writeEn
}
