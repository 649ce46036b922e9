// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, Valid}

/** Registers that an instruction in a queue will touch. */
class QueuedUse(p: VectorParams) extends Bundle {
  val tag       = UInt(p.tagBits.W)
  val registers = new RegisterUse

  /** It was taken: what it reads is told by the sequencer. */
  val kept = Bool()
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

  /** The same of what the unpack path writes in the next cycle, for which its own instructions do not count. */
  val written       = if (p.full) Some(Input(UInt(p.tagBits.W))) else None
  val writtenReads  = if (p.full) Some(Output(UInt(p.egs.W))) else None
  val writtenWrites = if (p.full) Some(Output(UInt(p.egs.W))) else None

  private def MixedVecOf[T <: Data](elements: Seq[T]) = chisel3.util.MixedVec(elements)
}

/** Compares each sequencer's instruction with what the other paths hold (docs/varve/unit.md 3.2). */
class HazardMatrix(p: VectorParams, depths: Seq[Int]) extends Module {
  val io = IO(new HazardMatrixIO(p, depths))

  /** Fewer than half of all tags are between the oldest and the newest under way. */
  private def older(a: UInt, b: UInt): Bool = (a - b)(p.tagBits - 1)
  private def expand(registers: UInt): UInt =
    Cat(registers.asBools.map(Fill(p.egsPerRegister, _)).reverse)

  // A store and a pack write no registers; a load reads v0 at most.
  private val writing                     = Seq(VectorPath.Execute, VectorPath.Load, VectorPath.Unpack)
  private def writes(path: Int, of: UInt) = if (writing.contains(path)) of else 0.U(of.getWidth.W)
  private def reads(path: Int, of: UInt, ofV0: Int) =
    if (path == VectorPath.Load) of(ofV0 - 1, 0).pad(of.getWidth) else of

  private def of(mine: UInt, path: Int): (UInt, UInt) = {
    val others = depths.indices.filter(_ != path)
    val queued = for (other <- others; entry <- io.queued(other)) yield {
      val counts = entry.valid && older(entry.bits.tag, mine)
      val use    = entry.bits.registers
      (
        Fill(32, counts && !entry.bits.kept) & reads(other, use.reads, 1),
        Fill(32, counts) & writes(other, use.writes)
      )
    }
    val sequenced = for (other <- others) yield {
      val entry  = io.sequenced(other)
      val counts = Fill(p.egs, entry.valid && older(entry.bits.tag, mine))
      (counts & reads(other, entry.bits.reads, p.egsPerRegister), counts & writes(other, entry.bits.writes))
    }
    def all(which: ((UInt, UInt)) => UInt) =
      expand(queued.map(which).reduce(_ | _)) | sequenced.map(which).reduce(_ | _)
    (all(_._1), all(_._2))
  }
  for (path <- depths.indices) {
    val (reads, writes) = of(io.sequenced(path).bits.tag, path)
    io.olderReads(path)  := reads
    io.olderWrites(path) := writes
  }
  // What is in a sequencer of the execute path now reads in the next cycle, the one of the write, so it still counts.
  for (tag <- io.written; reads <- io.writtenReads; writes <- io.writtenWrites) {
    val (olderReads, olderWrites) = of(tag, VectorPath.Unpack)
    reads  := olderReads
    writes := olderWrites
  }
}
