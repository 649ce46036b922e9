// SPDX-License-Identifier: BSD-3-Clause
package assasin.nvme

import assasin.bus.{Axi4Params, Axi4ReadIO, Axi4WriteIO, HostRegIO, RegBusIO, RegEntry, RegMap}
import assasin.contract.{AddressMap, NvmeRegs}
import assasin.mem.StageIO
import chisel3._
import chisel3.util.{Cat, Decoupled, RegEnable}

/** Ports of [[NvmeFrontEnd]]. */
class NvmeFrontEndIO(axi: Axi4Params) extends Bundle {

  /** Host registers: BAR0, offsets below 0x8000. */
  val host = Flipped(new HostRegIO(15))

  /** Register block NVME. */
  val regs = Flipped(new RegBusIO(12))

  /** Staging memory, from the AXI4 slave. */
  val stage = Flipped(new StageIO)

  /** Controller memory buffer: BAR0, offsets from [[ControllerMemory.BarOffset]], and its DRAM. */
  val memory      = Flipped(new HostRegIO(ControllerMemory.AddrBits))
  val memoryRead  = new Axi4ReadIO(axi)
  val memoryWrite = new Axi4WriteIO(axi)

  /** Transfers, and pulses when the oldest is done. */
  val fetch     = Decoupled(new DmaDescriptor)
  val fetchDone = Input(Bool())
  val post      = Decoupled(new DmaDescriptor)
  val postDone  = Input(Bool())

  /** Firmware's card-to-host transfers pushed, and handed to the XDMA, modulo 256. */
  val c2hPushed = Input(UInt(8.W))
  val c2hHanded = Input(UInt(8.W))

  val irq = new XdmaIrqIO

  /** SYS.EVENT levels: a submission entry waits; NVME.EVENT is not 0. */
  val sqe   = Output(Bool())
  val event = Output(Bool())

  /** The firmware is in reset: queues are deleted, CSTS is 0. */
  val hold = Input(Bool())
  val idle = Output(Bool())
}

/** NVMe front end: the host's register file, submission fetch, completion post and interrupts, and the firmware's
  * registers for them.
  *
  * When the host changes CC.EN from 1 to 0 all queues are deleted at once, what is staged is dropped, and transfers
  * under way end without effect. CSTS.RDY, when it was 1, reads 1 until these transfers and the firmware's have ended:
  * a host that waits for 0 may then use the memory for something else. In the next session RDY cannot be set until the
  * firmware has cleared EVENT.CC, so it never shows an old answer.
  *
  * @param memoryBuffer
  *   there is a controller memory buffer; else `memory` reads 0, and nothing comes of its writes
  */
class NvmeFrontEnd(axi: Axi4Params, memoryBuffer: Boolean) extends Module {
  val io = IO(new NvmeFrontEndIO(axi))

  private val SqeSlots = 16
  private val CqeSlots = 8

  private val host   = Module(new NvmeHostRegs(memoryBuffer))
  private val table  = Module(new QueueTable)
  private val fetch  = Module(new SqFetch(SqeSlots, AddressMap.Stage.base))
  private val post   = Module(new CqPost(CqeSlots, AddressMap.Stage.base + 0x800))
  private val irqs   = Module(new Interrupts)
  private val buffer = Option.when(memoryBuffer)(Module(new ControllerMemory(axi)))

  private val flush = RegNext(host.io.disabled || (io.hold && !RegNext(io.hold, false.B)), false.B)

  // Host registers and doorbells.
  private val cap      = RegInit("h00000830ff0100ff".U(64.W))
  private val csts     = RegInit(0.U(32.W))
  private val stale    = RegInit(false.B)
  private val event    = RegInit(0.U(4.W))
  private val cleared  = WireDefault(0.U(4.W))
  private val badIndex = Reg(UInt(16.W))

  /** CC.EN is 0, or was: transfers of the session before may be under way; of them, the firmware's have ended. */
  private val ending   = RegInit(false.B)
  private val fwEnded  = RegInit(false.B)
  private val badValue = Reg(UInt(16.W))

