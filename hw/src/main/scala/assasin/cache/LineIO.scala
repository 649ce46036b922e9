// SPDX-License-Identifier: BSD-3-Clause
package assasin.cache

import chisel3._
import chisel3.util.{Decoupled, Valid}

/** Wish of an L1 cache: a line to be read, or a dirty one to be taken. */
class LineReq(lineBits: Int) extends Bundle {
  val line  = UInt(lineBits.W)
  val write = Bool()
}

/** Eight bytes of a line that was asked for. */
class FillBeat extends Bundle {
  val data = UInt(64.W)

  /** With the last beat: the line may be kept; else it is good for the waiting access only. */
  val keep = Bool()
}

/** An L1 cache's port to what is below it. After a read, eight beats come, lowest address first; after a write, eight
  * beats go. One request at a time: the next one comes after the beats.
  */
class LinePortIO(lineBits: Int) extends Bundle {
  val req   = Decoupled(new LineReq(lineBits))
  val wdata = Valid(UInt(64.W))
  val fill  = Flipped(Valid(new FillBeat))
}

/** Look into an L1 cache from below. */
class SnoopReq(lineBits: Int) extends Bundle {
  val line = UInt(lineBits.W)

  /** The line is dropped, changed or not; else it is only read. */
  val drop = Bool()
}

/** Snoop port, seen from below. `done` comes after every request, with the answer whether the cache holds the line. A
  * line that is read follows in eight beats.
  */
class SnoopIO(lineBits: Int) extends Bundle {
  val req  = Decoupled(new SnoopReq(lineBits))
  val done = Flipped(Valid(Bool()))
  val data = Flipped(Valid(UInt(64.W)))
}
