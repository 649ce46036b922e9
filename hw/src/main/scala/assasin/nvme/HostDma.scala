// SPDX-License-Identifier: BSD-3-Clause
package assasin.nvme

import assasin.SocParams
import assasin.bus.{RegBusIO, RegMap}
import assasin.contract.HdmaRegs
import assasin.xbar.{DramReadReq, DramReader, FillEngine, ParityEngine, WriteOrder, XbarBeat, XbarPort}
import chisel3._
import chisel3.util.{Cat, Decoupled}

/** Ports of [[HostDma]]. */
class HostDmaIO extends Bundle {

  /** Register block HDMA. */
  val regs = Flipped(new RegBusIO(12))
  val h2c  = new XdmaBypassIO
  val c2h  = new XdmaBypassIO

  /** The NVMe front end's transfers: submission entries in, completions out. */
  val fetch     = Flipped(Decoupled(new DmaDescriptor))
  val fetchDone = Output(Bool())
  val post      = Flipped(Decoupled(new DmaDescriptor))
  val postDone  = Output(Bool())

  /** Firmware's card-to-host transfers pushed, and handed to the XDMA, modulo 256. */
  val c2hPushed = Output(UInt(8.W))
  val c2hHanded = Output(UInt(8.W))

  /** Reads of DRAM: the copy engine's, the parity engine's. */
  val copy   = Vec(DramReader.Copies, Decoupled(new DramReadReq))
  val copied = Input(Bool())
  val fill   = Decoupled(new XbarBeat)

  /** The parity engine's port of the crossbar, both ways. */
  val toParity = Flipped(Decoupled(new XbarBeat))
  val parity   = Decoupled(new XbarBeat)
  val order    = Input(new WriteOrder)

  /** HDMA.EVENT is not 0. */
  val event = Output(Bool())

  /** The firmware is in reset. */
  val flush = Input(Bool())
  val idle  = Output(Bool())
}

/** Data movement for the firmware: both directions of the XDMA's descriptor bypass, copies DRAM to core, fills of DRAM,
  * parity of pages in DRAM.
  */
class HostDma(p: SocParams) extends Module {
  val io = IO(new HostDmaIO)

  private val h2c  = Module(new DmaChannel)
  private val c2h  = Module(new DmaChannel)
  private val copy = Module(new CopyEngine(p))
  private val fill = Module(new FillEngine(XbarPort.dram(p.tiles, p.channels)))
  private val parity = Module(
    new ParityEngine(HostDma.ParityBytes, XbarPort.parity(p.tiles, p.channels), XbarPort.dram(p.tiles, p.channels))
  )

  private val hostLo  = RegInit(0.U(32.W))
  private val hostHi  = RegInit(0.U(32.W))
  private val dev     = RegInit(0.U(32.W))
  private val copySrc = RegInit(0.U(32.W))
  private val copyDst = RegInit(0.U(32.W))
  private val copyPos = RegInit(0.U(32.W))
  private val fillDst = RegInit(0.U(32.W))

  private def counter(step: Bool): UInt = {
    val n = RegInit(0.U(32.W))
    when(step) { n := n + 1.U }
    when(io.flush) { n := 0.U }
    n
  }
  private val h2cDone  = counter(h2c.io.done)
  private val c2hDone  = counter(c2h.io.done)
  private val copyDone = counter(copy.io.done)
  private val parities = counter(parity.io.done)

  private val event   = RegInit(0.U(5.W))
  private val cleared = WireDefault(0.U(5.W))
  event := Mux(
    io.flush,
    0.U,
    (event & ~cleared) | Cat(parity.io.done, h2c.io.error || c2h.io.error, copy.io.done, c2h.io.done, h2c.io.done)
  )
  io.event := event =/= 0.U

