// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

import assasin.contract.CoreRegs

/** What happens in a cycle, for a tile's counters (docs/varve/unit.md 8.3). Of the first nine exactly one, by the
  * unit's commit stage; where that waits for room behind it, by the path whose instruction stands before.
  */
class VectorCounts(p: VectorParams) extends Bundle {

  /** An instruction leaves the commit stage. */
  val issued = Bool()

  /** The commit stage has no instruction that may leave it, as the core has none. */
  val waitIssue = Bool()

  /** The same, while the core waits for a scalar result. Not from the unit, but from the tile. */
  val waitResult = Bool()

  /** It waits for an input stream's data, for an output stream's room. */
  val waitInput  = Bool()
  val waitOutput = Bool()

  /** It waits for the number of elements of a strip; for registers; for memory. */
  val waitStrip  = Bool()
  val waitHazard = Bool()
  val waitMemory = Bool()

  /** It waits for what works: a path with several beats, or the gate itself. */
  val waitUnit = Bool()

  /** A VRCNUM has its number. Elements of it, and those that an UNPACK takes. */
  val strip = Bool()
  val taken = UInt((p.vlBits + 1).W)

  /** Whatever the commit stage does: an unpack waits before an idle path until a strip has its number; an operation
    * waits in the sequencer until its registers are written.
    */
  val unpackWaits  = Bool()
  val executeWaits = Bool()

  /** By [[VectorPath]]: a beat. */
  val beats = Vec(5, Bool())

  /** Offsets of the counters' low halves in block CORE, with what each adds in a cycle. */
  def counters: Seq[(Int, UInt)] = {
    Seq(
      CoreRegs.VectorIssuedLo.offset       -> issued,
      CoreRegs.VectorWaitIssueLo.offset    -> waitIssue,
      CoreRegs.VectorWaitResultLo.offset   -> waitResult,
      CoreRegs.VectorWaitInputLo.offset    -> waitInput,
      CoreRegs.VectorWaitOutputLo.offset   -> waitOutput,
      CoreRegs.VectorWaitStripLo.offset    -> waitStrip,
      CoreRegs.VectorWaitHazardLo.offset   -> waitHazard,
      CoreRegs.VectorWaitMemoryLo.offset   -> waitMemory,
      CoreRegs.VectorWaitUnitLo.offset     -> waitUnit,
      CoreRegs.VectorStripsLo.offset       -> strip,
      CoreRegs.VectorElementsLo.offset     -> taken,
      CoreRegs.VectorUnpackWaitsLo.offset  -> unpackWaits,
      CoreRegs.VectorExecuteWaitsLo.offset -> executeWaits,
      CoreRegs.VectorExecuteBeatsLo.offset -> beats(VectorPath.Execute),
      CoreRegs.VectorLoadBeatsLo.offset    -> beats(VectorPath.Load),
      CoreRegs.VectorStoreBeatsLo.offset   -> beats(VectorPath.Store),
      CoreRegs.VectorUnpackBeatsLo.offset  -> beats(VectorPath.Unpack),
      CoreRegs.VectorPackBeatsLo.offset    -> beats(VectorPath.Pack)
    )
  }
}
