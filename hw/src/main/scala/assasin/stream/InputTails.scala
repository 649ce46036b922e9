// SPDX-License-Identifier: BSD-3-Clause
package assasin.stream

import chisel3._
import chisel3.util.{UIntToOH, Valid}

/** Ports of [[InputTails]]. */
class InputTailsIO(bytes: Int, reads: Int) extends Bundle {
  val partition = Input(new StreamPartition(bytes))
  val clear     = Input(Bool())

  /** Slot number, in the buffer, of a page that is complete. */
  val mark = Flipped(Valid(UInt(7.W)))

  /** ITAIL set by the firmware. */
  val write  = Flipped(Valid(new PointerWrite))
  val stream = Input(Vec(reads, UInt(3.W)))
  val value  = Output(Vec(reads, UInt(32.W)))

  /** Bit s: stream s has delivered 2^31 bytes or more, so positions say nothing about its start any more. */
  val far = Output(UInt(8.W))
}

/** ITAIL of every stream, and the slot marks that move it: a page that has arrived whole marks its slot, and the Tail
  * passes marked slots in order, at most 16 cycles after the mark. A Tail moves no earlier than two cycles after the
  * page's last word was written, so that a reader that sees the new Tail reads new data.
  *
  * @param bytes
  *   size of the buffer
  * @param reads
  *   number of read ports
  */
class InputTails(bytes: Int, reads: Int) extends Module {
  private val slots = bytes / 512
  require(slots == 128, s"bytes = $bytes: the marks are laid out for 65536 bytes")

  val io = IO(new InputTailsIO(bytes, reads))

  private val tails = Module(new PointerFile(reads + 1))
  tails.io.clear   := io.clear
  tails.io.initial := 0.U
  for (i <- 0 until reads) {
    tails.io.stream(i) := io.stream(i)
    io.value(i)        := tails.io.value(i)
  }

  // 128 marks as eight words; `live` says which words hold marks since the clear.
  private val marks = Mem(8, UInt(16.W))
  private val live  = RegInit(0.U(8.W))

  // Two-step look at one stream after another: its Tail's slot, then that slot's mark.
  private val scan      = RegInit(0.U(3.W))
  private val checking  = RegInit(false.B)
  private val scanTail  = Reg(UInt(32.W))
  private val scanSlot  = Reg(UInt(7.W))
  private val lastScan  = (1.U(4.W) << io.partition.sLog2)(3, 0) - 1.U
  private val tailNow   = tails.io.value(reads)
  private val offsetNow = io.partition.offset(scan, tailNow)
  tails.io.stream(reads) := scan

  private val slot    = Mux(io.mark.valid, io.mark.bits, scanSlot)
  private val word    = slot(6, 4)
  private val current = Mux(live(word), marks(word), 0.U)
  private val bit     = UIntToOH(slot(3, 0), 16)
  private val found   = (current & bit).orR
  // A mark that comes in uses the marks' port; a written ITAIL voids what was looked up.
  private val passes = checking && !io.mark.valid && !io.write.valid && found
  when(io.mark.valid || passes) {
    marks(word) := Mux(io.mark.valid, current | bit, current & ~bit)
    live        := live | UIntToOH(word, 8)
  }

  when(io.write.valid) {
    checking := false.B
  }.elsewhen(!checking) {
    scanTail := tailNow
    scanSlot := (offsetNow >> io.partition.pageLog2)(6, 0)
    checking := true.B
  }.elsewhen(!io.mark.valid) {
    checking := false.B
    when(!passes) { scan := Mux(scan >= lastScan, 0.U, scan + 1.U) }
  }

  private val next = Wire(new PointerWrite)
  next.stream := Mux(io.write.valid, io.write.bits.stream, scan)
  next.value  := Mux(io.write.valid, io.write.bits.value, (scanTail | io.partition.pageMask) + 1.U)

  tails.io.write.valid := io.write.valid || passes
  tails.io.write.bits  := next

  private val far = RegInit(0.U(8.W))
  when(tails.io.write.valid && next.value(31)) { far := far | UIntToOH(next.stream, 8) }

  when(io.clear) {
    live     := 0.U
    far      := 0.U
    checking := false.B
    scan     := 0.U
  }
  io.far := far
}
