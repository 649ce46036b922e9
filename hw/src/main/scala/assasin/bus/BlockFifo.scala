// SPDX-License-Identifier: BSD-3-Clause
package assasin.bus

import chisel3._
import chisel3.util.{Decoupled, isPow2, log2Ceil}

/** FIFO in block RAM, an entry a cycle. What goes in comes out two cycles later at the earliest: no address is read in
  * the cycle in which it is written.
  *
  * @param depth
  *   entries, a power of two
  */
class BlockFifo[T <: Data](gen: T, depth: Int) extends Module {
  require(isPow2(depth) && depth > 1, s"depth = $depth: choose a power of two")

  val io = IO(new Bundle {
    val enq = Flipped(Decoupled(gen))
    val deq = Decoupled(gen)
  })

  private val bits = log2Ceil(depth)
  private val ram  = SyncReadMem(depth, gen)

  /** Entries taken out and put in so far. */
  private val head  = RegInit(0.U((bits + 1).W))
  private val tail  = RegInit(0.U((bits + 1).W))
  private val next  = head + io.deq.fire
  private val valid = RegNext(next =/= tail, false.B)

  io.enq.ready := tail - head =/= depth.U
  when(io.enq.fire) {
    ram.write(tail(bits - 1, 0), io.enq.bits)
    tail := tail + 1.U
  }
  head         := next
  io.deq.valid := valid
  io.deq.bits  := ram.read(next(bits - 1, 0))
}
