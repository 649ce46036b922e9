// SPDX-License-Identifier: BSD-3-Clause
package assasin.nvme

import chisel3._
import chisel3.util.{Decoupled, Queue, Valid}

/** One direction of the host DMA: shares an XDMA descriptor bypass port between the firmware's transfers and those of
  * the NVMe front end, and tells each of them when its descriptors are done (XDMA completes them in order).
  *
  * @param depth
  *   firmware transfers queued
  * @param outstanding
  *   descriptors given to the XDMA and not completed
  */
class DmaChannel(depth: Int = 16, outstanding: Int = 32) extends Module {
  val io = IO(new Bundle {

    /** A transfer of the firmware; lost when `space` is 0. */
    val push  = Flipped(Valid(new DmaDescriptor))
    val space = Output(UInt(8.W))

    /** Firmware transfers pushed and handed to the XDMA, modulo 256. */
    val pushed = Output(UInt(8.W))
    val handed = Output(UInt(8.W))

    /** Pulse: a firmware transfer is done. */
    val done = Output(Bool())

    /** Transfers of the NVMe front end; `internalDone` pulses for each. */
    val internal     = Flipped(Decoupled(new DmaDescriptor))
    val internalDone = Output(Bool())

    /** Bypass port; `hostAddr` and `devAddr` are put on its source and destination by the user of this module. */
    val ready    = Input(Bool())
    val load     = Output(Bool())
    val hostAddr = Output(UInt(64.W))
    val devAddr  = Output(UInt(32.W))
    val len      = Output(UInt(28.W))
    val sts      = Input(UInt(8.W))

    /** Pulse: the XDMA channel stopped with descriptors under way. */
    val error = Output(Bool())

    /** The firmware is in reset: its queue is emptied, its transfers under way are not counted when they end. */
    val flush = Input(Bool())
    val idle  = Output(Bool())
  })

  private val queue  = Module(new Queue(new DmaDescriptor, depth, hasFlush = true))
  private val owners = Module(new Queue(Bool(), outstanding))

  private val pushed = RegInit(0.U(8.W))
  private val handed = RegInit(0.U(8.W))

  queue.io.enq.valid := io.push.valid && io.push.bits.len =/= 0.U
  queue.io.enq.bits  := io.push.bits
  queue.io.flush.get := io.flush
  io.space           := depth.U - queue.io.count

  // Register in front of the port; who came second last time goes first.
  private val full     = RegInit(false.B)
  private val out      = Reg(new DmaDescriptor)
  private val fwLast   = RegInit(false.B)
  private val room     = (!full || io.ready) && owners.io.enq.ready
  private val internal = io.internal.valid && !(queue.io.deq.valid && !fwLast)
  private val takeFw   = room && queue.io.deq.valid && !internal && !io.flush
  private val takeNvme = room && internal
  queue.io.deq.ready  := takeFw
  io.internal.ready   := takeNvme
  owners.io.enq.valid := takeFw || takeNvme
  owners.io.enq.bits  := takeFw
  when(takeFw || takeNvme) {
    out    := Mux(takeFw, queue.io.deq.bits, io.internal.bits)
    fwLast := takeFw
    full   := true.B
  }.elsewhen(io.ready) {
    full := false.B
  }
  io.load     := full
  io.hostAddr := out.host
  io.devAddr  := out.dev
  io.len      := out.len

  private val completed = io.sts(3) && owners.io.deq.valid
  private val fwDone    = completed && owners.io.deq.bits
  owners.io.deq.ready := io.sts(3)
  io.internalDone     := completed && !owners.io.deq.bits

  // Firmware transfers under way, and how many of them began before a reset.
  private val underWay = RegInit(0.U(8.W))
  private val muted    = RegInit(0.U(8.W))
  private val now      = underWay + takeFw - fwDone
  underWay := now
  when(io.flush) { muted := now }.elsewhen(fwDone && muted =/= 0.U) { muted := muted - 1.U }
  io.done := fwDone && muted === 0.U && !io.flush

  when(queue.io.enq.fire) { pushed := pushed + 1.U }
  when(takeFw) { handed := handed + 1.U }
  when(io.flush) {
    pushed := 0.U
    handed := 0.U
  }
  io.pushed := pushed
  io.handed := handed

  private val running = RegNext(io.sts(6), false.B)
  io.error := running && !io.sts(6) && owners.io.deq.valid
  io.idle  := !queue.io.deq.valid && !owners.io.deq.valid
}
