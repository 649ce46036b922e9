// SPDX-License-Identifier: BSD-3-Clause
package assasin.soc

import assasin.SocParams
import assasin.bus.{Axi4Params, AxiLiteSlave}
import assasin.contract.{AddressMap, CoreState}
import assasin.mem.{AxiSlave, DramArbiter, FirmwareBus, Tcm, TileGuard}
import assasin.nvme.{ControllerMemory, HostDma, NvmeFrontEnd}
import assasin.xbar.{Crossbar, DramReader, DramWriter}
import chisel3._
import chisel3.util.{Fill, Mux1H, log2Ceil}

/** Everything of the chip but processors and flash channels: host interface, memories, crossbar, DRAM port, system
  * registers.
  */
class Uncore(p: SocParams, axi: Axi4Params) extends Module {
  val io = IO(new UncoreIO(p, axi))

  // BAR0: NVMe registers below 0x8000, board control and debug block (4 KiB each) from there, the controller memory buffer in
  // the upper half.
  private val bar0    = Module(new AxiLiteSlave(BoardIO.Bar0Bits))
  private val nvme    = Module(new NvmeFrontEnd(axi, p.memoryBuffer))
  private val control = Module(new ControlRegs(p))
  private val debug   = Module(new DebugModule(p))
  private val console = Module(new Console)

  bar0.io.axi <> io.board.bar0
  private val hostReq   = bar0.io.regs.req
  private val toMemory  = hostReq.bits.addr(ControllerMemory.AddrBits)
  private val toNothing = !toMemory && hostReq.bits.addr(ControllerMemory.AddrBits - 1, 16).orR
  private val inBlocks  = !toMemory && !toNothing
  private val toDebug   = inBlocks && hostReq.bits.addr(15, 12) === (DebugModule.Base >> 12).U
  private val toControl = inBlocks && hostReq.bits.addr(15) && !toDebug
  private val toNvme    = inBlocks && !hostReq.bits.addr(15)
  private val blocks = Seq(
    nvme.io.host    -> toNvme,
    control.io.host -> toControl,
    debug.io.host   -> toDebug,
    nvme.io.memory  -> toMemory
  )
  for ((block, mine) <- blocks) {
    block.req.valid      := hostReq.valid && mine
    block.req.bits.addr  := hostReq.bits.addr(block.req.bits.addr.getWidth - 1, 0)
    block.req.bits.write := hostReq.bits.write
    block.req.bits.wdata := hostReq.bits.wdata
    block.req.bits.strb  := hostReq.bits.strb
  }
  private val toNobody = RegNext(hostReq.valid && toNothing, false.B)
  hostReq.ready           := toNothing || blocks.map { case (block, mine) => mine && block.req.ready }.reduce(_ || _)
  bar0.io.regs.resp.valid := toNobody || blocks.map(_._1.resp.valid).reduce(_ || _)
  bar0.io.regs.resp.bits  := Mux1H(blocks.map { case (block, mine) => mine -> block.resp.bits })

  /** CTRL.RESET.FW, and after it until DRAM has nothing under way that began before: what a reset cuts short would
    * otherwise be taken for what comes after it.
    */
  private val settled = Wire(Bool())
  private val hold    = RegInit(true.B)
  when(control.io.hold) { hold := true.B }.elsewhen(settled) { hold := false.B }
  private val partReset = reset.asBool || hold
  io.hold                := hold
  control.io.timebase    := io.board.timebase
  control.io.console     := console.io.host
  console.io.hostTake    := control.io.consoleTake
  console.io.hostPut     := control.io.consolePut
  control.io.consoleFull := console.io.hostFull

  // Firmware processor.
  private val system  = withReset(partReset)(Module(new SystemRegs(p)))
  private val tcm     = Module(new Tcm(p.tcmBytes))
  private val hostDma = Module(new HostDma(p))

  io.firmware.irq       := system.io.irq
  tcm.io.fetch.en       := true.B
  tcm.io.fetch.word     := io.firmware.imem.addr(log2Ceil(p.tcmBytes) - 1, 2)
  io.firmware.imem.data := tcm.io.fetch.data
  control.io.sleeping   := io.firmware.sleeping
  control.io.trapped    := (io.firmware.status.state =/= CoreState.Running.U || system.io.trapped) && !hold
  control.io.cause      := Mux(system.io.trapped, system.io.trapCause, io.firmware.status.cause)
  control.io.pc         := Mux(system.io.trapped, system.io.trapPc, io.firmware.status.pc)

  // Debug: cores, then the firmware processor.
  for (
    (hart, port) <- debug.io.harts.zip(
      io.cores.map(c => (c.debug, c.status)) :+ (io.firmware.debug, io.firmware.status)
    )
  ) {
    port._1 <> hart.debug
    hart.status := port._2
  }

  // Crossbar between cores, channels and DRAM.
  private val crossbar = withReset(partReset)(Module(new Crossbar(p)))
  private val reader   = Module(new DramReader(p, axi))
  private val writer   = Module(new DramWriter(axi))

  for ((core, i) <- io.cores.zipWithIndex) {
    crossbar.io.drains(i) <> core.drain
    core.packets <> crossbar.io.toCores(i)
  }
  for ((slot, i) <- io.slots.zipWithIndex) {
    crossbar.io.drains(p.cores + i) <> slot.drain
    slot.packets <> crossbar.io.toCores(p.cores + i)
  }
  for ((channel, i) <- io.channels.zipWithIndex) {
    crossbar.io.channels(i) <> channel.pages
    channel.program <> crossbar.io.toChannels(i)
    reader.io.fetch(i) <> channel.fetch
  }
  crossbar.io.reader <> reader.io.out
  crossbar.io.fill <> hostDma.io.fill
  crossbar.io.parity <> hostDma.io.parity
  hostDma.io.toParity <> crossbar.io.toParity
  crossbar.io.flush := hold
  writer.io.in <> crossbar.io.toDram
  writer.io.accepted := crossbar.io.dramAccepted
  writer.io.flush    := hold
  io.firmware.order  := writer.io.order
  settled            := writer.io.settled && reader.io.idle
  reader.io.order    := writer.io.order
  reader.io.copy <> hostDma.io.copy
  hostDma.io.copied := reader.io.copied
  hostDma.io.order  := writer.io.order
  hostDma.io.flush  := hold

