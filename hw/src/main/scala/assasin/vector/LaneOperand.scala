// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, MuxLookup, log2Ceil}

class LaneOperandIO(p: VectorParams) extends Bundle {

  /** Lanes of 8 << `eew` bits, of which the first `count` are elements. */
  val data     = Input(UInt(p.vLen.W))
  val eew      = Input(UInt(2.W))
  val count    = Input(UInt(p.vlBits.W))
  val unsigned = Input(Bool())

  val out = Output(new VariableOperand(p))
}

/** A register of fixed width as one of VarVE-full (docs/varve/unit.md 6.4): what lies above a value in its lane is
  * dead. Combinational.
  */
class LaneOperand(p: VectorParams) extends Module {
  require(p.full, "vectors of any width are of VarVE-full")
  val io = IO(new LaneOperandIO(p))

  private val logs                              = 0 to log2Ceil(p.eLen / 8)
  private def byEew[T <: Data](of: Int => T): T = MuxLookup(io.eew, of(0))(logs.tail.map(log => log.U -> of(log)))
  private val ofLanes                           = LaneWidths.bySize(io.data, io.eew, logs, io.unsigned)
  private val widths = Seq.tabulate(p.elements) { i =>
    if (i < ofLanes.size) Mux(i.U < io.count, ofLanes(i), 0.U) else 0.U(7.W)
  }
  private val sizes = widths.map(LaneWidths.slots(_, p.align))

  private val metadata = io.out.metadata
  io.out.data := io.data
  metadata.widths.zip(widths).foreach { case (port, width) => port := width }
  metadata.live := Cat(
    Seq
      .tabulate(p.slots) { s =>
        byEew { log =>
          val slotsOfLane = p.slotsOfByte << log
          sizes(s / slotsOfLane) > (s % slotsOfLane).U
        }
      }
      .reverse
  )
  metadata.count    := Mux(io.count > p.elements.U, p.elements.U, io.count)(log2Ceil(p.elements + 1) - 1, 0)
  metadata.unsigned := io.unsigned
  metadata.mb       := io.eew
}
