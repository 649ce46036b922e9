// SPDX-License-Identifier: BSD-3-Clause
package assasin.bus

import chisel3._
import chisel3.util.{MuxLookup, RegEnable}

/** One register of a [[RegMap]].
  *
  * @param offset
  *   byte offset in the block
  * @param read
  *   value a read returns
  * @param write
  *   what a write does with the written word
  * @param onRead
  *   side effect of a read, in the cycle in which the value is taken
  */
case class RegEntry(
    offset: Int,
    read: Option[UInt] = None,
    write: Option[UInt => Unit] = None,
    onRead: () => Unit = () => ()
)

/** Serves a register bus: every access is taken at once and answered in the next cycle. Offsets without an entry read 0
  * and ignore writes.
  */
object RegMap {

  /** `value` extended with zeros to 32 bits. */
  def word(value: UInt): UInt = {
    require(value.getWidth <= 32, s"a register value of ${value.getWidth} bits")
    if (value.getWidth == 32) value else 0.U((32 - value.getWidth).W) ## value
  }

  /** A register of which the bus reads and writes all bits. */
  def rw(offset: Int, reg: UInt): RegEntry =
    RegEntry(offset, Some(reg), Some(data => reg := data(reg.getWidth - 1, 0)))

  /** A register that can only be read. */
  def ro(offset: Int, value: UInt): RegEntry = RegEntry(offset, Some(value))

  /** A register whose reading does something. */
  def pop(offset: Int, value: UInt)(onRead: => Unit): RegEntry = RegEntry(offset, Some(value), None, () => onRead)

  /** A register that can only be written. */
  def wo(offset: Int)(write: UInt => Unit): RegEntry = RegEntry(offset, None, Some(write))

  def apply(bus: RegBusIO)(entries: Seq[RegEntry]): Unit = {
    bus.req.ready  := true.B
    bus.resp.valid := RegNext(bus.req.fire, false.B)
    bus.resp.bits  := RegEnable(serve(bus.req.fire, bus.req.bits)(entries), bus.req.fire)
  }

  /** Does the accesses of `entries` in every cycle with `fire`, and returns the value read. */
  def serve(fire: Bool, req: RegReq)(entries: Seq[RegEntry]): UInt = {
    val offsets = entries.map(_.offset)
    require(offsets.distinct.size == offsets.size, s"two registers at one offset: ${offsets.diff(offsets.distinct)}")
    when(fire && req.write) {
      for (e <- entries; write <- e.write) when(req.addr === e.offset.U) { write(req.wdata) }
    }
    when(fire && !req.write) {
      for (e <- entries) when(req.addr === e.offset.U) { e.onRead() }
    }
    MuxLookup(req.addr, 0.U(32.W))(entries.flatMap(e => e.read.map(v => e.offset.U -> word(v))))
  }
}
