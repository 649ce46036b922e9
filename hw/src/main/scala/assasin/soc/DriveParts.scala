// SPDX-License-Identifier: BSD-3-Clause
package assasin.soc

import assasin.SocParams
import assasin.core.{StreamCore, StreamCoreParams}
import assasin.flash.{FlashChannel, FlashPhyIO}
import assasin.slot.{KernelSlotIO, SlotTile}
import assasin.xbar.XbarPort
import chisel3._

/** What every top of the drive puts round [[Uncore]]: cores, slots and flash channels. */
object DriveParts {

  /** Builds cores, slots and flash channels in the module that calls, and connects them to the uncore.
    *
    * @param flash
    *   pins of the channels, one element each
    * @param kernels
    *   ports of the slots, one element each
    * @param partReset
    *   reset of all of them: the chip's reset or [[UncoreIO.hold]]
    */
  def apply(
      p: SocParams,
      uncore: UncoreIO,
      flash: Vec[FlashPhyIO],
      kernels: Vec[KernelSlotIO],
      partReset: Bool
  ): Unit = {
    val dramDst    = XbarPort.dram(p.tiles, p.channels)
    val coreParams = StreamCoreParams(p, dramDst)
    val cores = uncore.cores.zipWithIndex.map { case (port, i) =>
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

    val slots = uncore.slots.zipWithIndex.map { case (port, i) =>
      val slot = withReset(partReset)(Module(new SlotTile(p, dramDst))).suggestName(s"slot$i")
      slot.io.regs <> port.regs
      slot.io.ctrl <> port.ctrl
      slot.io.in <> port.packets
      port.drain <> slot.io.out
      port.event   := slot.io.event
      port.running := slot.io.running
      port.id      := kernels(i).id
      kernels(i) <> slot.io.kernel
      slot
    }

    for ((port, i) <- uncore.channels.zipWithIndex) {
      val channel = withReset(partReset)(Module(new FlashChannel(p))).suggestName(s"channel$i")
      flash(i) <> channel.io.phy
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
}