  for (channel <- Seq(h2c, c2h)) {
    channel.io.push.valid     := false.B
    channel.io.push.bits.host := hostHi ## hostLo
    channel.io.push.bits.dev  := dev
    channel.io.push.bits.len  := io.regs.req.bits.wdata(27, 0)
    channel.io.flush          := io.flush
  }
  copy.io.push.valid      := false.B
  copy.io.push.bits.src   := copySrc
  copy.io.push.bits.dst   := copyDst
  copy.io.push.bits.pos   := copyPos
  copy.io.push.bits.bytes := io.regs.req.bits.wdata(16, 0)
  copy.io.copied          := io.copied
  copy.io.flush           := io.flush
  io.copy(0) <> copy.io.reader
  fill.io.push.valid := false.B
  fill.io.push.bits  := io.regs.req.bits.wdata
  fill.io.addr       := fillDst
  fill.io.order      := io.order
  fill.io.flush      := io.flush
  io.fill <> fill.io.out
  parity.io.push.valid      := false.B
  parity.io.push.bits.addr  := io.regs.req.bits.wdata
  parity.io.push.bits.store := false.B
  parity.io.order           := io.order
  parity.io.flush           := io.flush
  io.copy(1) <> parity.io.reader
  parity.io.in <> io.toParity
  io.parity <> parity.io.out

  /** Queues an operation of the parity engine. */
  private def pushParity(store: Boolean): Unit = {
    parity.io.push.valid      := true.B
    parity.io.push.bits.store := store.B
  }

  RegMap(io.regs)(
    Seq(
      RegMap.rw(HdmaRegs.HostLo.offset, hostLo),
      RegMap.rw(HdmaRegs.HostHi.offset, hostHi),
      RegMap.rw(HdmaRegs.Dev.offset, dev),
      RegMap.wo(HdmaRegs.H2cPush.offset)(_ => h2c.io.push.valid := true.B),
      RegMap.wo(HdmaRegs.C2hPush.offset)(_ => c2h.io.push.valid := true.B),
      RegMap.ro(HdmaRegs.Space.offset, Cat(parity.io.space, copy.io.space, c2h.io.space, h2c.io.space)),
      RegMap.ro(HdmaRegs.H2cDone.offset, h2cDone),
      RegMap.ro(HdmaRegs.C2hDone.offset, c2hDone),
      RegMap.ro(HdmaRegs.Event.offset, event).copy(write = Some(data => cleared := data(4, 0))),
      RegMap.rw(HdmaRegs.CopySrc.offset, copySrc),
      RegMap.rw(HdmaRegs.CopyDst.offset, copyDst),
      RegMap.rw(HdmaRegs.CopyPos.offset, copyPos),
      RegMap.wo(HdmaRegs.CopyPush.offset)(_ => copy.io.push.valid := true.B),
      RegMap.ro(HdmaRegs.CopyDone.offset, copyDone),
      RegMap.rw(HdmaRegs.FillDst.offset, fillDst),
      RegMap.wo(HdmaRegs.FillPush.offset)(_ => fill.io.push.valid := true.B),
      RegMap.ro(HdmaRegs.FillBusy.offset, fill.io.busy),
      RegMap.wo(HdmaRegs.ParityLoad.offset)(_ => pushParity(store = false)),
      RegMap.wo(HdmaRegs.ParityStore.offset)(_ => pushParity(store = true)),
      RegMap.ro(HdmaRegs.ParityDone.offset, parities)
    )
  )

  h2c.io.internal <> io.fetch
  io.fetchDone := h2c.io.internalDone
  c2h.io.internal <> io.post
  io.postDone  := c2h.io.internalDone
  io.c2hPushed := c2h.io.pushed
  io.c2hHanded := c2h.io.handed

  // [1] completed: the XDMA counts the descriptor; whether it interrupts is set in the XDMA.
  for ((port, channel) <- Seq(io.h2c -> h2c, io.c2h -> c2h)) {
    channel.io.ready := port.ready
    channel.io.sts   := port.sts
    port.load        := channel.io.load
    port.len         := channel.io.len
    port.ctl         := 2.U
  }
  io.h2c.srcAddr := h2c.io.hostAddr
  io.h2c.dstAddr := h2c.io.devAddr
  io.c2h.srcAddr := c2h.io.devAddr
  io.c2h.dstAddr := c2h.io.hostAddr

  io.idle := h2c.io.idle && c2h.io.idle && copy.io.idle && !fill.io.busy && parity.io.idle
}

object HostDma {

  /** Bytes that a load or a store of the parity engine moves: the data of a sector. */
  val ParityBytes = 4096
}