  host.io.host <> io.host
  host.io.cap  := cap
  host.io.csts := csts(31, 1) ## Mux(host.io.state.cc(0), csts(0), ending)
  table.io.doorbell <> host.io.doorbell
  when(table.io.bad.valid) {
    badIndex := table.io.bad.bits.index
    badValue := table.io.bad.bits.value(15, 0)
  }
  event := (event & ~cleared) | Cat(post.io.dropped, table.io.bad.valid, host.io.nssr, host.io.ccWritten)
  when(io.hold) { event := host.io.state.cc(0) }
  when(io.hold) { stale := false.B }
    .elsewhen(flush) { stale := true.B }
    .elsewhen(cleared(NvmeRegs.Event.Cc.lsb)) { stale := false.B }

  // Queues.
  table.io.flush       := flush
  table.io.fetchWanted := fetch.io.wanted
  fetch.io.fetch       := table.io.fetch
  fetch.io.deleted     := table.io.deleted
  fetch.io.flush       := flush
  fetch.io.done        := io.fetchDone
  fetch.io.stage       := buffer.fold(io.stage.write)(b => Mux(b.io.stage.valid, b.io.stage, io.stage.write))
  fetch.io.window      := host.io.state.window
  fetch.io.localDone   := buffer.fold(false.B)(_.io.fetched)
  fetch.io.pop         := false.B
  table.io.fetched <> fetch.io.fetched
  io.fetch <> fetch.io.dma
  buffer match {
    case Some(b) =>
      b.io.fetch <> fetch.io.local
      b.io.host <> io.memory
      io.memoryRead <> b.io.read
      io.memoryWrite <> b.io.write
    case None =>
      fetch.io.local.ready    := false.B
      io.memory.req.ready     := true.B
      io.memory.resp.valid    := RegNext(io.memory.req.valid, false.B)
      io.memory.resp.bits     := 0.U
      io.memoryRead.ar.valid  := false.B
      io.memoryRead.ar.bits   := 0.U.asTypeOf(io.memoryRead.ar.bits)
      io.memoryRead.r.ready   := true.B
      io.memoryWrite.aw.valid := false.B
      io.memoryWrite.aw.bits  := 0.U.asTypeOf(io.memoryWrite.aw.bits)
      io.memoryWrite.w.valid  := false.B
      io.memoryWrite.w.bits   := 0.U.asTypeOf(io.memoryWrite.w.bits)
      io.memoryWrite.b.ready  := true.B
  }

  post.io.push.valid := false.B
  post.io.handed     := io.c2hHanded
  post.io.postResp   := table.io.postResp
  post.io.roomMade   := table.io.roomMade
  post.io.flush      := flush
  post.io.done       := io.postDone
  post.io.stageEn    := io.stage.readEn
  post.io.stageWord  := io.stage.readWord
  io.stage.readData  := post.io.stageData
  table.io.post <> post.io.post
  io.post <> post.io.dma

  irqs.io.raise  := post.io.raise
  irqs.io.unread := table.io.unread
  irqs.io.mask   := host.io.state.mask(15, 0)
  irqs.io.flush  := flush
  io.irq <> irqs.io.irq

  // Sums over all cycles of what is on its way: their growth over a number of commands is the time these spent there.
  private val fetchTime = RegInit(0.U(64.W))
  private val postTime  = RegInit(0.U(64.W))
  private val timeHigh  = Reg(UInt(32.W))
  fetchTime := fetchTime + fetch.io.coming
  postTime  := postTime + post.io.leaving

  // Firmware registers: those of a queue are operations of the table, submission entries are read from the staging memory.
  private val req     = io.regs.req
  private val isQueue = req.bits.addr >= NvmeRegs.SqBaseLo.offset.U && req.bits.addr <= NvmeRegs.CqState.offset.U
  private val isEntry = req.bits.addr >= NvmeRegs.Sqe.offset.U && req.bits.addr < (NvmeRegs.Sqe.offset + 64).U
  private val qsel    = RegInit(0.U(8.W))
  private val asking  = RegInit(false.B)
  private val queue   = Reg(new QueueRegReq)

  req.ready := true.B
  when(req.fire && isQueue) {
    asking       := true.B
    queue.queue  := qsel
    queue.offset := req.bits.addr
    queue.write  := req.bits.write
    queue.data   := req.bits.wdata
  }.elsewhen(table.io.regs.ready) {
    asking := false.B
  }
  table.io.regs.valid := asking
  table.io.regs.bits  := queue
  fetch.io.readEn     := req.fire && isEntry
  fetch.io.readWord   := req.bits.addr(5, 2)

