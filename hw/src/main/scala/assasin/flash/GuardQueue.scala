// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import chisel3._
import chisel3.util.{Queue, Valid}

class GuardQueueIO extends Bundle {

  /** Current cycle, modulo 2^16. */
  val now = Input(UInt(16.W))

  /** `start.bits` = slot; it comes out `cycles` cycles later. Only while `ready`. */
  val start  = Flipped(Valid(UInt(Slot.Bits.W)))
  val ready  = Output(Bool())
  val cycles = Input(UInt(13.W))
  val done   = Valid(UInt(Slot.Bits.W))
  val empty  = Output(Bool())
}

/** A guard time that runs for many slots at once. All entries wait equally long, so they end in the order they started
  * and only the oldest is compared.
  */
class GuardQueue(p: SocParams) extends Module {
  val io = IO(new GuardQueueIO)

  private class Entry extends Bundle {
    val slot = UInt(Slot.Bits.W)
    val end  = UInt(16.W)
  }
  private val queue = Module(new Queue(new Entry, p.ways.max(4)))
  queue.io.enq.valid     := io.start.valid
  queue.io.enq.bits.slot := io.start.bits
  queue.io.enq.bits.end  := io.now + io.cycles
  private val over = !(io.now - queue.io.deq.bits.end)(15)
  queue.io.deq.ready := over
  io.ready           := queue.io.enq.ready
  io.done.valid      := queue.io.deq.valid && over
  io.done.bits       := queue.io.deq.bits.slot
  io.empty           := !queue.io.deq.valid && !io.start.valid
  assert(!io.start.valid || queue.io.enq.ready, "guard queue overflow")
}
