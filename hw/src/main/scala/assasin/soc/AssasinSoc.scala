package assasin.soc

import assasin.SocParams
import assasin.bus.{Axi4IO, Axi4Params, AxiLiteIO, AxiLiteSlave}
import assasin.contract.{AddressMap, CoreState}
import assasin.core.{Core, CoreParams, StreamCore, StreamCoreParams}
import assasin.flash.{FlashChannel, FlashPhyIO}
import assasin.mem.{AxiSlave, DramArbiter, FirmwareBus, Tcm}
import assasin.nvme.{HostDma, NvmeFrontEnd, XdmaBypassIO, XdmaIrqIO}
import assasin.xbar.{Crossbar, DramReader, DramWriter, XbarPort}
import chisel3._
import chisel3.util.log2Ceil

/** Ports of the chip, see docs/architecture.md "Top-level ports". */
class AssasinSocIO(p: SocParams, axi: Axi4Params) extends Bundle {

  /** Always-on cycle counter. */
  val timebase = Input(UInt(64.W))

  /** Nothing changes inside until an input changes or the timebase reaches `wakeAt`: the clock may stop. */
  val asleep = Output(Bool())
  val wakeAt = Output(UInt(64.W))

  val dram     = new Axi4IO(axi)
  val xdma     = Flipped(new Axi4IO(axi))
  val bar0     = Flipped(new AxiLiteIO(16))
  val xdmaRegs = new AxiLiteIO(16)
  val h2c      = new XdmaBypassIO
  val c2h      = new XdmaBypassIO
  val irq      = new XdmaIrqIO
  val flash    = Vec(p.channels, new FlashPhyIO(p.ways, p.phyBytes))
}

/** The whole drive controller: what an FPGA holds between PCIe (XDMA), DRAM and flash PHYs. */
class AssasinSoc(p: SocParams) extends Module {
  private val axi = Axi4Params(addrBits = 32, dataBits = 64, idBits = 4)

  val io = IO(new AssasinSocIO(p, axi))

  // Host registers: NVMe below 0x8000, board control above.
  private val bar0    = Module(new AxiLiteSlave(16))
  private val nvme    = Module(new NvmeFrontEnd)
  private val control = Module(new ControlRegs(p))
  private val console = Module(new Console)

  bar0.io.axi <> io.bar0
  private val toControl = bar0.io.regs.req.bits.addr(15)
  for ((block, mine) <- Seq(nvme.io.host -> !toControl, control.io.host -> toControl)) {
    block.req.valid := bar0.io.regs.req.valid && mine
    block.req.bits.addr  := bar0.io.regs.req.bits.addr(14, 0)
    block.req.bits.write := bar0.io.regs.req.bits.write
    block.req.bits.wdata := bar0.io.regs.req.bits.wdata
    block.req.bits.strb  := bar0.io.regs.req.bits.strb
  }
  bar0.io.regs.req.ready  := Mux(toControl, control.io.host.req.ready, nvme.io.host.req.ready)
  bar0.io.regs.resp.valid := nvme.io.host.resp.valid || control.io.host.resp.valid
  bar0.io.regs.resp.bits  := Mux(toControl, control.io.host.resp.bits, nvme.io.host.resp.bits)

  private val hold        = control.io.hold
  private val partReset   = reset.asBool || hold
  control.io.timebase    := io.timebase
  control.io.console     := console.io.host
  console.io.hostTake    := control.io.consoleTake
  console.io.hostPut     := control.io.consolePut
  control.io.consoleFull := console.io.hostFull

  // Firmware processor.
  private val firmware = withReset(partReset)(Module(new Core(CoreParams(imemBytes = p.tcmBytes))))
  private val system   = withReset(partReset)(Module(new SystemRegs(p)))
  private val tcm      = Module(new Tcm(p.tcmBytes))
  private val hostDma  = Module(new HostDma(p))

  firmware.io.hartId     := 0.U
  firmware.io.run        := true.B
  firmware.io.entry      := 0.U
  firmware.io.irqPending := system.io.irq
  tcm.io.fetch.en        := true.B
  tcm.io.fetch.word      := firmware.io.imem.addr(log2Ceil(p.tcmBytes) - 1, 2)
  firmware.io.imem.data  := tcm.io.fetch.data
  control.io.sleeping    := firmware.io.sleeping
  control.io.trapped     := firmware.io.status.state =/= CoreState.Running.U && !hold
  control.io.cause       := firmware.io.status.cause
  control.io.pc          := firmware.io.status.pc

  // Cores, channels and the crossbar between them.
  private val coreParams = StreamCoreParams(p, XbarPort.dram(p.cores, p.channels))
  private val cores      = Seq.tabulate(p.cores)(i => withReset(partReset)(Module(new StreamCore(coreParams))).suggestName(s"core$i"))
  private val channels   = Seq.tabulate(p.channels)(i => withReset(partReset)(Module(new FlashChannel(p))).suggestName(s"channel$i"))
  private val crossbar   = withReset(partReset)(Module(new Crossbar(p)))
  private val reader     = Module(new DramReader(p, axi))
  private val writer     = Module(new DramWriter(axi))

