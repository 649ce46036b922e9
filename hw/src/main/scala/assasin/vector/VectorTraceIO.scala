// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.Valid

/** An instruction leaves the commit stage; a careful memory access when it begins. */
class VectorTraceCommit(p: VectorParams) extends Bundle {
  val tag = UInt(p.tagBits.W)

  /** It does nothing behind the commit point; its tag does not end. */
  val empty = Bool()
}

/** A register write. */
class VectorTraceWrite(p: VectorParams) extends Bundle {
  val tag   = UInt(p.tagBits.W)
  val write = new RegisterWrite(p)
}

/** What happens behind the commit point, for co-simulation. An instruction's writes come between its commit and the end
  * of its tag, both in the same cycle at the earliest.
  */
class VectorTraceIO(p: VectorParams) extends Bundle {
  val commit = Valid(new VectorTraceCommit(p))
  val write  = Valid(new VectorTraceWrite(p))

  /** Of VarVE-full, with a write: the register's metadata; the widths of its elements, a byte each; or its number of
    * elements alone.
    */
  val metadata = Option.when(p.full)(Valid(new MetadataWrite(p)))
  val widths   = Option.when(p.full)(UInt((8 * p.elements).W))
  val length   = Option.when(p.full)(Valid(new MaskLengthWrite(p)))

  /** By path: the instruction of this tag writes no more. */
  val ends = Vec(VectorPath.count(p), Valid(UInt(p.tagBits.W)))

  /** The clock gate lets the edge at the end of this cycle not pass. */
  val stops = Bool()
}
