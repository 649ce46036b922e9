// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.bus.RegBusIO
import assasin.xbar.XbarBeat
import chisel3._
import chisel3.util.Decoupled

/** Asks the DRAM reader for the data of a page program: it then sends `bytes` bytes from `addr` on as packets to this
  * channel's crossbar port, buffer offsets 0, 64, 128, ... in any order. The channel counts what arrives.
  */
class FlashFetch extends Bundle {

  /** DRAM address, 64-byte aligned. */
  val addr = UInt(32.W)

  /** 1 to the page size. */
  val bytes = UInt(16.W)
}

/** Ports of one flash channel. */
class FlashChannelIO(p: SocParams) extends Bundle {

  /** Number of this channel. */
  val number = Input(UInt(4.W))
  val regs   = Flipped(new RegBusIO(12))
  val phy    = new FlashPhyIO(p.ways, p.phyBytes)

  /** Page data to core streams or DRAM; a packet is offered only once all of it is here. */
  val out = Decoupled(new XbarBeat)

  /** Program data, `addr` = offset in the program buffer. Always ready. */
  val in    = Flipped(Decoupled(new XbarBeat))
  val fetch = Decoupled(new FlashFetch)

  /** roomPage of every stream of every core that this channel can send to, see docs/architecture.md "Stream buffers".
    */
  val room = Input(Vec(p.tilesAChannel, Vec(p.maxStreams, UInt(8.W))))

  /** A completion waits (level). */
  val pending = Output(Bool())

  /** Nothing in the channel moves until R/B or a register access changes something. A page that waits for room keeps it
    * awake.
    */
  val asleep = Output(Bool())
}
