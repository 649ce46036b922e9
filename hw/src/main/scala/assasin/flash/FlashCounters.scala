// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.contract.FlashStatus
import chisel3._
import chisel3.util.Valid

/** Counts since reset; see the registers of these names in hw/regs/flash.toml. */
class FlashCounts extends Bundle {
  val busBusy       = UInt(64.W)
  val dataBytes     = UInt(64.W)
  val sectorsRead   = UInt(32.W)
  val bitsCorrected = UInt(32.W)
  val sectorsFailed = UInt(32.W)
}

class FlashCountersIO extends Bundle {

  /** The bus works in this cycle. */
  val busBusy = Input(Bool())

  /** A READ's data phase begins. */
  val readSector = Input(Bool())

  /** A completion goes into the queue. */
  val completed = Flipped(Valid(new FlashCompletion))
  val counts    = Output(new FlashCounts)
}

/** The counters of a channel. */
class FlashCounters extends Module {
  val io = IO(new FlashCountersIO)

  private val counts = RegInit(0.U.asTypeOf(new FlashCounts))
  when(io.busBusy) { counts.busBusy := counts.busBusy + 1.U }
  when(io.readSector) { counts.dataBytes := counts.dataBytes + FlashDescriptor.SectorBytes.U }
  when(io.completed.valid && io.completed.bits.sector) {
    val done       = io.completed.bits
    val failed     = done.status === FlashStatus.Uncorrectable.U || done.status === FlashStatus.Mismatch.U
    val unexpected = done.status === FlashStatus.Foreign.U || done.status === FlashStatus.Misdirected.U
    when(done.status === FlashStatus.Ok.U || failed || unexpected) {
      counts.sectorsRead   := counts.sectorsRead + 1.U
      counts.bitsCorrected := counts.bitsCorrected + done.bits
      when(failed) { counts.sectorsFailed := counts.sectorsFailed + 1.U }
    }
  }
  io.counts := counts
}
