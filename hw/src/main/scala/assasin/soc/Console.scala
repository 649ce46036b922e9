// SPDX-License-Identifier: BSD-3-Clause
package assasin.soc

import chisel3._
import chisel3.util.{Queue, Valid}

/** Console between firmware and host: 1 KiB towards the host, 16 bytes towards the firmware. Towards the host the
  * oldest character is dropped when a new one finds the FIFO full, towards the firmware the new one.
  */
class Console extends Module {
  val io = IO(new Bundle {

    /** From the firmware. */
    val put   = Flipped(Valid(UInt(8.W)))
    val space = Output(UInt(11.W))

    /** To the host: what a read of CTRL.CONSOLE_TX returns; `hostTake` drops the character shown. */
    val host     = Output(UInt(32.W))
    val hostTake = Input(Bool())

    /** From the host. */
    val hostPut  = Flipped(Valid(UInt(8.W)))
    val hostFull = Output(Bool())

    /** To the firmware. */
    val get     = Output(UInt(32.W))
    val getTake = Input(Bool())
    val waiting = Output(Bool())

    /** Nothing is about to change. */
    val idle = Output(Bool())
  })
  private val depth = 1024

  private val mem   = SyncReadMem(depth, UInt(8.W))
  private val head  = RegInit(0.U(10.W))
  private val tail  = RegInit(0.U(10.W))
  private val count = RegInit(0.U(11.W))

  // The oldest character is kept in a register in front of the memory's registered read.
  private val shown   = RegInit(false.B)
  private val char    = Reg(UInt(8.W))
  private val reading = RegInit(false.B)
  private val full    = count === depth.U
  private val load    = !shown && !reading && count =/= 0.U
  private val read    = mem.read(head, load)
  private val lose    = io.put.valid && full && !load

  when(io.put.valid) {
    mem.write(tail, io.put.bits)
    tail := tail + 1.U
  }
  when(load || lose) { head := head + 1.U }
  count   := count + io.put.valid - (load || lose)
  reading := load
  when(reading) {
    char  := read
    shown := true.B
  }.elsewhen(io.hostTake) {
    shown := false.B
  }
  io.space := depth.U - count
  io.host  := shown ## 0.U(23.W) ## Mux(shown, char, 0.U)

  private val rx = Module(new Queue(UInt(8.W), 16))
  rx.io.enq.valid := io.hostPut.valid
  rx.io.enq.bits  := io.hostPut.bits
  rx.io.deq.ready := io.getTake
  io.hostFull     := !rx.io.enq.ready
  io.waiting      := rx.io.deq.valid
  io.get          := rx.io.deq.valid ## 0.U(23.W) ## Mux(rx.io.deq.valid, rx.io.deq.bits, 0.U)
  io.idle         := !load && !reading
}
