// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxLookup, log2Ceil}

class OperandExtendIO(p: VectorParams) extends Bundle {

  /** Element group of the source. */
  val in = Input(UInt(p.dLen.W))

  /** The source's elements have 2^`fewer` times fewer bits than the result's. */
  val fewer = Input(UInt(2.W))

  /** Which of its 2^`fewer` parts is extended: the low bits of the number of the result's element group. */
  val part = Input(UInt(3.W))

  /** Extended with the sign instead of zeros. */
  val signed = Input(Bool())

  /** log2 of the bytes of an element of the result. */
  val eew = Input(UInt(2.W))

  val out = Output(UInt(p.dLen.W))
}

/** Extends the elements of a part of an element group, so that they fill a group. Combinational.
  *
  * @param most
  *   the largest `fewer`
  */
class OperandExtend(p: VectorParams, most: Int) extends Module {
  val io = IO(new OperandExtendIO(p))

  private def extended(fewer: Int): UInt = {
    val parts = 1 << fewer
    val bits  = p.dLen / parts
    val part  = VecInit(Seq.tabulate(parts)(i => io.in((i + 1) * bits - 1, i * bits)))(io.part(fewer - 1, 0))
    MuxLookup(io.eew, part.pad(p.dLen))((fewer to log2Ceil(p.eLen / 8)).map { log =>
      val wide   = 8 << log
      val narrow = wide >> fewer
      log.U -> Cat(
        Seq
          .tabulate(p.dLen / wide) { i =>
            val element = part((i + 1) * narrow - 1, i * narrow)
            Cat(Fill(wide - narrow, io.signed && element(narrow - 1)), element)
          }
          .reverse
      )
    })
  }
  io.out := MuxLookup(io.fewer, io.in)((1 to most).map(fewer => fewer.U -> extended(fewer)))
}
