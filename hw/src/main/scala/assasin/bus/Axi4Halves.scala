// SPDX-License-Identifier: BSD-3-Clause
package assasin.bus

import chisel3._
import chisel3.util.Decoupled

/** Read half of an AXI4 port, seen from the master. */
class Axi4ReadIO(p: Axi4Params) extends Bundle {
  val ar = Decoupled(new Axi4Addr(p))
  val r  = Flipped(Decoupled(new Axi4Read(p)))
}

/** Write half of an AXI4 port, seen from the master. */
class Axi4WriteIO(p: Axi4Params) extends Bundle {
  val aw = Decoupled(new Axi4Addr(p))
  val w  = Decoupled(new Axi4Write(p))
  val b  = Flipped(Decoupled(new Axi4Resp(p)))
}

/** AXI4 codes (clauses A3.4.1 and A3.4.4 of the AMBA AXI specification). */
object Axi4 {
  val Incr: UInt   = 1.U(2.W)
  val Size8: UInt  = 3.U(3.W)
  val Okay: UInt   = 0.U(2.W)
  val Slverr: UInt = 2.U(2.W)
  val Decerr: UInt = 3.U(2.W)
}