  for ((core, i) <- cores.zipWithIndex) {
    core.io.hartId := i.U
    crossbar.io.drains(i) <> core.io.out
    core.io.in <> crossbar.io.toCores(i)
  }
  for ((channel, i) <- channels.zipWithIndex) {
    io.flash(i) <> channel.io.phy
    crossbar.io.channels(i) <> channel.io.out
    channel.io.in <> crossbar.io.toChannels(i)
    reader.io.fetch(i) <> channel.io.fetch
    channel.io.room := VecInit(cores.map(_.io.room))
  }
  crossbar.io.reader <> reader.io.out
  crossbar.io.fill <> hostDma.io.fill
  crossbar.io.flush := hold
  writer.io.in <> crossbar.io.toDram
  writer.io.accepted := crossbar.io.dramAccepted
  writer.io.flush    := hold
  reader.io.order    := writer.io.order
  reader.io.copy <> hostDma.io.copy
  hostDma.io.copied := reader.io.copied
  hostDma.io.order  := writer.io.order
  hostDma.io.flush  := hold

  // Firmware's data side.
  private val windows = Seq(AddressMap.Sys.base -> system.io.regs, AddressMap.Nvme.base -> nvme.io.regs, AddressMap.Hdma.base -> hostDma.io.regs) ++
    channels.zipWithIndex.map { case (c, i) => (AddressMap.Flash.base + AddressMap.Flash.stride * i) -> c.io.regs } ++
    cores.zipWithIndex.map { case (c, i) => (AddressMap.Core.base + AddressMap.Core.stride * i) -> c.io.regs }
  private val bus = Module(new FirmwareBus(p, axi, windows.map(_._1)))
  bus.io.dmem <> firmware.io.dmem
  bus.io.regs.zip(windows).foreach { case (port, (_, block)) => block <> port }
  bus.io.order := writer.io.order
  bus.io.flush := hold
  io.xdmaRegs <> bus.io.xdma
  tcm.io.firmware <> bus.io.tcm

  // Device memory as the XDMA sees it, and the DRAM port.
  private val slave   = Module(new AxiSlave(p, axi))
  private val arbiter = Module(new DramArbiter(axi, readers = 3, writers = 3))
  slave.io.axi <> io.xdma
  slave.io.order := writer.io.order
  tcm.io.dma <> slave.io.tcm
  nvme.io.stage <> slave.io.stage
  arbiter.io.read(0) <> slave.io.dramRead
  arbiter.io.read(1) <> reader.io.dram
  arbiter.io.read(2) <> bus.io.dramRead
  arbiter.io.write(0) <> slave.io.dramWrite
  arbiter.io.write(1) <> writer.io.dram
  arbiter.io.write(2) <> bus.io.dramWrite
  io.dram <> arbiter.io.dram

  // Host DMA, completions, interrupts.
  hostDma.io.fetch <> nvme.io.fetch
  hostDma.io.post <> nvme.io.post
  nvme.io.fetchDone := hostDma.io.fetchDone
  nvme.io.postDone  := hostDma.io.postDone
  nvme.io.c2hPushed := hostDma.io.c2hPushed
  nvme.io.c2hHanded := hostDma.io.c2hHanded
  nvme.io.hold      := hold
  io.h2c <> hostDma.io.h2c
  io.c2h <> hostDma.io.c2h
  io.irq <> nvme.io.irq

  // Events, console, time.
  system.io.timebase := io.timebase
  system.io.sqe      := nvme.io.sqe
  system.io.ctrl     := nvme.io.event
  system.io.hdma     := hostDma.io.event
  system.io.flash    := VecInit(channels.map(_.io.pending)).asUInt
  system.io.core     := VecInit(cores.map(_.io.event)).asUInt
  system.io.bootArg  := control.io.bootArg
  system.io.sleeping := firmware.io.sleeping
  system.io.space    := console.io.space
  system.io.get      := console.io.get
  system.io.waiting  := console.io.waiting
  console.io.put     := system.io.put
  console.io.getTake := system.io.getTake

  private val firmwareQuiet = hold || (firmware.io.sleeping && !system.io.irq) || control.io.trapped
  private val quiet = Seq(
    firmwareQuiet,
    !cores.map(_.io.running).reduce(_ || _) || hold,
    channels.map(_.io.asleep).reduce(_ && _) || hold,
    bar0.io.idle,
    nvme.io.idle,
    hostDma.io.idle,
    console.io.idle,
    reader.io.idle,
    writer.io.idle,
    bus.io.idle,
    slave.io.idle,
    arbiter.io.idle
  ).reduce(_ && _)

  /** Cycles of rest before the clock may stop: longer than any register chain between two of the parts. */
  private val rest = RegInit(0.U(3.W))
  when(!quiet) { rest := 0.U }.elsewhen(!rest.andR) { rest := rest + 1.U }
  io.asleep := quiet && rest.andR
  io.wakeAt := system.io.wakeAt
}
