// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import chisel3._
import chisel3.util.{Valid, log2Ceil}

class CompletionQueueIO extends Bundle {
  val push = Flipped(Valid(new FlashCompletion))
  val head = Valid(new FlashCompletion)
  val pop  = Input(Bool())

  /** A descriptor starts: it will push one completion. */
  val reserve = Input(Bool())

  /** One more descriptor may start. */
  val canReserve = Output(Bool())

  /** Every completion that is here is shown. */
  val quiet = Output(Bool())

  /** Its clock is needed. */
  val active = Output(Bool())
}

/** Completions in the order they came, in one memory. A descriptor starts only when a place is left for its completion,
  * so the queue cannot overflow however late the firmware reads it.
  *
  * It holds as many as the queues of all ways, and at least 64: up to there FPGAs have them in distributed memory at
  * one price, and block RAM is what a chip is short of.
  */
class CompletionQueue(p: SocParams) extends Module {
  val io = IO(new CompletionQueueIO)

  private val depth    = 1 << log2Ceil(64 max 8 * p.ways)
  private val bits     = log2Ceil(depth)
  private val memory   = Mem(depth, new FlashCompletion)
  private val head     = RegInit(0.U((bits + 1).W))
  private val tail     = RegInit(0.U((bits + 1).W))
  private val reserved = RegInit(0.U((bits + 1).W))

  when(io.push.valid) {
    memory.write(tail(bits - 1, 0), io.push.bits)
    tail := tail + 1.U
  }
  private val shown = RegInit(false.B)
  private val pop   = io.pop && shown
  private val next  = Mux(pop, head + 1.U, head)
  head := next
  // `tail` is compared before this cycle's push: a place is shown in the cycle after its write.
  shown := next =/= tail
  when(io.reserve =/= pop) { reserved := Mux(io.reserve, reserved + 1.U, reserved - 1.U) }

  io.head.valid := shown
  io.head.bits  := memory.read(head(bits - 1, 0))
  io.canReserve := !reserved(bits)
  io.quiet      := shown || head === tail
  io.active     := io.push.valid || io.reserve || pop || !io.quiet
}
