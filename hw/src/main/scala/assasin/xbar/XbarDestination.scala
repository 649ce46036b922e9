// SPDX-License-Identifier: BSD-3-Clause
package assasin.xbar

import assasin.bus.RoundRobin
import chisel3._
import chisel3.util.{Decoupled, Mux1H}

/** One destination of the crossbar: round robin over its sources, held for a packet, one beat a cycle. The output is
  * registered, and the wide selection happens only in cycles that take a beat.
  *
  * @param sources
  *   number of sources
  */
class XbarDestination(sources: Int) extends Module {
  require(sources >= 1, s"sources = $sources: a destination needs at least one")

  val io = IO(new Bundle {

    /** Source i offers a beat for this destination. */
    val request = Input(UInt(sources.W))
    val beat    = Input(Vec(sources, new XbarBeat))

    /** One-hot: source i's beat is taken in this cycle. */
    val take = Output(UInt(sources.W))
    val out  = Decoupled(new XbarBeat)

    /** The last beat of a packet is taken in this cycle. */
    val taken = Output(Bool())
  })

  /** One-hot: who owns the destination, or owned it last. */
  private val owner = if (sources == 1) 1.U(1.W) else RegInit(1.U(sources.W))

  /** Within a packet. */
  private val busy = RegInit(false.B)
  private val full = RegInit(false.B)
  private val beat = Reg(new XbarBeat)

  private val active = (owner & io.request).orR
  private val take   = active && (!full || io.out.ready)
  private val last   = take && (owner & VecInit(io.beat.map(_.last)).asUInt).orR
  private val others = io.request & ~owner

  when(take) {
    beat := Mux1H(owner, io.beat)
    full := true.B
    busy := !last
  }.elsewhen(io.out.ready) {
    full := false.B
  }
  // An owner that offers nothing between packets loses to anybody who does; an owner that ends a packet goes to the back of the queue.
  if (sources > 1) when(others.orR && Mux(active, last, !busy)) { owner := RoundRobin.pick(others, owner) }

  io.take      := Mux(take, owner, 0.U)
  io.taken     := last
  io.out.valid := full
  io.out.bits  := beat
}
