// SPDX-License-Identifier: BSD-3-Clause
package assasin.soc

import assasin.SocParams
import assasin.bus.Axi4Params
import assasin.core.{Core, CoreParams}
import assasin.flash.FlashPhyIO
import assasin.slot.KernelSlotIO
import chisel3._

/** Ports of the chip, see docs/architecture.md "Top-level ports". */
class AssasinSocIO(p: SocParams, axi: Axi4Params) extends BoardIO(axi) {
  val flash = Vec(p.channels, new FlashPhyIO(p.ways, p.phyBytes))
  val slot  = Vec(p.slots, new KernelSlotIO)
}

/** The whole drive controller: what an FPGA holds between PCIe (XDMA), DRAM and flash PHYs. */
class AssasinSoc(p: SocParams) extends Module {
  private val axi = BoardIO.dramParams(p)

  val io = IO(new AssasinSocIO(p, axi))

  private val uncore    = Module(new Uncore(p, axi))
  private val partReset = reset.asBool || uncore.io.hold
  uncore.io.board.timebase := io.timebase
  io.asleep                := uncore.io.board.asleep
  io.wakeAt                := uncore.io.board.wakeAt
  io.dram <> uncore.io.board.dram
  uncore.io.board.xdma <> io.xdma
  uncore.io.board.bar0 <> io.bar0
  io.xdmaRegs <> uncore.io.board.xdmaRegs
  io.h2c <> uncore.io.board.h2c
  io.c2h <> uncore.io.board.c2h
  io.irq <> uncore.io.board.irq

  private val firmware = withReset(partReset)(Module(new Core(CoreParams(imemBytes = p.tcmBytes))))
  firmware.io.hartId     := 0.U
  firmware.io.run        := true.B
  firmware.io.entry      := 0.U
  firmware.io.irqPending := uncore.io.firmware.irq
  uncore.io.firmware.imem <> firmware.io.imem
  uncore.io.firmware.dmem <> firmware.io.dmem
  uncore.io.firmware.sleeping := firmware.io.sleeping
  uncore.io.firmware.status   := firmware.io.status
  uncore.io.firmware.debug <> firmware.io.debug

  DriveParts(p, uncore.io, io.flash, io.slot, partReset)
}
