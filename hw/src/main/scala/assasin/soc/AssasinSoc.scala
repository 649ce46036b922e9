// SPDX-License-Identifier: BSD-3-Clause
package assasin.soc

import assasin.SocParams
import assasin.bus.Axi4Params
import assasin.core.{Core, CoreParams, StreamCore, StreamCoreParams}
import assasin.flash.{FlashChannel, FlashPhyIO}
import assasin.slot.{KernelSlotIO, SlotTile}
import assasin.xbar.XbarPort
import chisel3._

/** Ports of the chip, see docs/architecture.md "Top-level ports". */
class AssasinSocIO(p: SocParams, axi: Axi4Params) extends BoardIO(axi) {
  val flash = Vec(p.channels, new FlashPhyIO(p.ways, p.phyBytes))
  val slot  = Vec(p.slots, new KernelSlotIO)
}

/** The whole drive controller: what an FPGA holds between PCIe (XDMA), DRAM and flash PHYs. */
class AssasinSoc(p: SocParams) extends Module {
  private val axi =
    Axi4Params(addrBits = 32, dataBits = 64, idBits = if (p.tileDram && p.cores + BoardIO.DramMasters > 16) 5 else 4)

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

  private val dramDst    = XbarPort.dram(p.tiles, p.channels)
  private val coreParams = StreamCoreParams(p, dramDst)
  private val cores = uncore.io.cores.zipWithIndex.map { case (port, i) =>
    val core = withReset(partReset)(Module(new StreamCore(coreParams))).suggestName(s"core$i")
    core.io.hartId := i.U
    core.io.regs <> port.regs
    core.io.in <> port.packets
    port.drain <> core.io.out
    for ((uncoreSide, tile) <- port.dram.zip(core.io.dram)) {
      // Ids differ in width and mean nothing here.
      uncoreSide.ar <> tile.ar
      uncoreSide.aw <> tile.aw
      uncoreSide.w <> tile.w
      tile.r <> uncoreSide.r
      tile.b <> uncoreSide.b
    }
    port.event   := core.io.event
    port.running := core.io.running
    port.status  := core.io.status
    port.debug <> core.io.debug
    core
  }

  private val slots = uncore.io.slots.zipWithIndex.map { case (port, i) =>
    val slot = withReset(partReset)(Module(new SlotTile(p, dramDst))).suggestName(s"slot$i")
    slot.io.regs <> port.regs
    slot.io.ctrl <> port.ctrl
    slot.io.in <> port.packets
    port.drain <> slot.io.out
    port.event   := slot.io.event
    port.running := slot.io.running
    port.id      := io.slot(i).id
    io.slot(i) <> slot.io.kernel
    slot
  }

  for ((port, i) <- uncore.io.channels.zipWithIndex) {
    val channel = withReset(partReset)(Module(new FlashChannel(p))).suggestName(s"channel$i")
    io.flash(i) <> channel.io.phy
    channel.io.number := i.U
    channel.io.regs <> port.regs
    channel.io.in <> port.program
    port.pages <> channel.io.out
    port.fetch <> channel.io.fetch
    port.pending := channel.io.pending
    port.asleep  := channel.io.asleep
    channel.io.room := VecInit(
      if (p.channelLocal) Seq(cores(i).io.room) else cores.map(_.io.room) ++ slots.map(_.io.room)
    )
  }
}
