// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, log2Ceil}

class BytePermuteIO(p: VectorParams) extends Bundle {
  val data = Input(UInt(p.dLen.W))

  /** For each byte of the result: which byte of `data` it is. */
  val index = Input(Vec(p.dBytes, UInt(log2Ceil(p.dBytes).W)))

  val out = Output(UInt(p.dLen.W))
}

/** A crossbar of the bytes of an element group. Combinational. */
class BytePermute(p: VectorParams) extends Module {
  val io = IO(new BytePermuteIO(p))

  private val bytes = Seq.tabulate(p.dBytes)(i => io.data(8 * i + 7, 8 * i))
  io.out := Cat(io.index.map(MuxTree(_, bytes)).reverse)
}
