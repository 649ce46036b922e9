// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** Formats of streams (docs/varve/isa.md 5). */
object StreamKind {

  /** Values of one width; of widths in a stream of their own; of a Huffman code. */
  val Fixed    = 0
  val Variable = 1
  val Huffman  = 2
}

/** VSFMT's bits 13 to 0, the last field lowest. */
class StreamFormat extends Bundle {

  /** Stream buffer of the widths. */
  val aux = UInt(3.W)

  /** In the stream buffer of the stream's id, else in memory. */
  val buffer = Bool()

  /** log2 of the largest width, less 3. */
  val mb       = UInt(2.W)
  val unsigned = Bool()

  /** Bits of a value, or of a Huffman symbol. */
  val valueBits = UInt(7.W)
}

/** What a stream is, and whether it has an error (docs/varve/isa.md 2.1). All 0 while it is not open. */
class StreamFlags extends Bundle {
  val open   = Bool()
  val kind   = UInt(2.W)
  val format = new StreamFormat

  /** Its Huffman table, if it has one. */
  val table = Bool()

  /** Reason that the next instruction with this stream traps for; 0: none. */
  val pending = UInt(3.W)
}

/** What input and output descriptors have besides. All 0 while the stream is not open. */
class StreamDescriptor(p: VectorParams) extends StreamFlags {

  /** Address of the next byte, or its position in the stream buffer's stream, modulo 2^32; and the bit in it. */
  val bytepos = UInt(p.xLen.W)
  val bitpos  = UInt(3.W)

  /** The same of the next width, if the widths are in a stream of their own; else it means nothing. */
  val auxpos = UInt(p.xLen.W)

  /** Elements consumed, or written. */
  val done = UInt(p.xLen.W)
}
