// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Valid, log2Ceil}

/** A write of a stream's field. */
class StreamFieldWrite(width: Int, streams: Int) extends Bundle {
  val stream = UInt(StreamField.idBits(streams).W)
  val value  = UInt(width.W)
}

class StreamFieldIO(width: Int, streams: Int, writers: Int, readers: Int) extends Bundle {

  /** Of two that write the same stream the later one counts. */
  val write = Input(Vec(writers, Valid(new StreamFieldWrite(width, streams))))

  /** Streams whose field becomes 0, whatever is written. */
  val zero = Input(UInt(streams.W))

  /** Streams that are read, and what was written before this cycle; anything of a stream that there is not. */
  val stream = Input(Vec(readers, UInt(StreamField.idBits(streams).W)))
  val value  = Output(Vec(readers, UInt(width.W)))
}

/** One field of each of several streams' descriptors, of which a cycle reads and writes a few. Each writer has a memory
  * of its own. Beside these stands which of them a stream's value is in, or that it is 0, as from reset on.
  */
class StreamField(width: Int, streams: Int, writers: Int, readers: Int) extends Module {
  val io = IO(new StreamFieldIO(width, streams, writers, readers))

  private val indexBits                = log2Ceil(streams)
  private def index(stream: UInt)      = stream(indexBits - 1, 0)
  private def is(stream: UInt, i: Int) = stream === i.U
  private val memories                 = Seq.fill(writers)(Mem(streams, UInt(width.W)))
  private val holders                  = RegInit(VecInit(Seq.fill(streams)(0.U(writers.W))))
  for ((memory, write) <- memories.zip(io.write))
    when(write.valid)(memory(index(write.bits.stream)) := write.bits.value)
  for ((holder, i) <- holders.zipWithIndex) {
    for ((write, w) <- io.write.zipWithIndex) {
      when(write.valid && is(write.bits.stream, i))(holder := (1 << w).U)
    }
    when(io.zero(i))(holder := 0.U)
  }
  for ((value, stream) <- io.value.zip(io.stream)) {
    val holder = MuxTree(index(stream), holders)
    value := memories.zipWithIndex.map { case (memory, w) => Mux(holder(w), memory(index(stream)), 0.U) }.reduce(_ | _)
  }
}

object StreamField {

  /** Bits of the number of a stream, or of what else there are so many of. */
  def idBits(streams: Int): Int = log2Ceil(streams) max 4
}
