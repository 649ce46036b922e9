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
  private val starts = sizes.scanLeft(0.U(log2Ceil(p.slots + p.slotsOfElement).W))((sum, size) => sum + size).init

  private val data     = RegEnable(squeeze.io.out, io.take)
  private val size     = VecInit(sizes.map(RegEnable(_, io.take)))
  private val start    = VecInit(starts.map(RegEnable(_, io.take)))
  private val unsigned = RegEnable(io.operand.metadata.unsigned, io.take)
  private val slots    = VecInit(Seq.tabulate(p.slots)(i => data(p.align * (i + 1) - 1, p.align * i)))

  private val logs                              = 0 to 3
  private val indexBits                         = log2Ceil(p.slots)
  private def byLog[T <: Data](of: Int => T): T = MuxLookup(io.eew, of(0))(logs.tail.map(log => log.U -> of(log)))
  private def element(log: Int, lane: Int): UInt =
    ((io.beat * (p.dBytes >> log).U) + lane.U)(log2Ceil(p.elements) - 1, 0)

  io.lanes := Cat(
    Seq
      .tabulate(p.slots) { s =>
        def slotsOfLane(log: Int) = p.slotsOfByte << log
        val at                    = byLog(log => element(log, s / slotsOfLane(log)))
        val part                  = byLog(log => (s % slotsOfLane(log)).U(p.slotIdBits.W))
        val top                   = slots((start(at) + size(at) - 1.U)(indexBits - 1, 0))(p.align - 1)
        val above                 = Fill(p.align, top && !unsigned && size(at) =/= 0.U)
        Mux(part < size(at), slots((start(at) + part)(indexBits - 1, 0)), above)
      }
      .reverse
  )
}
