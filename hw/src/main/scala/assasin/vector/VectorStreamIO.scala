// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.Valid

/** Pointers of one input stream buffer's stream, in the same cycle. Positions are bytes modulo 2^32. */
class StreamInputLookIO extends Bundle {
  val stream = Output(UInt(3.W))

  /** IHEAD, and ITAIL as delivered: perhaps past a known end. */
  val head = Input(UInt(32.W))
  val tail = Input(UInt(32.W))

  /** IEND, if `known`. */
  val end   = Input(UInt(32.W))
  val known = Input(Bool())
}

/** OHEAD and OTAIL of one output stream buffer's stream, in the same cycle: OTAIL - OHEAD bytes may be written. */
class StreamOutputLookIO extends Bundle {
  val stream = Output(UInt(3.W))
  val head   = Input(UInt(32.W))
  val tail   = Input(UInt(32.W))
}

/** A look at [[VectorParams.memoryBytes]] of an input stream from byte `pos` on. It moves nothing. */
class StreamReadRequest extends Bundle {
  val stream = UInt(3.W)
  val pos    = UInt(32.W)
}

/** A new value for IHEAD: the bytes before it are given back. */
class StreamConsume extends Bundle {
  val stream = UInt(3.W)
  val head   = UInt(32.W)
}

/** Bytes for an output stream. */
class StreamWriteRequest(p: VectorParams) extends Bundle {
  val stream = UInt(3.W)

  /** Position of the first byte of `data`: OHEAD. */
  val pos = UInt(32.W)

  /** The new OHEAD: `pos`, and one for each bit of `mask`. */
  val head = UInt(32.W)

  val data = UInt(p.memoryBits.W)

  /** Bytes to write, from the lowest on without a gap; perhaps none. */
  val mask = UInt(p.memoryBytes.W)
}

/** The unit's side of a tile's stream buffers (docs/varve/unit.md 4.3), seen from the unit. While an open stream of
  * VarVE has a stream buffer, its Head is moved by the unit alone.
  */
class VectorStreamIO(p: VectorParams) extends Bundle {

  /** For the gate in the commit stage, and for the pack path. */
  val input  = new StreamInputLookIO
  val output = new StreamOutputLookIO

  /** Not to be held up: it goes before the core's own accesses. The answer comes in the next cycle. Bytes at and past
    * ITAIL are old ones.
    */
  val read       = Output(Valid(new StreamReadRequest))
  val readAnswer = Input(UInt(p.memoryBits.W))

  val consume = Output(Valid(new StreamConsume))

  /** Not to be held up: it goes before a stream.store. Only with room for all bytes of `mask`. */
  val write = Output(Valid(new StreamWriteRequest(p)))

  /** log2 of the number of streams S, and of a ring in bytes. Hold still while the core runs. */
  val sLog2    = Input(UInt(2.W))
  val ringLog2 = Input(UInt(5.W))
}
