// SPDX-License-Identifier: BSD-3-Clause
package assasin.xbar

import assasin.bus.{Axi4, Axi4Addr, Axi4Params, Axi4Write, Axi4WriteIO}
import chisel3._
import chisel3.util.{Decoupled, Queue}

/** Writes packets to DRAM: each packet is one AXI4 burst of at most 64 bytes, many are outstanding. */
class DramWriter(axi: Axi4Params, outstanding: Int = 32) extends Module {
  val io = IO(new Bundle {
    val in   = Flipped(Decoupled(new XbarBeat))
    val dram = new Axi4WriteIO(axi)

    /** Pulse of the crossbar: a whole packet has left its source. */
    val accepted = Input(Bool())
    val order    = Output(new WriteOrder)

    /** The sources are in reset: a packet cut short is finished with beats that write nothing. */
    val flush = Input(Bool())
    val idle  = Output(Bool())

    /** Under `flush`: everything that had begun is in DRAM, and `order` says so. */
    val settled = Output(Bool())
  })

  private val addrs = Module(new Queue(new Axi4Addr(axi), 4))
  private val beats = Module(new Queue(new Axi4Write(axi), 16))

  private val first    = RegInit(true.B)
  private val left     = Reg(UInt(3.W))
  private val inFlight = RegInit(0.U(8.W))

  private val len    = (io.in.bits.bytes - 1.U)(5, 3)
  private val room   = beats.io.enq.ready && (!first || (addrs.io.enq.ready && inFlight < outstanding.U))
  private val cut    = io.flush && !first
  private val accept = room && (io.in.valid || cut)
  private val last   = Mux(first, len, left) === 0.U
  private val tail   = io.in.bits.bytes(2, 0)

  io.in.ready := room && !cut

  addrs.io.enq.valid      := accept && first
  addrs.io.enq.bits.id    := 0.U
  addrs.io.enq.bits.addr  := io.in.bits.addr
  addrs.io.enq.bits.len   := len
  addrs.io.enq.bits.size  := Axi4.Size8
  addrs.io.enq.bits.burst := Axi4.Incr

  beats.io.enq.valid     := accept
  beats.io.enq.bits.data := io.in.bits.data
  beats.io.enq.bits.last := last
  beats.io.enq.bits.strb := Mux(cut, 0.U, Mux(last && tail =/= 0.U, (1.U(8.W) << tail)(7, 0) - 1.U, 0xff.U))

  when(accept) {
    first := last
    left  := Mux(first, len, left) - 1.U
  }

  io.dram.aw <> addrs.io.deq
  io.dram.w <> beats.io.deq
  io.dram.b.ready := true.B

  private val started = accept && first
  when(started =/= io.dram.b.valid) { inFlight := Mux(started, inFlight + 1.U, inFlight - 1.U) }

  private val accepted  = RegInit(0.U(16.W))
  private val completed = RegInit(0.U(16.W))
  when(io.accepted) { accepted := accepted + 1.U }
  when(io.dram.b.valid) { completed := completed + 1.U }
  // A reset of the sources can lose a packet between its source and this module, or cut one short that was not counted.
  // Reads that wait for packets accepted so far may go then.
  when(io.flush && inFlight === 0.U && first) { completed := accepted }

  io.order.accepted  := accepted
  io.order.completed := completed
  io.idle            := inFlight === 0.U && accepted === completed
  io.settled         := io.idle && first
}
