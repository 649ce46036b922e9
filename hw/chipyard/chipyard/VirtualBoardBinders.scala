// SPDX-License-Identifier: BSD-3-Clause
package chipyard.assasindrive

import assasin.bus.Axi4Addr
import chipyard.harness.HarnessBinder
import chipyard.iobinders.AXI4MemPort
import chisel3._
import freechips.rocketchip.amba.axi4.AXI4BundleA
import org.chipsalliance.cde.config.Config

/** Connects drive and memory port of the chip with the ports of [[DriveTop]]. */
class WithVirtualBoard extends Config(new WithVirtualBoardDrive ++ new WithVirtualBoardDram)

/** The drive's pins are those of [[DriveTop]]. */
class WithVirtualBoardDrive
    extends HarnessBinder({ case (top: DriveTop, port: DrivePort, _: Int) =>
      val pins = port.io.bits
      val time = pins.time.getOrElse(throw new IllegalArgumentException("DriveTop: add WithAssasinClockStop"))
      time.timebase := top.io.timebase
      top.io.asleep := time.asleep
      top.io.wakeAt := time.wakeAt
      pins.xdma <> top.io.xdma
      pins.bar0 <> top.io.bar0
      top.io.xdmaRegs <> pins.xdmaRegs
      top.io.h2c <> pins.h2c
      top.io.c2h <> pins.c2h
      top.io.irq <> pins.irq
      top.io.flash <> pins.flash
      top.io.slot <> pins.slot
    })

/** The memory port is the DRAM port of [[DriveTop]]. */
class WithVirtualBoardDram
    extends HarnessBinder({ case (top: DriveTop, port: AXI4MemPort, _: Int) =>
      def address(to: Axi4Addr, from: AXI4BundleA): Unit = {
        to.id    := from.id
        to.addr  := from.addr
        to.len   := from.len
        to.size  := from.size
        to.burst := from.burst
      }
      val chip = port.io.bits
      val dram = top.io.dram
      require(
        chip.params.idBits <= dram.ar.bits.id.getWidth,
        s"the DRAM port has ids of ${dram.ar.bits.id.getWidth} bits"
      )
      require(chip.params.dataBits == dram.r.bits.data.getWidth, "the DRAM port has 64 bits of data")
      dram.ar.valid := chip.ar.valid
      chip.ar.ready := dram.ar.ready
      address(dram.ar.bits, chip.ar.bits)
      dram.aw.valid := chip.aw.valid
      chip.aw.ready := dram.aw.ready
      address(dram.aw.bits, chip.aw.bits)
      dram.w.valid     := chip.w.valid
      chip.w.ready     := dram.w.ready
      dram.w.bits.data := chip.w.bits.data
      dram.w.bits.strb := chip.w.bits.strb
      dram.w.bits.last := chip.w.bits.last
      chip.b.valid     := dram.b.valid
      dram.b.ready     := chip.b.ready
      chip.b.bits.id   := dram.b.bits.id
      chip.b.bits.resp := dram.b.bits.resp
      chip.r.valid     := dram.r.valid
      dram.r.ready     := chip.r.ready
      chip.r.bits.id   := dram.r.bits.id
      chip.r.bits.data := dram.r.bits.data
      chip.r.bits.resp := dram.r.bits.resp
      chip.r.bits.last := dram.r.bits.last
    })
