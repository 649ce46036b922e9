// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import chisel3._

/** A flash channel's PHY port, seen from the channel. Every output is one bus cycle's worth in the clock cycle it is
  * shown: the channel keeps the part's timing by the distance between beats, the PHY only shapes pins.
  *
  * @param ways
  *   chip enables
  * @param phyBytes
  *   bytes a data beat carries
  */
class FlashPhyIO(ways: Int, phyBytes: Int) extends Bundle {

  /** Chip enables, active low. */
  val ceN = Output(UInt(ways.W))
  val cle = Output(Bool())
  val ale = Output(Bool())

  /** One-cycle pulse: `dqOut[7:0]` is latched as command (cle) or address (ale) byte. */
  val we = Output(Bool())

  /** One-cycle pulse: `dqOut` is a data-in beat (program data, set-features parameters). */
  val dqOutValid = Output(Bool())
  val dqOut      = Output(UInt((8 * phyBytes).W))

  /** One-cycle pulse: asks for one data-out beat. */
  val re = Output(Bool())

  /** Write protect, active low. */
  val wpN = Output(Bool())

  /** A data-out beat; beats come back in the order of `re`, a fixed PHY latency of 1..15 cycles later. */
  val dqInValid = Input(Bool())
  val dqIn      = Input(UInt((8 * phyBytes).W))

  /** Ready (1) / busy (0) of every chip enable, wired-AND over its LUNs. */
  val rbN = Input(UInt(ways.W))

  /** Constant: what the PHY needs beyond the part's figures, as FLASH.PHY_MARGIN shows it to the firmware. */
  val margin = Input(UInt(FlashPhyIO.MarginBits.W))
}

object FlashPhyIO {

  /** Width of `margin`: the register's. */
  val MarginBits = 32
}
