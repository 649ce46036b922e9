// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Decoupled, Valid}

/** What every path has. */
class PathIO(p: VectorParams) extends Bundle {
  val op = Flipped(Decoupled(new VectorOp(p)))

  /** The registers that it reads and writes. */
  val registers = Input(new RegisterUse)

  /** The instruction in the sequencer and the element groups that it has yet to touch. */
  val use = Output(Valid(new SequencedUse(p)))

  /** v0, with what is written in this cycle. */
  val v0 = Input(UInt(p.vLen.W))

  /** The tag ends. */
  val end = Output(Valid(UInt(p.tagBits.W)))

  /** Something is under way. */
  val busy = Output(Bool())

  val activity = Output(new PathActivity)

  val clear = Input(Bool())
}

/** What a path has that looks at several element groups at once. */
class MaskingPathIO(p: VectorParams) extends PathIO(p) {

  /** What older instructions of other paths have yet to read and to write, their writes under way included. */
  val olderReads  = Input(UInt(p.egs.W))
  val olderWrites = Input(UInt(p.egs.W))
}

/** What a path has that looks at one element group, and at v0. */
class LookingPathIO(p: VectorParams) extends PathIO(p) {

  /** Of older instructions of other paths, their writes under way included. */
  val older = Flipped(new HazardLookIO(p))
}

/** Range of addresses of an instruction under way. */
class AccessRange(p: VectorParams) extends Bundle {
  val tag   = UInt(p.tagBits.W)
  val first = UInt(p.xLen.W)
  val last  = UInt(p.xLen.W)
}

/** What a memory path has besides. */
class MemoryPathIO(p: VectorParams) extends LookingPathIO(p) {

  /** The instruction in the sequencer, for those that must not overlap it. */
  val range = Output(Valid(new AccessRange(p)))

  /** The instruction in the sequencer must wait for an older access of the other kind. */
  val ordered = Input(Bool())

  /** A range that holds all accesses that have left the sequencer and are not done; `tag` means nothing. */
  val pending = Output(Valid(new AccessRange(p)))

  /** A store's data, and of both kinds the index; `reading` while an instruction with indices is in the sequencer. */
  val read    = new ElementReadIO(p)
  val reading = Output(Bool())

  /** Used for a careful access only. */
  val check      = new VectorCheckIO(p)
  val carefulEnd = Output(Valid(new CarefulEnd(p)))
}
