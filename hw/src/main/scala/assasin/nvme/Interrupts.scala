// SPDX-License-Identifier: BSD-3-Clause
package assasin.nvme

import chisel3._
import chisel3.util.{Valid, UIntToOH}

/** Drives the XDMA's user interrupts.
  *
  * With MSI-X a request is held until acknowledged; what is raised meanwhile interrupts once more; vectors masked by
  * INTMS wait. Without, request 0 is INTA: high while a completion queue that interrupts has entries in host memory
  * which the host has not taken, and INTMS bit 0 is 0.
  */
class Interrupts extends Module {
  val io = IO(new Bundle {
    val raise = Flipped(Valid(new RaisedCqe))

    /** Completion queues with entries that the host has not taken. */
    val unread = Input(UInt(QueueId.Pairs.W))

    /** Masked vectors. */
    val mask = Input(UInt(16.W))
    val irq  = new XdmaIrqIO

    /** Pulse: forget everything not requested yet. */
    val flush = Input(Bool())
    val idle  = Output(Bool())
  })
  private val msix = io.irq.msix

  private val waiting = RegInit(0.U(16.W))
  private val request = RegInit(0.U(16.W))

  private val raised = Mux(io.raise.valid && msix, UIntToOH(io.raise.bits.vector, 16), 0.U)
  private val go     = waiting & ~io.mask & ~request
  waiting := Mux(io.flush || !msix, 0.U, (waiting & ~go) | raised)
  request := Mux(msix, (request & ~io.irq.ack) | go, 0.U)

  /** Queues whose first unread entry has reached the host's memory. */
  private val shown = RegInit(0.U(QueueId.Pairs.W))
  private val shows = Mux(io.raise.valid, UIntToOH(io.raise.bits.queue)(QueueId.Pairs - 1, 0), 0.U)
  shown := Mux(io.flush, 0.U, (shown | shows) & io.unread)

  private val level = shown.orR && !io.mask(0)

  /** INTA is requested; its rise has been acknowledged; its fall has not. */
  private val up      = RegInit(false.B)
  private val upTaken = RegInit(false.B)
  private val falling = RegInit(false.B)
  private val rise    = !msix && !up && !falling && level
  private val fall    = !msix && up && upTaken && !level
  when(msix) {
    up      := false.B
    falling := false.B
  }.otherwise {
    when(rise) {
      up      := true.B
      upTaken := false.B
    }.elsewhen(fall) {
      up      := false.B
      falling := true.B
    }
    when(up && io.irq.ack(0)) { upTaken := true.B }
    when(falling && io.irq.ack(0)) { falling := false.B }
  }

  io.irq.req := request | up
  // What waits for an acknowledge waits for an input.
  io.idle := go === 0.U && !rise && !fall && (msix || (waiting === 0.U && request === 0.U)) &&
    shown === (shown & io.unread)
}
