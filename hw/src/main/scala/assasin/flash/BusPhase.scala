// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import chisel3._

/** One use of the bus for a way's oldest descriptor. */
class BusPhase extends Bundle {
  val slot = UInt(Slot.Bits.W)

  /** Data out after the way's busy time. */
  val data = Bool()

  /** A command that the chip answers with data out (status, id). */
  val status = Bool()

  /** With `status`: it is only looked whether the LUN is ready. */
  val poll = Bool()

  /** Bits of a status that mean a failure, see Transfer. */
  val failMask = UInt(2.W)

  /** The first step. */
  val start = UInt(Step.PlaceBits.W)
  val desc  = new FlashDescriptor
}
