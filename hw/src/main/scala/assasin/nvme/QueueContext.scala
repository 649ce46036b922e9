// SPDX-License-Identifier: BSD-3-Clause
package assasin.nvme

import chisel3._

/** A submission queue. All entry numbers are below or equal to `size`. */
class SqContext extends Bundle {
  val base = UInt(64.W)

  /** Entries - 1. */
  val size = UInt(16.W)
  val cqid = UInt(8.W)

  /** Next entry to fetch, and the latest doorbell. */
  val head = UInt(16.W)
  val tail = UInt(16.W)

  /** Entries up to here have arrived: the SQ head that completions report. */
  val done = UInt(16.W)
}

/** A completion queue. */
class CqContext extends Bundle {
  val base = UInt(64.W)

  /** Entries - 1. */
  val size   = UInt(16.W)
  val vector = UInt(4.W)
  val ien    = Bool()

  /** Latest doorbell, and the next entry to post. */
  val head  = UInt(16.W)
  val tail  = UInt(16.W)
  val phase = Bool()
}
