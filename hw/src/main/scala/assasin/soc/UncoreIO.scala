// SPDX-License-Identifier: BSD-3-Clause
package assasin.soc

import assasin.SocParams
import assasin.bus.{Axi4IO, Axi4Params, AxiLiteIO, RegBusIO}
import assasin.contract.DebugRegs
import assasin.core.{CoreDebugIO, CoreStatusIO, DmemIO, ImemIO}
import assasin.flash.FlashFetch
import assasin.nvme.{ControllerMemory, XdmaBypassIO, XdmaIrqIO}
import assasin.xbar.{WriteOrder, XbarBeat}
import chisel3._
import chisel3.util.Decoupled

/** Numbers of the chip's ports. */
object BoardIO {

  /** Address bits of BAR0: registers, and the controller memory buffer in the upper half. */
  val Bar0Bits: Int = ControllerMemory.AddrBits + 1

  /** Masters of the DRAM port beside the tiles. */
  val DramMasters: Int = 4

  /** Shape of the DRAM port, and of the port that the XDMA reaches device memory by. */
  def dramParams(p: SocParams): Axi4Params =
    Axi4Params(addrBits = 32, dataBits = 64, idBits = if (p.tileDram && p.cores + DramMasters > 16) 5 else 4)
}

/** The ports of the chip towards PCIe, DRAM and clock, see docs/architecture.md "Top-level ports". */
class BoardIO(axi: Axi4Params) extends Bundle {

  /** Always-on cycle counter. */
  val timebase = Input(UInt(64.W))

  /** Nothing changes inside until an input changes or the timebase reaches `wakeAt`: the clock may stop. */
  val asleep = Output(Bool())
  val wakeAt = Output(UInt(64.W))

  val dram     = new Axi4IO(axi)
  val xdma     = Flipped(new Axi4IO(axi))
  val bar0     = Flipped(new AxiLiteIO(BoardIO.Bar0Bits))
  val xdmaRegs = new AxiLiteIO(16)
  val h2c      = new XdmaBypassIO
  val c2h      = new XdmaBypassIO
  val irq      = new XdmaIrqIO
}

/** Firmware processor, seen from the uncore. */
class FirmwarePortIO extends Bundle {
  val imem     = Flipped(new ImemIO)
  val dmem     = Flipped(new DmemIO)
  val irq      = Output(Bool())
  val sleeping = Input(Bool())
  val status   = Input(new CoreStatusIO)
  val debug    = Flipped(new CoreDebugIO(DebugRegs.BreakAddr.count))

  /** For a processor that does not read DRAM through `dmem`: how far the packets to DRAM have come. */
  val order = Output(new WriteOrder)
}

/** One ASSASIN core, seen from the uncore. */
class CorePortIO(p: SocParams, axi: Axi4Params) extends Bundle {
  val regs    = new RegBusIO(12)
  val packets = Decoupled(new XbarBeat)
  val drain   = Flipped(Decoupled(new XbarBeat))

  /** The tile's port to DRAM; its ids are not looked at, and everything it is answered comes in order. */
  val dram = if (p.tileDram) Some(Flipped(new Axi4IO(axi))) else None

  val event   = Input(Bool())
  val running = Input(Bool())
  val status  = Input(new CoreStatusIO)
  val debug   = Flipped(new CoreDebugIO(DebugRegs.BreakAddr.count))
}

/** One slot, seen from the uncore. */
class SlotPortIO extends Bundle {
  val regs = new RegBusIO(12)

  /** Registers of the kernel. */
  val ctrl    = new RegBusIO(12)
  val packets = Decoupled(new XbarBeat)
  val drain   = Flipped(Decoupled(new XbarBeat))
  val event   = Input(Bool())
  val running = Input(Bool())

  /** Which kernel is in it. */
  val id = Input(UInt(32.W))
}

/** One flash channel, seen from the uncore. */
class ChannelPortIO extends Bundle {
  val regs    = new RegBusIO(12)
  val program = Decoupled(new XbarBeat)
  val pages   = Flipped(Decoupled(new XbarBeat))
  val fetch   = Flipped(Decoupled(new FlashFetch))
  val pending = Input(Bool())
  val asleep  = Input(Bool())
}

/** Ports of [[Uncore]]. */
class UncoreIO(p: SocParams, axi: Axi4Params) extends Bundle {
  val board    = new BoardIO(axi)
  val firmware = new FirmwarePortIO
  val cores    = Vec(p.cores, new CorePortIO(p, axi))
  val slots    = Vec(p.slots, new SlotPortIO)
  val channels = Vec(p.channels, new ChannelPortIO)

  /** Firmware processor, cores and channels are held in reset. */
  val hold = Output(Bool())
}
