// SPDX-License-Identifier: BSD-3-Clause
package assasin.xbar

import chisel3._

/** How far packets have come on their way to DRAM: numbers of packets modulo 2^16. A read that must see every packet
  * sent before it waits until `completed` has reached the value `accepted` had when the read was asked for, see
  * [[ReadBarrier]].
  */
class WriteOrder extends Bundle {

  /** Packets that have left their source. */
  val accepted = UInt(16.W)

  /** Packets whose AXI4 write response has come. */
  val completed = UInt(16.W)
}

/** Holds one read back until all packets accepted before `start` are in DRAM. */
class ReadBarrier extends Module {
  val io = IO(new Bundle {
    val start = Input(Bool())
    val order = Input(new WriteOrder)

    /** The read may go; from the cycle after `start` on. */
    val clear = Output(Bool())
  })
  private val target = Reg(UInt(16.W))
  private val clear  = RegInit(true.B)

  when(io.start) {
    target := io.order.accepted
    clear  := false.B
  }.elsewhen(!clear) {
    clear := !(io.order.completed - target)(15)
  }
  io.clear := clear
}
