// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Decoupled, Valid, log2Ceil}

/** The question whether a range of addresses may be accessed. Everything in it is combinational. */
class VectorCheckIO(p: VectorParams) extends Bundle {
  val valid = Output(Bool())
  val write = Output(Bool())

  /** Addresses of the first and last byte; `last` is below `first` for a range that wraps, which is not legal. */
  val first = Output(UInt(p.xLen.W))
  val last  = Output(UInt(p.xLen.W))

  /** The whole range may be accessed; an access in it then cannot fail. */
  val ok = Input(Bool())

  /** Not known yet; ask again. Not together with `ok`. */
  val hold = Input(Bool())

  /** The trap's cause with neither `ok` nor `hold`. */
  val cause = Input(UInt(5.W))
}

/** A read of up to [[VectorParams.memoryBytes]] at any byte address. */
class VectorLoadRequest(p: VectorParams) extends Bundle {
  val addr = UInt(p.xLen.W)

  /** Bytes that matter, 1 to `memoryBytes`. */
  val bytes = UInt((log2Ceil(p.dBytes) + 1).W)
}

/** A write of up to [[VectorParams.memoryBytes]] at any byte address. */
class VectorStoreRequest(p: VectorParams) extends Bundle {
  val addr = UInt(p.xLen.W)

  /** From the addressed byte on, and which of these bytes are written; perhaps none. */
  val data = UInt(p.memoryBits.W)
  val mask = UInt(p.memoryBytes.W)
}

/** The unit's memory (docs/varve/unit.md 4.2), seen from the unit. A load takes effect between its request and its
  * answer, a store between its request and its `storeDone`; the unit orders what overlaps.
  */
class VectorMemoryIO(p: VectorParams) extends Bundle {
  val check = new VectorCheckIO(p)

  /** Only addresses that a check has found legal. */
  val load = Decoupled(new VectorLoadRequest(p))

  /** Answers in the order of the requests, from the addressed byte on; cannot be held up. */
  val loadAnswer = Input(Valid(UInt(p.memoryBits.W)))

  val store = Decoupled(new VectorStoreRequest(p))

  /** One store has been done. At most one a cycle. */
  val storeDone = Input(Bool())
}
