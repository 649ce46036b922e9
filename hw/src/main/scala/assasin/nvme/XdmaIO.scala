// SPDX-License-Identifier: BSD-3-Clause
package assasin.nvme

import chisel3._

/** One direction of the XDMA IP's descriptor bypass (PG195, descriptor bypass ports), seen from the user logic. A
  * descriptor is taken in a cycle with load and ready. `sts` is the channel's status port; bit 3 pulses for each
  * descriptor completed, bit 6 is the Run bit.
  */
class XdmaBypassIO extends Bundle {
  val ready   = Input(Bool())
  val load    = Output(Bool())
  val srcAddr = Output(UInt(64.W))
  val dstAddr = Output(UInt(64.W))
  val len     = Output(UInt(28.W))

  /** [0] stop, [1] completed, [4] end of packet. */
  val ctl = Output(UInt(16.W))
  val sts = Input(UInt(8.W))
}

/** XDMA user interrupts: a request is held until acknowledged. With legacy interrupts a request is a level, and both
  * its edges are acknowledged.
  */
class XdmaIrqIO extends Bundle {
  val req = Output(UInt(16.W))
  val ack = Input(UInt(16.W))

  /** The host has enabled MSI-X. */
  val msix = Input(Bool())
}
