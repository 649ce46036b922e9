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

  /** What `peek` asks for (group 6 or 7) is not there yet: the read waits. Same cycle. */
  val stall = Input(Bool())

  /** SGRAIN, bytes. */
  val grain   = Output(UInt(17.W))
  val publish = Valid(new PointerPublish)

  /** log2 of S and of a ring in bytes. Hold still while the core runs. */
  val sLog2    = Input(UInt(2.W))
  val ringLog2 = Input(UInt(5.W))
}
