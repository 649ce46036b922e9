// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.xbar.XbarBeat
import chisel3._
import chisel3.util.{Decoupled, UIntToOH, Valid}

class SectorWriterIO(p: SocParams) extends Bundle {
  val config = Input(new FlashConfig)

  /** Fetch the sector of this PROGRAM; only while `free`. */
  val start = Flipped(Valid(new FlashDescriptor))
  val free  = Output(Bool())
  val fetch = Decoupled(new FlashFetch)

  /** Its data; always ready. */
  val in = Flipped(Decoupled(new XbarBeat))

  /** The sector of this way is here. */
  val ready = Valid(UInt(4.W))

  /** A data-in phase of the sector of this way begins. Then, once `primed`, `take` passes on to the next beat; `sent`
    * frees the buffer.
    */
  val send   = Flipped(Valid(UInt(4.W)))
  val primed = Output(Bool())
  val beat   = Output(UInt((8 * p.phyBytes).W))
  val take   = Input(Bool())
  val sent   = Input(Bool())

  /** The code unit's work, and the parity beat it has. */
  val step   = Output(new CodeStep(p))
  val parity = Input(UInt((8 * p.phyBytes).W))
  val quiet  = Output(Bool())
}

/** Sectors that are being programmed: two buffers, of which [[SectorFiller]] fills one while [[SectorEncoder]] sends
  * the other.
  */
class SectorWriter(p: SocParams) extends Module {
  val io = IO(new SectorWriterIO(p))

  private val memory  = SyncReadMem(2 * SectorFormat.Words, UInt(64.W))
  private val filler  = Module(new SectorFiller)
  private val encoder = Module(new SectorEncoder(p))

  private val taken   = RegInit(0.U(2.W))
  private val ready   = RegInit(0.U(2.W))
  private val sectors = Reg(Vec(2, new ProgramSector))

  // The buffer that is filled, and the one that is sent.
  private val filled = RegInit(0.U(1.W))
  private val sent   = RegInit(0.U(1.W))
  private val target = taken(0)
  io.free               := !taken.andR && filler.io.free
  filler.io.config      := io.config
  filler.io.start.valid := io.start.valid
  filler.io.start.bits  := io.start.bits
  io.fetch <> filler.io.fetch
  filler.io.in <> io.in

  // One sector of a way is here at a time, or two in order: the older one goes first.
  private val fits   = VecInit(sectors.zipWithIndex.map { case (s, i) => ready(i) && s.way === io.send.bits })
  private val chosen = Mux(fits.asUInt.andR, ~filled, fits(1))
  encoder.io.config      := io.config
  encoder.io.start.valid := io.send.valid
  encoder.io.start.bits  := sectors(chosen)
  encoder.io.take        := io.take
  encoder.io.sent        := io.sent
  encoder.io.parity      := io.parity
  assert(!io.send.valid || fits.asUInt.orR, "no sector of the way is here")

  when(io.start.valid) { filled := target }
  when(filler.io.done.valid) { sectors(filled) := filler.io.done.bits }
  when(io.send.valid) { sent := chosen }
  private val starts = Mux(io.start.valid, UIntToOH(target, 2), 0.U)
  private val fills  = Mux(filler.io.done.valid, UIntToOH(filled, 2), 0.U)
  private val sends  = Mux(io.send.valid, UIntToOH(chosen, 2), 0.U)
  private val frees  = Mux(io.sent, UIntToOH(sent, 2), 0.U)
  when(io.start.valid || io.sent) { taken := taken & ~frees | starts }
  when(filler.io.done.valid || io.send.valid) { ready := ready & ~sends | fills }
  io.ready.valid := filler.io.done.valid
  io.ready.bits  := filler.io.done.bits.way

  // Beats come first.
  when(filler.io.write) { memory.write(filled ## filler.io.writeWord, filler.io.writeData) }
  private val word = memory.read(
    Mux(encoder.io.read, sent ## encoder.io.index, filled ## filler.io.readWord),
    encoder.io.read || filler.io.read
  )
  filler.io.granted := !encoder.io.read
  filler.io.data    := word
  encoder.io.data   := word

  io.primed := encoder.io.primed
  io.beat   := encoder.io.beat
  io.step   := encoder.io.step
  io.quiet  := taken === 0.U
}
