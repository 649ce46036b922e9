// SPDX-License-Identifier: BSD-3-Clause
package assasin.xbar

import chisel3._

/** Ports of the crossbar's destination side: tiles first (cores, then slots), then channels (program data), then DRAM,
  * then the parity engine.
  */
object XbarPort {

  /** Destination number of tile `i`: a core, or behind the last core a slot. */
  def core(i: Int): Int = i

  /** Destination number of channel `i`'s program buffer. */
  def channel(tiles: Int, i: Int): Int = tiles + i

  /** Destination number of the DRAM writer. */
  def dram(tiles: Int, channels: Int): Int = tiles + channels

  /** Destination number of the parity engine. */
  def parity(tiles: Int, channels: Int): Int = dram(tiles, channels) + 1
}

/** One 8-byte beat of a packet. A packet is 1 to 8 beats (64 bytes); all fields but `data` and `last` hold still over
  * the packet, and a source offers a packet only once it holds all of it, so a granted packet always finishes.
  */
class XbarBeat extends Bundle {
  val data = UInt(64.W)

  /** Last beat of the packet. */
  val last = Bool()

  /** Destination, see [[XbarPort]]. */
  val dst = UInt(6.W)

  /** First byte of the packet: DRAM address (64-byte aligned), channel buffer offset, core offset (XB_* windows), or
    * with `toStream` the stream position. 8-byte aligned.
    */
  val addr = UInt(32.W)

  /** Valid bytes in the packet, 1..64; beats = ceil(bytes / 8). */
  val bytes = UInt(7.W)

  /** `addr` is a position of input stream `stream` of the destination core. */
  val toStream = Bool()
  val stream   = UInt(3.W)

  /** Last packet of a page for `toStream`: mark the slot full, Tail advances over full slots in order. */
  val mark = Bool()
}
