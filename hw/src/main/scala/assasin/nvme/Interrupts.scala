package assasin.nvme

import chisel3._
import chisel3.util.Valid

/** Drives the XDMA's user interrupts: a request is held until acknowledged; what is raised meanwhile interrupts once
  * more. Vectors masked by INTMS wait.
  */
class Interrupts extends Module {
  val io = IO(new Bundle {
    val raise = Flipped(Valid(UInt(4.W)))

    /** Masked vectors. */
    val mask = Input(UInt(16.W))
    val irq  = new XdmaIrqIO

    /** Pulse: forget everything not requested yet. */
    val flush = Input(Bool())
    val idle  = Output(Bool())
  })
  private val waiting = RegInit(0.U(16.W))
  private val request = RegInit(0.U(16.W))

  private val raised = Mux(io.raise.valid, (1.U(16.W) << io.raise.bits)(15, 0), 0.U)
  private val go     = waiting & ~io.mask & ~request
  waiting := Mux(io.flush, 0.U, (waiting & ~go) | raised)
  request := (request & ~io.irq.ack) | go

  io.irq.req := request
  io.idle    := request === 0.U && (waiting & ~io.mask) === 0.U
}
