// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import chisel3._

/** What happens to the beats of one data-out phase. */
class Transfer extends Bundle {
  val way = UInt(4.W)
  val lun = Bool()
  val tag = UInt(12.W)

  /** A look whether the LUN is ready: no completion. */
  val poll = Bool()

  /** Data that goes to the crossbar. Otherwise all beats go into the completion. */
  val main = Bool()

  /** With `main`: a whole sector, coded and scrambled. Otherwise `bytes` bytes as they come. */
  val sector = Bool()

  /** W1: address of the sector. */
  val address = UInt(24.W)

  /** A beat carries one byte (status, id, features, parameter page), whatever the width of the PHY. */
  val narrow = Bool()

  /** The byte is an ONFI status that decides the completion's status. */
  val check = Bool()

  /** With `check`, the bits of the status that mean a failure: FAIL, FAILC. */
  val failMask = UInt(2.W)
  val beats    = UInt(15.W)
  val words    = UInt(13.W)

  /** Bytes of the main area to deliver. */
  val bytes    = UInt(16.W)
  val core     = UInt(4.W)
  val stream   = UInt(3.W)
  val tail     = Bool()
  val toStream = Bool()

  /** The destination has been given up. */
  val drop = Bool()
  val addr = UInt(32.W)

  /** OOB word 0 must be `expected`. */
  val verify   = Bool()
  val expected = UInt(32.W)
}

object Transfer {

  /** Bit of OOB word 0 that is the firmware's mark, not part of the page's name. */
  val MarkBit: Int = 30
}
