// SPDX-License-Identifier: BSD-3-Clause
package assasin.slot

import chisel3._
import chisel3.util.PriorityEncoder

/** One transfer of a 64-bit AXI4-Stream (AMBA AXI-Stream specification, clause 2): bytes in stream order from the
  * lowest lane on.
  */
class AxisBeat extends Bundle {
  val data = UInt(64.W)

  /** TKEEP: valid bytes, without holes from the lowest lane on; 0 to end a stream that has ended before. */
  val keep = UInt(8.W)

  /** Last transfer of the stream. */
  val last = Bool()

  /** Valid bytes, 0..8: those below the first lane that is not kept. */
  def bytes: UInt = PriorityEncoder(true.B ## ~keep)
}

/** A 64-bit AXI4-Stream port with the names that IP integrators know, seen from the master. */
class AxisIO extends Bundle {
  val tvalid = Output(Bool())
  val tready = Input(Bool())
  val tdata  = Output(UInt(64.W))
  val tkeep  = Output(UInt(8.W))
  val tlast  = Output(Bool())
}
