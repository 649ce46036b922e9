// SPDX-License-Identifier: BSD-3-Clause
package assasin.slot

import chisel3._
import chisel3.util.{Cat, Decoupled, Fill}

/** Eight bytes of a stream, fewer at its end. */
class PackedWord extends Bundle {
  val data = UInt(64.W)

  /** Valid bytes, 8; with `last` 0..8. */
  val bytes = UInt(4.W)
  val last  = Bool()
}

/** Closes the gaps of a stream: transfers that keep fewer than eight bytes come out as whole words, but for the last. A
  * transfer a cycle; the last one may take a second.
  */
class AxisPacker extends Module {
  val io = IO(new Bundle {

    /** Drops what is held. */
    val clear = Input(Bool())
    val in    = Flipped(Decoupled(new AxisBeat))
    val out   = Decoupled(new PackedWord)
  })

  private val held     = RegInit(0.U(56.W))
  private val count    = RegInit(0.U(3.W)) // bytes held
  private val flushing = RegInit(false.B)  // what is held is the end

  private val bytes  = io.in.bits.bytes
  private val kept   = io.in.bits.data & Cat((0 until 8).reverse.map(i => Fill(8, bytes > i.U)))
  private val joined = (kept << Cat(count, 0.U(3.W))).asUInt | held
  private val total  = bytes +& count
  private val full   = total >= 8.U
  private val last   = io.in.bits.last
  private val rest   = joined(119, 64)

  io.in.ready       := !flushing && io.out.ready
  io.out.valid      := flushing || io.in.valid && (full || last)
  io.out.bits.data  := Mux(flushing, held, joined(63, 0))
  io.out.bits.bytes := Mux(flushing, count, Mux(full, 8.U, total(3, 0)))
  io.out.bits.last  := flushing || last && total <= 8.U

  when(io.in.fire) {
    held     := Mux(full, rest, joined(55, 0))
    count    := total(2, 0)
    flushing := last && total > 8.U
  }
  when(io.clear || io.out.fire && io.out.bits.last) {
    held     := 0.U
    count    := 0.U
    flushing := false.B
  }
}