  // Firmware's data side.
  private def bases(first: BigInt, stride: Int, count: Int): Seq[BigInt] =
    Seq.tabulate(count)(first + BigInt(stride) * _)

  private val windows =
    Seq(
      AddressMap.Sys.base  -> system.io.regs,
      AddressMap.Nvme.base -> nvme.io.regs,
      AddressMap.Hdma.base -> hostDma.io.regs
    ) ++
      bases(AddressMap.Flash.base, AddressMap.Flash.stride, p.channels).zip(io.channels.map(_.regs)) ++
      bases(AddressMap.Core.base, AddressMap.Core.stride, p.tiles)
        .zip(io.cores.map(_.regs) ++ io.slots.map(_.regs)) ++
      bases(AddressMap.Slot.base, AddressMap.Slot.stride, p.slots).zip(io.slots.map(_.ctrl))
  private val bus = Module(new FirmwareBus(p, axi, windows.map(_._1)))
  bus.io.dmem <> io.firmware.dmem
  bus.io.regs.zip(windows).foreach { case (port, (_, block)) => block <> port }
  bus.io.order      := writer.io.order
  bus.io.flush      := hold
  bus.io.cacheFirst := system.io.cacheFirst
  bus.io.cacheEnd   := system.io.cacheEnd
  bus.io.cacheFlush := system.io.cacheFlush
  io.board.xdmaRegs <> bus.io.xdma
  tcm.io.firmware <> bus.io.tcm

  // Device memory as the XDMA sees it, and the DRAM port.
  private val tiles = io.cores.flatMap(_.dram)
  private val slave = Module(new AxiSlave(p, axi))
  private val arbiter = Module(
    new DramArbiter(axi, readers = BoardIO.DramMasters + tiles.size, writers = BoardIO.DramMasters + tiles.size)
  )
  slave.io.axi <> io.board.xdma
  slave.io.order     := writer.io.order
  slave.io.tcmFirst  := system.io.tcmFirst
  slave.io.tcmEnd    := system.io.tcmEnd
  slave.io.dramFirst := system.io.dramFirst
  slave.io.dramEnd   := system.io.dramEnd
  tcm.io.dma <> slave.io.tcm
  nvme.io.stage <> slave.io.stage
  arbiter.io.read(0) <> slave.io.dramRead
  arbiter.io.read(1) <> reader.io.dram
  arbiter.io.read(2) <> bus.io.dramRead
  arbiter.io.write(0) <> slave.io.dramWrite
  arbiter.io.write(1) <> writer.io.dram
  arbiter.io.write(2) <> bus.io.dramWrite
  arbiter.io.read(3) <> nvme.io.memoryRead
  arbiter.io.write(3) <> nvme.io.memoryWrite
  for ((tile, i) <- tiles.zipWithIndex) {
    val guard = Module(new TileGuard(axi))
    guard.io.tile <> tile
    guard.io.hold := hold
    arbiter.io.read(BoardIO.DramMasters + i) <> guard.io.read
    arbiter.io.write(BoardIO.DramMasters + i) <> guard.io.write
  }
  io.board.dram <> arbiter.io.dram

  // Host DMA, completions, interrupts.
  hostDma.io.fetch <> nvme.io.fetch
  hostDma.io.post <> nvme.io.post
  nvme.io.fetchDone := hostDma.io.fetchDone
  nvme.io.postDone  := hostDma.io.postDone
  nvme.io.c2hPushed := hostDma.io.c2hPushed
  nvme.io.c2hHanded := hostDma.io.c2hHanded
  nvme.io.hold      := hold
  io.board.h2c <> hostDma.io.h2c
  io.board.c2h <> hostDma.io.c2h
  io.board.irq <> nvme.io.irq

  // Events, console, time.
  system.io.timebase := io.board.timebase
  system.io.sqe      := nvme.io.sqe
  system.io.ctrl     := nvme.io.event
  system.io.hdma     := hostDma.io.event
  system.io.flash    := VecInit(io.channels.map(_.pending)).asUInt
  system.io.core     := VecInit(io.cores.map(_.event) ++ io.slots.map(_.event)).asUInt
  system.io.slotId.zip(io.slots).foreach { case (id, slot) => id := slot.id }
  system.io.bootArg   := control.io.bootArg
  system.io.dramRead  := arbiter.io.readBytes
  system.io.dramWrite := arbiter.io.writeBytes
  system.io.sleeping  := io.firmware.sleeping
  system.io.space     := console.io.space
  system.io.get       := console.io.get
  system.io.waiting   := console.io.waiting
  console.io.put      := system.io.put
  console.io.getTake  := system.io.getTake

  private val quiet = Seq(
    hold || (io.firmware.sleeping && !system.io.irq) || control.io.trapped || io.firmware.debug.halted,
    debug.io.idle,
    hold || !(io.cores.map(_.running) ++ io.slots.map(_.running)).reduce(_ || _),
    hold || io.channels.map(_.asleep).reduce(_ && _),
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
  io.board.asleep := quiet && rest.andR
  // A halted firmware processor does not see its timer.
  io.board.wakeAt := Mux(io.firmware.debug.halted, Fill(64, 1.U), system.io.wakeAt)
}
