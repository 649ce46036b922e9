// SPDX-License-Identifier: BSD-3-Clause
package assasin.bus

import chisel3._
import chisel3.util.{Decoupled, Valid}

/** One register access: 32-bit words only. */
class RegReq(addrBits: Int) extends Bundle {

  /** Byte offset inside the block, word aligned. */
  val addr  = UInt(addrBits.W)
  val write = Bool()
  val wdata = UInt(32.W)
}

/** Register bus, seen from the master. One access at a time: a request is taken when `req.fire`, and answered by
  * exactly one `resp.valid` in a later cycle (reads and writes alike). Unknown offsets read 0 and ignore writes.
  */
class RegBusIO(addrBits: Int = 12) extends Bundle {
  val req  = Decoupled(new RegReq(addrBits))
  val resp = Flipped(Valid(UInt(32.W)))
}
