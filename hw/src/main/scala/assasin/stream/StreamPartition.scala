// SPDX-License-Identifier: BSD-3-Clause
package assasin.stream

import chisel3._
import chisel3.util.log2Ceil

/** The run-time partition of a stream buffer into S rings, with what is derived from it kept in registers.
  *
  * @param bytes
  *   size of the buffer
  */
class StreamPartition(val bytes: Int) extends Bundle {

  /** Bits of a byte offset in the buffer. */
  def offsetBits: Int = log2Ceil(bytes)

  val sLog2    = UInt(2.W)
  val pageLog2 = UInt(5.W)

  /** Ring size - 1 and page size - 1, bytes. */
  val ringMask = UInt(log2Ceil(bytes).W)
  val pageMask = UInt(log2Ceil(bytes).W)

  /** Pages a ring holds (P). */
  val pages = UInt(8.W)

  /** Ring size, bytes. */
  def ring: UInt = ringMask +& 1.U

  /** Offset in the buffer of position `pos` of `stream`. */
  def offset(stream: UInt, pos: UInt): UInt = {
    val base = ((stream << (offsetBits - 3)) << (3.U - sLog2))(offsetBits - 1, 0)
    base | (pos(offsetBits - 1, 0) & ringMask)
  }
}
