// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._

/** Stream instruction in MEM, at most one bit set; held until `stall` is 0. */
class StreamOp extends Bundle {
  val load  = Bool()
  val store = Bool()
  val readI = Bool()
  val readO = Bool()
}

/** Where pointers are read from: `group` 0 IHEAD, 1 ITAIL, 2 OHEAD, 3 OTAIL, 4 IEND, as in the CSR map and the register
  * map.
  */
class StreamPeekIO extends Bundle {
  val group  = Output(UInt(3.W))
  val stream = Output(UInt(3.W))

  /** Same cycle. */
  val data = Input(UInt(32.W))
}

/** The core's side of the stream buffers.
  *
  * A StreamLoad announces its stream while in EX, so that the memory word at the head is there when it is in MEM. An
  * operation completes in the cycle in which it is in MEM and `stall` is 0; pointers advance then, unless `end` or
  * `rangeError`.
  *
  * @param enables
  *   adds `exLoad`, for buffers that are read only when somebody needs it
  */
class StreamPortIO(enables: Boolean) extends Bundle {

  /** Stream of the instruction in EX, and whether EX moves to MEM at the end of this cycle. */
  val exStream = Output(UInt(3.W))
  val advance  = Output(Bool())

  /** The instruction in EX is a StreamLoad. */
  val exLoad = if (enables) Some(Output(Bool())) else None

  val op     = Output(new StreamOp)
  val stream = Output(UInt(3.W))

  /** log2 of the width in bytes. */
  val size = Output(UInt(2.W))

  /** Data of a StreamStore, distance of ReadIStream and ReadOStream. */
  val operand = Output(UInt(32.W))

  val stall = Input(Bool())

  /** StreamLoad: end of stream. */
  val end = Input(Bool())

  /** ReadIStream, ReadOStream: illegal distance. */
  val rangeError = Input(Bool())

  /** The read bytes in the low lanes; lanes above the width hold anything. */
  val rdata = Input(UInt(32.W))

  /** log2 of S and of a ring in bytes. Hold still while the core runs. */
  val sLog2    = Input(UInt(2.W))
  val ringLog2 = Input(UInt(5.W))

  /** CSR reads. */
  val peek = new StreamPeekIO
}
