// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Decoupled, Valid}

/** One data access, never misaligned. */
class DmemReq extends Bundle {

  /** Byte address. */
  val addr  = UInt(32.W)
  val write = Bool()

  /** log2 of the width in bytes: 0, 1 or 2. */
  val size = UInt(2.W)

  /** Byte lanes of the aligned word that the access touches (reads too). */
  val mask = UInt(4.W)

  /** Store data in its lanes; the other lanes hold anything. */
  val wdata = UInt(32.W)
}

/** Answer to one access, reads and writes alike. */
class DmemResp extends Bundle {

  /** The aligned word that holds the read bytes. */
  val rdata = UInt(32.W)

  /** Nothing answers at this address: access fault (mcause 5 or 7). */
  val err = Bool()
}

/** Data memory port, seen from the core. A request is taken when `req.fire` and answered by exactly one `resp.valid`
  * one or more cycles later; the core has at most one access outstanding, but may hand over the next request in the
  * cycle of the answer. So a memory that is always ready and answers in the next cycle gives one access a cycle.
  * `req.valid` depends on `resp` in the same cycle, therefore `resp` must not depend combinationally on `req`. A
  * request, once valid, may be withdrawn (interrupt).
  */
class DmemIO extends Bundle {
  val req  = Decoupled(new DmemReq)
  val resp = Flipped(Valid(new DmemResp))
}
