// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.Valid

/** A program's write of a stream pointer. */
class PointerPublish extends Bundle {

  /** OHEAD, else IHEAD. */
  val out    = Bool()
  val stream = UInt(3.W)
  val value  = UInt(32.W)
}

/** The side of a core that keeps its stream pointers in software: CSRs IHEADW to OWAIT. */
class PointerPortIO extends Bundle {

  /** Groups as in [[StreamPeekIO]], and 6 IWAIT, 7 OWAIT. */
  val peek = new StreamPeekIO

  /** The instruction in MEM is a read that waits (group 6 or 7); it stays there until `stall` is 0. */
  val waits = Output(Bool())

  /** What `peek` asks for was not there in the cycle before, or this is the first cycle of `waits`. */
  val stall = Input(Bool())

  /** SGRAIN, bytes. */
  val grain   = Output(UInt(17.W))
  val publish = Valid(new PointerPublish)

  /** log2 of S and of a ring in bytes. Hold still while the core runs. */
  val sLog2    = Input(UInt(2.W))
  val ringLog2 = Input(UInt(5.W))
}
