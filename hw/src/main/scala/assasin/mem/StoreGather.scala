// SPDX-License-Identifier: BSD-3-Clause
package assasin.mem

import assasin.bus.{Axi4, Axi4Params, Axi4WriteIO}
import chisel3._
import chisel3.util.{Decoupled, PriorityEncoder, log2Ceil}

/** A store to DRAM: bytes of the eight around `addr`. */
class DramStore extends Bundle {
  val addr = UInt(32.W)
  val data = UInt(64.W)
  val mask = UInt(8.W)
}

object StoreGather {

  /** Bytes of a line. */
  val LineBytes = 64

  /** Cycles without a store after which a line leaves. The firmware's loops store a word every two to five cycles. */
  val Patience = 8
}

/** Stores of the firmware processor on their way to DRAM. Those to one line gather, and leave in one burst when `send`
  * asks for it or no store has come for [[StoreGather.Patience]] cycles: sixteen words of a header cost as much time as
  * one does alone. Until the burst is answered no other store is taken, so stores stay in order.
  */
class StoreGather(axi: Axi4Params) extends Module {
  val io = IO(new Bundle {
    val store = Flipped(Decoupled(new DramStore))

    /** What has gathered is to leave now. */
    val send = Input(Bool())

    /** All stores are in DRAM. */
    val empty     = Output(Bool())
    val dramWrite = new Axi4WriteIO(axi)
  })

  private val words    = StoreGather.LineBytes / 8
  private val wordBits = log2Ceil(words)
  private val lineBits = log2Ceil(StoreGather.LineBytes)

  private val gathering = RegInit(false.B)
  private val sending   = RegInit(false.B)
  private val addrSent  = Reg(Bool())
  private val dataSent  = Reg(Bool())
  private val line      = Reg(UInt((32 - lineBits).W))
  private val data      = Mem(words, Vec(8, UInt(8.W)))
  private val masks     = Reg(Vec(words, UInt(8.W)))
  private val left      = Reg(UInt(log2Ceil(StoreGather.Patience).W))

  /** First and last word of the burst; `beat` runs between them. */
  private val first = Reg(UInt(wordBits.W))
  private val last  = Reg(UInt(wordBits.W))
  private val beat  = Reg(UInt(wordBits.W))

  private val in   = io.store.bits
  private val word = in.addr(lineBits - 1, 3)
  private val same = gathering && in.addr(31, lineBits) === line
  io.store.ready := !sending && (!gathering || same)
  io.empty       := !gathering && !sending

  when(io.store.fire) {
    gathering := true.B
    line      := in.addr(31, lineBits)
    left      := (StoreGather.Patience - 1).U
    data.write(word, VecInit.tabulate(8)(i => in.data(8 * i + 7, 8 * i)), in.mask.asBools)
    for (w <- 0 until words) {
      val before = Mux(gathering, masks(w), 0.U)
      masks(w) := Mux(word === w.U, before | in.mask, before)
    }
  }.elsewhen(gathering) {
    left := left - 1.U
    when(io.send || left === 0.U) {
      gathering := false.B
      sending   := true.B
      addrSent  := false.B
      dataSent  := false.B
      val used = masks.map(_.orR)
      first := PriorityEncoder(used)
      beat  := PriorityEncoder(used)
      last  := (words - 1).U - PriorityEncoder(used.reverse)
    }
  }

  io.dramWrite.aw.valid      := sending && !addrSent
  io.dramWrite.aw.bits.id    := 0.U
  io.dramWrite.aw.bits.addr  := line ## first ## 0.U(3.W)
  io.dramWrite.aw.bits.len   := last - first
  io.dramWrite.aw.bits.size  := Axi4.Size8
  io.dramWrite.aw.bits.burst := Axi4.Incr
  io.dramWrite.w.valid       := sending && !dataSent
  io.dramWrite.w.bits.data   := data.read(beat).asUInt
  io.dramWrite.w.bits.strb   := masks(beat)
  io.dramWrite.w.bits.last   := beat === last
  io.dramWrite.b.ready       := true.B
  when(io.dramWrite.aw.fire) { addrSent := true.B }
  when(io.dramWrite.w.fire) {
    beat     := beat + 1.U
    dataSent := beat === last
  }
  when(io.dramWrite.b.valid) { sending := false.B }
}
