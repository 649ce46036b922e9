// SPDX-License-Identifier: BSD-3-Clause
package assasin.subsystem

import assasin.bus.{Axi4IO, AxiLiteIO}
import assasin.flash.FlashPhyIO
import assasin.nvme.{XdmaBypassIO, XdmaIrqIO}
import assasin.slot.KernelSlotIO
import assasin.soc.BoardIO
import chisel3._

/** The drive's pins: PCIe (XDMA), flash PHYs and kernels, see docs/architecture.md "Top-level ports". DRAM is the
  * subsystem's.
  */
class DrivePinsIO(params: DriveParams) extends Bundle {
  private val p = params.soc

  val xdma     = Flipped(new Axi4IO(BoardIO.dramParams(p)))
  val bar0     = Flipped(new AxiLiteIO(BoardIO.Bar0Bits))
  val xdmaRegs = new AxiLiteIO(16)
  val h2c      = new XdmaBypassIO
  val c2h      = new XdmaBypassIO
  val irq      = new XdmaIrqIO
  val flash    = Vec(p.channels, new FlashPhyIO(p.ways, p.phyBytes))
  val slot     = Vec(p.slots, new KernelSlotIO)
  val time     = Option.when(params.clockStops)(new ChipClockIO)
}
