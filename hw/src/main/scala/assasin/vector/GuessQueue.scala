// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Decoupled, isPow2, log2Ceil}

class GuessQueueIO[T <: Data](gen: T) extends Bundle {
  val enq = Flipped(Decoupled(gen))
  val deq = Decoupled(gen)

  /** What enters, what is first, is a guess. */
  val enters = Input(Bool())
  val first  = Output(Bool())

  /** All guesses hold; all are dropped. A guess does not leave in the cycle in which it is dropped. */
  val fate  = Input(new GuessFate)
  val clear = Input(Bool())
}

/** A queue whose last entries may be guesses (docs/varve/unit.md 6.3). Nothing but guesses enters behind one. */
class GuessQueue[T <: Data](gen: T, depth: Int) extends Module {
  require(isPow2(depth) && depth >= 2, s"depth = $depth: choose a power of two")
  val io = IO(new GuessQueueIO(gen))

  private val entries = Mem(depth, gen)
  private val oldest  = RegInit(0.U(log2Ceil(depth).W))
  private val count   = RegInit(0.U(log2Ceil(depth + 1).W))

  // Entries before the first guess.
  private val sure = RegInit(0.U(log2Ceil(depth + 1).W))

  private val guess = sure === 0.U && !io.fate.confirm
  io.first                                                            := guess
  io.enq.ready                                                        := count =/= depth.U
  io.deq.valid                                                        := count =/= 0.U && !(guess && io.fate.redo)
  io.deq.bits                                                         := entries(oldest)
  when(io.enq.fire)(entries((oldest + count)(log2Ceil(depth) - 1, 0)) := io.enq.bits)
  when(io.deq.fire)(oldest                                            := oldest + 1.U)

  private val all  = count + io.enq.fire - io.deq.fire
  private val kept = sure + (io.enq.fire && !io.enters) - (io.deq.fire && sure =/= 0.U)
  count := Mux(io.clear, 0.U, Mux(io.fate.redo, kept, all))
  sure  := Mux(io.clear, 0.U, Mux(io.fate.confirm, all, kept))
}
