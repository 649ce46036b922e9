// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Mux1H, PriorityEncoderOH}

class HuffmanDecoderIO extends Bundle {
  val code = Input(new HuffmanCode)

  /** What is next in the stream, the first bit highest. */
  val bits = Input(UInt(HuffmanCode.longest.W))

  /** Bits of the code that `bits` begin with, 0 if they begin with none, and number of its symbol. */
  val length = Output(UInt(4.W))
  val index  = Output(UInt(HuffmanCode.indexBits.W))
}

/** Finds the code that a stream has next (docs/varve/unit.md 5.5): the first length whose codes reach above it. */
class HuffmanDecoder extends Module {
  val io = IO(new HuffmanDecoderIO)

  private val lengths = 1 to HuffmanCode.longest
  private val first   = PriorityEncoderOH(io.code.limit.map(io.bits < _))
  io.length := Mux1H(first.zip(lengths.map(_.U(4.W))))
  io.index := Mux1H(first.zip(lengths.map { length =>
    val code = io.bits >> (HuffmanCode.longest - length)
    (io.code.base(length - 1) + code.pad(HuffmanCode.indexBits))(HuffmanCode.indexBits - 1, 0)
  }))
}
