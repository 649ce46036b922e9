// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxLookup, RegEnable, log2Ceil}

class ElementLanesIO(p: VectorParams) extends Bundle {

  /** Takes a register at the end of this cycle. */
  val take    = Input(Bool())
  val operand = Input(new VariableOperand(p))

  /** Of the register taken: number of a group of lanes, log2 of the bytes of a lane, 0 to 3. */
  val beat = Input(UInt(log2Ceil(p.elements).W))
  val eew  = Input(UInt(2.W))

  /** In the same cycle: an element a lane, extended, or cut. */
  val lanes = Output(UInt(p.dLen.W))
}

/** Spreads the elements of a register over lanes (docs/varve/unit.md 6.5). */
class ElementLanes(p: VectorParams) extends Module {
  require(p.full, "vectors of any width are of VarVE-full")
  val io = IO(new ElementLanesIO(p))

  private val squeeze = Module(new Squeeze(p.align, p.slots))
  squeeze.io.data := io.operand.data
  squeeze.io.live := io.operand.metadata.live
  private val sizes  = io.operand.metadata.widths.map(LaneWidths.slots(_, p.align))
  private val starts = PrefixSum(sizes, log2Ceil(p.slots)).init

  private val data     = RegEnable(squeeze.io.out, io.take)
  private val size     = sizes.map(RegEnable(_, io.take))
  private val start    = starts.map(RegEnable(_, io.take))
  private val unsigned = RegEnable(io.operand.metadata.unsigned, io.take)
  private val slots    = Seq.tabulate(p.slots)(i => data(p.align * (i + 1) - 1, p.align * i))

  private val logs                              = 0 to 3
  private val indexBits                         = log2Ceil(p.slots)
  private def byLog[T <: Data](of: Int => T): T = MuxLookup(io.eew, of(0))(logs.tail.map(log => log.U -> of(log)))

  // An element a lane of each size: there are few from which a lane is chosen, one a beat.
  private def ofLanes(of: Seq[UInt]): Seq[Seq[UInt]] = logs.map { log =>
    val lanes = p.dBytes >> log
    Seq.tabulate(lanes)(lane => MuxTree(io.beat, of.drop(lane).grouped(lanes).map(_.head).toSeq))
  }
  private val startOf = ofLanes(start)
  private val sizeOf  = ofLanes(size)

  io.lanes := Cat(
    Seq
      .tabulate(p.slots) { s =>
        def slotsOfLane(log: Int) = p.slotsOfByte << log
        val from                  = byLog(log => startOf(log)(s / slotsOfLane(log)))
        val many                  = byLog(log => sizeOf(log)(s / slotsOfLane(log)))
        val part                  = byLog(log => (s % slotsOfLane(log)).U(p.slotIdBits.W))
        val inside                = part < many
        // The slot itself, or the element's highest one for the sign above it.
        val place = Mux(inside, part, many - 1.U)(p.slotIdBits - 1, 0)
        val slot  = MuxTree((from + place)(indexBits - 1, 0), slots)
        Mux(inside, slot, Fill(p.align, slot(p.align - 1) && !unsigned && many =/= 0.U))
      }
      .reverse
  )
}
