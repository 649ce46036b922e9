// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Valid, log2Ceil}

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

  private val rows   = Mem(32, new VariableMetadata(p))
  private val counts = RegInit(VecInit(Seq.fill(32)(p.elements.U(log2Ceil(p.elements + 1).W))))

  when(io.write.valid) {
    rows.write(io.write.bits.register, io.write.bits.metadata)
    counts(io.write.bits.register) := io.write.bits.metadata.count
  }
  when(io.length.valid)(counts(io.length.bits.register) := io.length.bits.count)
  when(io.clear)(counts.foreach(_ := p.elements.U))

  for ((read, port) <- io.reads.zipWithIndex) {
    read.metadata       := rows(read.register)
    read.metadata.count := counts(read.register)
    if (port < 2) {
      when(io.write.valid && io.write.bits.register === read.register)(read.metadata := io.write.bits.metadata)
      when(io.length.valid && io.length.bits.register === read.register) {
        read.metadata.count := io.length.bits.count
      }
    }
  }
}
