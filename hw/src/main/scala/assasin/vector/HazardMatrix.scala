// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, Valid, log2Ceil}

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

/** Element groups that older instructions of other paths have yet to read and to write. */
class HazardMasks(p: VectorParams) extends Bundle {
  val reads  = UInt(p.egs.W)
  val writes = UInt(p.egs.W)
}

/** Whether they have yet to read and to write one of them; to write v0. */
class HazardLookIO(p: VectorParams) extends Bundle {
  val eg       = Input(UInt(p.egBits.W))
  val reads    = Output(Bool())
  val writes   = Output(Bool())
  val writesV0 = Output(Bool())
}

class HazardMatrixIO(p: VectorParams, depths: Seq[Int]) extends Bundle {
  val queued    = Input(MixedVecOf(depths.map(depth => Vec(depth, Valid(new QueuedUse(p))))))
  val sequenced = Input(Vec(depths.size, Valid(new SequencedUse(p))))

  /** For the sequencers of [[HazardMatrix.masking]]; for those of [[HazardMatrix.looking]]. */
  val masks = Output(Vec(HazardMatrix.masking(p).size, new HazardMasks(p)))
  val looks = Vec(HazardMatrix.looking(p).size, new HazardLookIO(p))

  /** For what the unpack path writes in the next cycle, for which its own instructions do not count. */
  val writtenTag = if (p.full) Some(Input(UInt(p.tagBits.W))) else None
  val written    = if (p.full) Some(new HazardLookIO(p)) else None

  private def MixedVecOf[T <: Data](elements: Seq[T]) = chisel3.util.MixedVec(elements)
}

/** Compares each sequencer's instruction with what the other paths hold (docs/varve/unit.md 3.2). */
class HazardMatrix(p: VectorParams, depths: Seq[Int]) extends Module {
  val io = IO(new HazardMatrixIO(p, depths))

  /** Fewer than half of all tags are between the oldest and the newest under way. */
  private def older(a: UInt, b: UInt): Bool = (a - b)(p.tagBits - 1)

  // A store and a pack write no registers; a load reads v0 at most.
  private val writing                     = Seq(VectorPath.Execute, VectorPath.Load, VectorPath.Unpack)
  private def writes(path: Int, of: UInt) = if (writing.contains(path)) of else 0.U(of.getWidth.W)
  private def reads(path: Int, of: UInt, ofV0: Int) =
    if (path == VectorPath.Load) of(ofV0 - 1, 0).pad(of.getWidth) else of

  /** What an older instruction has yet to touch: a bit a register, or a bit an element group; whether that counts. */
  private case class Use(readsCount: Bool, writesCount: Bool, reads: UInt, writes: UInt) {
    private val perBit = p.egs / reads.getWidth

    private def expand(bits: UInt): UInt = Cat(bits.asBools.map(Fill(p.egs / bits.getWidth, _)).reverse)
    def readsAll: UInt                   = expand(Fill(reads.getWidth, readsCount) & reads)
    def writesAll: UInt                  = expand(Fill(writes.getWidth, writesCount) & writes)

    private def at(bits: UInt, eg: UInt) = MuxTree(eg(p.egBits - 1, log2Ceil(perBit)), bits.asBools)
    def readsAt(eg: UInt): Bool          = readsCount && at(reads, eg)
    def writesAt(eg: UInt): Bool         = writesCount && at(writes, eg)
    def writesV0: Bool                   = writesCount && writes(p.egsPerRegister / perBit - 1, 0).orR
  }
  private def uses(mine: UInt, path: Int): Seq[Use] = {
    val others = depths.indices.filter(_ != path)
    val queued = for (other <- others; entry <- io.queued(other)) yield {
      val counts = entry.valid && older(entry.bits.tag, mine)
      val use    = entry.bits.registers
      Use(counts && !entry.bits.kept, counts, reads(other, use.reads, 1), writes(other, use.writes))
    }
    val sequenced = for (other <- others) yield {
      val entry  = io.sequenced(other)
      val counts = entry.valid && older(entry.bits.tag, mine)
      Use(counts, counts, reads(other, entry.bits.reads, p.egsPerRegister), writes(other, entry.bits.writes))
    }
    queued ++ sequenced
  }

  for ((mask, path) <- io.masks.zip(HazardMatrix.masking(p))) {
    val all = uses(io.sequenced(path).bits.tag, path)
    mask.reads  := all.map(_.readsAll).reduce(_ | _)
    mask.writes := all.map(_.writesAll).reduce(_ | _)
  }
  private def looks(look: HazardLookIO, mine: UInt, path: Int): Unit = {
    val all = uses(mine, path)
    look.reads    := all.map(_.readsAt(look.eg)).reduce(_ || _)
    look.writes   := all.map(_.writesAt(look.eg)).reduce(_ || _)
    look.writesV0 := all.map(_.writesV0).reduce(_ || _)
  }
  for ((look, path) <- io.looks.zip(HazardMatrix.looking(p))) looks(look, io.sequenced(path).bits.tag, path)
  // What is in a sequencer of the execute path now reads in the next cycle, the one of the write, so it still counts.
  for (look <- io.written; tag <- io.writtenTag) looks(look, tag, VectorPath.Unpack)
}

object HazardMatrix {

  /** Paths that look at several element groups at once, so that they are told of all; paths that look at one and at v0.
    * A choice for each instruction takes fewer LUTs than all of its bits.
    */
  def masking(p: VectorParams): Seq[Int] =
    if (p.pup) Seq(VectorPath.Execute, VectorPath.Unpack) else Seq(VectorPath.Execute)
  def looking(p: VectorParams): Seq[Int] =
    Seq(VectorPath.Load, VectorPath.Store) ++ (if (p.pup) Seq(VectorPath.Pack) else Nil)
}