  private val dw0   = RegInit(0.U(32.W))
  private val dw1   = RegInit(0.U(32.W))
  private val cqeId = RegInit(0.U(24.W))
  post.io.push.bits.dw0    := dw0
  post.io.push.bits.dw1    := dw1
  post.io.push.bits.cid    := cqeId(15, 0)
  post.io.push.bits.sqid   := cqeId(23, 16)
  post.io.push.bits.status := req.bits.wdata(14, 0)
  post.io.push.bits.after  := io.c2hPushed

  private val value = RegMap.serve(req.fire, req.bits)(
    Seq(
      RegMap.ro(NvmeRegs.Event.offset, event).copy(write = Some(data => cleared := data(3, 0))),
      RegMap.ro(NvmeRegs.Cc.offset, host.io.state.cc),
      RegEntry(
        NvmeRegs.Csts.offset,
        Some(csts),
        Some(data => csts := data(31, 1) ## (data(0) && (!stale || csts(0))))
      ),
      RegMap.ro(NvmeRegs.Aqa.offset, host.io.state.aqa),
      RegMap.ro(NvmeRegs.AsqLo.offset, host.io.state.asq(31, 0)),
      RegMap.ro(NvmeRegs.AsqHi.offset, host.io.state.asq(63, 32)),
      RegMap.ro(NvmeRegs.AcqLo.offset, host.io.state.acq(31, 0)),
      RegMap.ro(NvmeRegs.AcqHi.offset, host.io.state.acq(63, 32)),
      RegEntry(NvmeRegs.CapLo.offset, Some(cap(31, 0)), Some(data => cap := cap(63, 32) ## data)),
      RegEntry(NvmeRegs.CapHi.offset, Some(cap(63, 32)), Some(data => cap := data ## cap(31, 0))),
      RegMap.ro(NvmeRegs.BadDb.offset, badValue ## badIndex),
      RegMap.wo(NvmeRegs.ResetDone.offset)(_ => fwEnded := true.B),
      RegMap.rw(NvmeRegs.Qsel.offset, qsel),
      RegMap.ro(NvmeRegs.SqeStatus.offset, Cat(fetch.io.valid, 0.U(15.W), fetch.io.count, fetch.io.queue.pad(8))),
      RegMap.wo(NvmeRegs.SqePop.offset)(_ => fetch.io.pop := fetch.io.valid),
      RegMap.rw(NvmeRegs.CqeDw0.offset, dw0),
      RegMap.rw(NvmeRegs.CqeDw1.offset, dw1),
      RegMap.rw(NvmeRegs.CqeId.offset, cqeId),
      RegMap.wo(NvmeRegs.CqePush.offset)(_ => post.io.push.valid := true.B),
      RegMap.ro(NvmeRegs.CqeSpace.offset, post.io.space),
      RegMap.ro(NvmeRegs.FetchTimeLo.offset, fetchTime(31, 0)),
      RegMap.ro(NvmeRegs.FetchTimeHi.offset, timeHigh),
      RegMap.ro(NvmeRegs.PostTimeLo.offset, postTime(31, 0)),
      RegMap.ro(NvmeRegs.PostTimeHi.offset, timeHigh)
    )
  )
  private def readAt(offset: Int): Bool = req.fire && !req.bits.write && req.bits.addr === offset.U
  when(readAt(NvmeRegs.FetchTimeLo.offset)) { timeHigh := fetchTime(63, 32) }
  when(readAt(NvmeRegs.PostTimeLo.offset)) { timeHigh := postTime(63, 32) }
  private val entryRead = RegNext(req.fire && isEntry, false.B)
  io.regs.resp.valid := RegNext(req.fire && !isQueue, false.B) || table.io.regsResp.valid
  io.regs.resp.bits := Mux(
    table.io.regsResp.valid,
    table.io.regsResp.bits,
    Mux(entryRead, fetch.io.readData, RegEnable(value, req.fire))
  )
  when(flush) { csts := csts(31, 1) ## false.B }
  when(io.hold) { csts := 0.U }
  when(io.hold) { ending := false.B }
    .elsewhen(host.io.disabled && csts(0)) {
      ending  := true.B
      fwEnded := false.B
    }
    .elsewhen(fwEnded && fetch.io.idle && post.io.idle) { ending := false.B }

  io.sqe   := fetch.io.valid
  io.event := event =/= 0.U
  io.idle := host.io.idle && table.io.idle && !flush && fetch.io.idle && post.io.idle && irqs.io.idle && buffer.fold(
    true.B
  )(_.io.idle) && !asking
}
