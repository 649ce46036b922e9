// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Fill, Valid, log2Ceil}

/** A register's metadata takes new values. */
class MetadataWrite(p: VectorParams) extends Bundle {
  val register = UInt(5.W)
  val metadata = new VariableMetadata(p)
}

/** A register becomes one of fixed width, a mask perhaps. */
class MaskLengthWrite(p: VectorParams) extends Bundle {
  val register = UInt(5.W)
  val count    = UInt(log2Ceil(p.elements + 1).W)
}

/** A read in the same cycle. */
class MetadataReadIO(p: VectorParams) extends Bundle {
  val register = Output(UInt(5.W))
  val metadata = Input(new VariableMetadata(p))
}

class MetadataFileIO(p: VectorParams) extends Bundle {

  /** Of these the first two see what is written in the same cycle. */
  val reads = Flipped(Vec(4, new MetadataReadIO(p)))

  val write  = Flipped(Valid(new MetadataWrite(p)))
  val length = Flipped(Valid(new MaskLengthWrite(p)))

  /** All numbers of elements become EMAX. */
  val clear = Input(Bool())
}

/** Metadata of the 32 registers (docs/varve/unit.md 6.1). The number of elements is kept for registers of fixed width
  * too: it is a mask's length.
  */
class MetadataFile(p: VectorParams) extends Module {
  val io = IO(new MetadataFileIO(p))

  private val rows = Mem(32, new VariableMetadata(p))
  when(io.write.valid)(rows.write(io.write.bits.register, io.write.bits.metadata))

  // What a number differs from EMAX in, so that EMAX is 0. A length counts where both write one.
  private val countBits        = log2Ceil(p.elements + 1)
  private val counts           = Module(new StreamField(countBits, 32, 2, io.reads.size)).io
  private def packed(of: UInt) = of ^ p.elements.U(countBits.W)
  counts.write(0).valid       := io.write.valid
  counts.write(0).bits.stream := io.write.bits.register
  counts.write(0).bits.value  := packed(io.write.bits.metadata.count)
  counts.write(1).valid       := io.length.valid
  counts.write(1).bits.stream := io.length.bits.register
  counts.write(1).bits.value  := packed(io.length.bits.count)
  counts.zero                 := Fill(32, io.clear)

  for ((read, port) <- io.reads.zipWithIndex) {
    counts.stream(port) := read.register
    read.metadata       := rows(read.register)
    read.metadata.count := packed(counts.value(port))
    if (port < 2) {
      when(io.write.valid && io.write.bits.register === read.register)(read.metadata := io.write.bits.metadata)
      when(io.length.valid && io.length.bits.register === read.register) {
        read.metadata.count := io.length.bits.count
      }
    }
  }
}
