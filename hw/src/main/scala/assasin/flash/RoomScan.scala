// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import chisel3._
import chisel3.util.{OHToUInt, Valid}

/** The ring place a slot's page waits for. */
class RoomKey extends Bundle {
  val core   = UInt(4.W)
  val stream = UInt(3.W)

  /** Page number of the stream position, modulo 256. */
  val page = UInt(8.W)
}

class RoomScanIO(p: SocParams) extends Bundle {
  val room    = Input(Vec(p.tilesAChannel, Vec(p.maxStreams, UInt(8.W))))
  val discard = Input(UInt(16.W))

  /** Remembers what a slot will wait for. */
  val learn     = Flipped(Valid(new RoomKey))
  val learnSlot = Input(UInt(Slot.Bits.W))

  /** Slots whose page waits for room. */
  val waiting = Input(UInt(Slot.count(p).W))
  val found   = Valid(UInt(Slot.Bits.W))
}

/** Looks up stream room for waiting slots, one every four cycles. Room only grows while pages are on their way, so a
  * late look is safe, and a slot found once needs no second look.
  */
class RoomScan(p: SocParams) extends Module {
  val io = IO(new RoomScanIO(p))

  private val keys = SyncReadMem(Slot.count(p), new RoomKey)
  when(io.learn.valid) { keys.write(Slot.index(p, io.learnSlot), io.learn.bits) }

  private val step = RegInit(0.U(2.W))
  private val last = RegInit(1.U(Slot.count(p).W))
  private val slot = Reg(UInt(Slot.Bits.W))
  private val next = OneHot.after(io.waiting, last)
  private val key  = keys.read(OHToUInt(next), step === 0.U)
  private val page = Reg(UInt(8.W))
  private val sel  = Reg(UInt(3.W))
  private val drop = RegInit(false.B)
  private val row  = Reg(UInt((8 * p.maxStreams).W))

  io.found.valid := false.B
  io.found.bits  := slot
  when(step === 0.U) {
    when(io.waiting.orR) {
      slot := Slot.of(p, next)
      last := next
      step := 1.U
    }
  }.elsewhen(step === 1.U) {
    // A branch a core instead of one wide selector: only the chosen row is looked at.
    if (p.channelLocal) row := io.room(0).asUInt
    else for (c <- 0 until p.tiles) when(key.core === c.U) { row := io.room(c).asUInt }
    page := key.page
    sel  := key.stream
    drop := io.discard(key.core)
    step := 2.U
  }.elsewhen(step === 2.U) {
    val distance = ((row >> (sel ## 0.U(3.W)))(7, 0) - page)(7, 0)
    io.found.valid := drop || (distance >= 1.U && distance <= 128.U)
    step           := 3.U
  }.otherwise {
    step := 0.U
  }
}
