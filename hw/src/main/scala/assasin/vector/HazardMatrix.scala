// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, Valid}

/** Registers that an instruction in a queue will touch. */
class QueuedUse(p: VectorParams) extends Bundle {
  val tag    = UInt(p.tagBits.W)
  val reads  = UInt(32.W)
  val writes = UInt(32.W)
}

/** Element groups that the instruction in a sequencer has yet to touch. */
class SequencedUse(p: VectorParams) extends Bundle {
  val tag    = UInt(p.tagBits.W)
  val reads  = UInt(p.egs.W)
  val writes = UInt(p.egs.W)
}

class HazardMatrixIO(p: VectorParams, depths: Seq[Int]) extends Bundle {
  val queued    = Input(MixedVecOf(depths.map(depth => Vec(depth, Valid(new QueuedUse(p))))))
  val sequenced = Input(Vec(depths.size, Valid(new SequencedUse(p))))

  /** For each sequencer: what older instructions of other paths have yet to read and to write. */
  val olderReads  = Output(Vec(depths.size, UInt(p.egs.W)))
  val olderWrites = Output(Vec(depths.size, UInt(p.egs.W)))

  private def MixedVecOf[T <: Data](elements: Seq[T]) = chisel3.util.MixedVec(elements)
}

/** Compares each sequencer's instruction with what the other paths hold (docs/varve/unit.md 3.2). */
class HazardMatrix(p: VectorParams, depths: Seq[Int]) extends Module {
  val io = IO(new HazardMatrixIO(p, depths))

  /** Fewer than half of all tags are between the oldest and the newest under way. */
  private def older(a: UInt, b: UInt): Bool = (a - b)(p.tagBits - 1)
  private def expand(registers: UInt): UInt =
    Cat(registers.asBools.map(Fill(p.egsPerRegister, _)).reverse)

  for (path <- depths.indices) {
    val mine   = io.sequenced(path).bits.tag
    val others = depths.indices.filter(_ != path)
    val queued = for (other <- others; entry <- io.queued(other)) yield {
      val counts = entry.valid && older(entry.bits.tag, mine)
      (Fill(32, counts) & entry.bits.reads, Fill(32, counts) & entry.bits.writes)
    }
    val sequenced = for (other <- others) yield {
      val entry  = io.sequenced(other)
      val counts = entry.valid && older(entry.bits.tag, mine)
      (Fill(p.egs, counts) & entry.bits.reads, Fill(p.egs, counts) & entry.bits.writes)
    }
    io.olderReads(path)  := expand(queued.map(_._1).reduce(_ | _)) | sequenced.map(_._1).reduce(_ | _)
    io.olderWrites(path) := expand(queued.map(_._2).reduce(_ | _)) | sequenced.map(_._2).reduce(_ | _)
  }
}
