// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.xbar.XbarBeat
import chisel3._
import chisel3.util.{Cat, Decoupled, Fill, Valid}

/** A sector to be programmed, all but its data. */
class ProgramSector extends Bundle {
  val way     = UInt(4.W)
  val address = UInt(24.W)
  val oob     = UInt(64.W)
  val crc     = UInt(32.W)
}

class SectorFillerIO extends Bundle {
  val config = Input(new FlashConfig)

  /** Fetch the sector of this PROGRAM into `buffer`; only while `free`. */
  val start = Flipped(Valid(new FlashDescriptor))
  val free  = Output(Bool())
  val fetch = Decoupled(new FlashFetch)
  val in    = Flipped(Decoupled(new XbarBeat))

  // The buffer: a word is shown in the cycle after `read` with `granted`.
  val write     = Output(Bool())
  val writeWord = Output(UInt(9.W))
  val writeData = Output(UInt(64.W))
  val read      = Output(Bool())
  val readWord  = Output(UInt(9.W))
  val granted   = Input(Bool())
  val data      = Input(UInt(64.W))

  /** The sector is complete. */
  val done = Valid(new ProgramSector)
}

/** Fetches the data of a sector into its buffer, then passes over it once: fills it up with FFh past the descriptor's
  * count and computes the CRC.
  */
class SectorFiller extends Module {
  val io = IO(new SectorFillerIO)

  private val busy      = RegInit(false.B)
  private val asking    = RegInit(false.B)
  private val filling   = RegInit(false.B)
  private val addr      = Reg(UInt(32.W))
  private val bytes     = Reg(UInt(13.W))
  private val sector    = Reg(new ProgramSector)
  private val wordsLeft = Reg(UInt(10.W))
  private val beat      = RegInit(0.U(3.W))

  io.free             := !busy
  io.fetch.valid      := asking
  io.fetch.bits.addr  := addr
  io.fetch.bits.bytes := bytes
  when(io.fetch.fire) { asking := false.B }

  io.in.ready := true.B
  when(io.in.fire) {
    beat      := Mux(io.in.bits.last, 0.U, beat + 1.U)
    wordsLeft := wordsLeft - 1.U
  }

  // The pass, a word a cycle in three stages: it is read; filled up; summed, and written if it was filled up. Then the other
  // words that the CRC is over.
  private val passing = RegInit(false.B)
  private val index   = RegInit(0.U(10.W))
  private val shown   = RegInit(false.B)
  private val word    = Reg(UInt(9.W))
  private val full    = RegInit(false.B)
  private val place   = Reg(UInt(9.W))
  private val whole   = Reg(UInt(64.W))
  private val changed = RegInit(false.B)
  private val rest    = RegInit(0.U(4.W))
  io.read      := passing
  io.readWord  := index(8, 0)
  io.write     := io.in.fire || changed
  io.writeWord := Mux(changed, place, io.in.bits.addr(11, 3) + beat)
  io.writeData := Mux(changed, whole, io.in.bits.data)
  when(filling && wordsLeft === 0.U) {
    filling := false.B
    passing := true.B
    index   := 0.U
  }
  when(busy) {
    shown   := passing && io.granted
    full    := shown
    changed := false.B
    rest    := rest(2, 0) ## 0.U(1.W)
  }
  when(passing && io.granted) {
    index := index + 1.U
    word  := index(8, 0)
    when(index === (SectorFormat.Words - 1).U) { passing := false.B }
  }
  when(shown) {
    place := word
    whole := io.data
    when(word === bytes(12, 3)) {
      whole   := io.data | (Fill(64, 1.U(1.W)) << Cat(bytes(2, 0), 0.U(3.W)))(63, 0)
      changed := true.B
    }.elsewhen(word > bytes(12, 3)) {
      whole   := Fill(64, 1.U(1.W))
      changed := true.B
    }
    when(word === (SectorFormat.Words - 1).U) { rest := 1.U }
  }
  when(full) { sector.crc := Crc32c.doubleWord(sector.crc, whole) }
  when(rest(3, 1).orR) {
    val next = Mux(rest(1), sector.oob(31, 0), Mux(rest(2), sector.oob(63, 32), io.config.layout))
    sector.crc := Crc32c.word(sector.crc, next)
  }
  private val done = RegInit(false.B)
  done := rest(3)
  when(done) { busy := false.B }
  io.done.valid    := done
  io.done.bits     := sector
  io.done.bits.crc := ~sector.crc

  when(io.start.valid) {
    busy           := true.B
    asking         := true.B
    filling        := true.B
    addr           := io.start.bits.arg
    bytes          := io.start.bits.bytes(12, 0)
    wordsLeft      := (io.start.bits.bytes(12, 0) +& 7.U)(12, 3)
    sector.way     := io.start.bits.way
    sector.address := io.start.bits.address
    sector.oob     := io.start.bits.oob
    sector.crc     := Crc32c.Initial
  }
}
