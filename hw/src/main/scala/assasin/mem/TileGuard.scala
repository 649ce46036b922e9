// SPDX-License-Identifier: BSD-3-Clause
package assasin.mem

import assasin.bus.{Axi4IO, Axi4Params, Axi4ReadIO, Axi4WriteIO}
import chisel3._

/** Stands between a tile and the DRAM arbiter, and is not reset with the tile: what the tile has begun there ends in
  * order. A write that is cut short ends with beats that write nothing, answers to what was asked before the reset are
  * dropped, and the tile gets through again when all have come.
  *
  * An address of a write waits for the data of the one before, so that it is known what is owed.
  */
class TileGuard(axi: Axi4Params) extends Module {
  val io = IO(new Bundle {
    val tile  = Flipped(new Axi4IO(axi))
    val read  = new Axi4ReadIO(axi)
    val write = new Axi4WriteIO(axi)

    /** The tile is in reset. */
    val hold = Input(Bool())
  })

  private val reads  = RegInit(0.U(8.W))
  private val writes = RegInit(0.U(8.W))
  private val open   = RegInit(false.B) // between the address and the last data of a write
  private val left   = Reg(UInt(8.W))   // beats - 1
  private val cut    = RegInit(false.B)
  private val pass   = !io.hold && !cut

  when(io.hold) {
    cut := true.B
  }.elsewhen(reads === 0.U && writes === 0.U) {
    cut := false.B
  }

  private val lastGoes = io.write.w.fire && left === 0.U
  private val next     = pass && (!open || lastGoes)

  io.read.ar.valid  := io.tile.ar.valid && pass
  io.read.ar.bits   := io.tile.ar.bits
  io.tile.ar.ready  := io.read.ar.ready && pass
  io.write.aw.valid := io.tile.aw.valid && next
  io.write.aw.bits  := io.tile.aw.bits
  io.tile.aw.ready  := io.write.aw.ready && next
  io.tile.w.ready   := io.write.w.ready && pass && open

  io.write.w.valid     := open && (!pass || io.tile.w.valid)
  io.write.w.bits.data := io.tile.w.bits.data
  io.write.w.bits.strb := Mux(pass, io.tile.w.bits.strb, 0.U)
  io.write.w.bits.last := left === 0.U

  io.tile.r.valid  := io.read.r.valid && pass
  io.tile.r.bits   := io.read.r.bits
  io.read.r.ready  := !pass || io.tile.r.ready
  io.tile.b.valid  := io.write.b.valid && pass
  io.tile.b.bits   := io.write.b.bits
  io.write.b.ready := !pass || io.tile.b.ready

  when(io.write.w.fire) {
    left := left - 1.U
    when(lastGoes) { open := false.B }
  }
  when(io.write.aw.fire) {
    open := true.B
    left := io.write.aw.bits.len
  }
  private val readEnd = io.read.r.fire && io.read.r.bits.last
  when(io.read.ar.fire =/= readEnd) { reads := Mux(readEnd, reads - 1.U, reads + 1.U) }
  when(io.write.aw.fire =/= io.write.b.fire) { writes := Mux(io.write.b.fire, writes - 1.U, writes + 1.U) }
}
