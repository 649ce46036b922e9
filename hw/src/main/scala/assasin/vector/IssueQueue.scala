// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Decoupled, MuxLookup, Valid, log2Ceil}

/** What a path has to say of instructions that its queue keeps. */
class IssueKeepIO extends Bundle {

  /** What the queue gives in this cycle is kept when it is taken; it is taken on a guess. What becomes of those that
    * were: nothing is taken while that is said.
    */
  val keep  = Input(Bool())
  val guess = Input(Bool())
  val fate  = Input(new GuessFate)

  /** The oldest one kept ends; the oldest that then is kept surely ends in the next cycle. An instruction is kept no
    * more from the cycle on in which it ends, and in `entries` from the cycle before.
    */
  val ends = Input(Bool())
  val soon = Input(Bool())

  /** Some are kept. */
  val some = Output(Bool())
}

class IssueQueueIO(p: VectorParams, depth: Int, keeps: Boolean) extends Bundle {
  val in  = Flipped(Decoupled(new VectorOp(p)))
  val out = Decoupled(new VectorOp(p))

  /** All that waits or is kept. One that is kept reads no registers here. */
  val entries = Output(Vec(depth, Valid(new VectorOp(p))))

  val kept = if (keeps) Some(new IssueKeepIO) else None

  val clear = Input(Bool())
}

/** Instructions of one path in program order. Nothing stays for a cycle if none is before it and the path takes it.
  *
  * With `keeps` an instruction may stay when it is taken, until it ends, so that it can be taken again if that was on a
  * guess which fails, and so that others see what it will write. What is not kept is only taken when none is kept.
  */
class IssueQueue(p: VectorParams, depth: Int, keeps: Boolean = false) extends Module {
  val io = IO(new IssueQueueIO(p, depth, keeps))

  // Entry 0 is the oldest; those behind it follow without gaps.
  private val valid = RegInit(0.U(depth.W))
  private val ops   = Reg(Vec(depth, new VectorOp(p)))

  // The first so many are kept, those of them that were not taken on a guess first.
  private val taken = if (keeps) RegInit(0.U(log2Ceil(depth + 1).W)) else 0.U
  private val sure  = if (keeps) RegInit(0.U(log2Ceil(depth + 1).W)) else 0.U
  private val keep  = io.kept.fold(false.B)(_.keep)
  private val ends  = io.kept.fold(false.B)(_.ends)

  private val waits = (valid >> taken)(0)
  private val first = if (keeps) MuxLookup(taken, ops(0))((1 until depth).map(k => k.U -> ops(k))) else ops(0)
  private val flows = io.out.ready && !waits && !keep
  private val enter = io.in.valid && io.in.ready && !flows
  private val gone  = ends || (io.out.ready && waits && !keep)
  private val moved = Mux(gone, valid >> 1, valid)

  io.in.ready  := !valid(depth - 1)
  io.out.valid := waits || (io.in.valid && io.in.ready)
  io.out.bits  := Mux(waits, first, io.in.bits)
  for (i <- 0 until depth) {
    val free = !moved(i) && (if (i == 0) true.B else moved(i - 1))
    when(enter && free)(ops(i) := io.in.bits)
      .elsewhen(gone)(ops(i) := ops((i + 1) min (depth - 1)))
    io.entries(i).valid      := valid(i)
    io.entries(i).bits       := ops(i)
  }
  valid := Mux(io.clear, 0.U, ((moved << enter) | enter)(depth - 1, 0))

  for (kept <- io.kept) {
    val keeping   = io.out.fire && keep
    val takenNext = taken + keeping - ends
    val sureNext  = sure + (keeping && !kept.guess) - ends
    taken     := Mux(io.clear, 0.U, Mux(kept.fate.redo, sureNext, takenNext))
    sure      := Mux(io.clear, 0.U, Mux(kept.fate.confirm, takenNext, sureNext))
    kept.some := taken =/= 0.U
    for (i <- 0 until depth) when(taken > i.U)(io.entries(i).bits.readsVs1 := false.B)
    when(kept.ends || kept.soon)(io.entries(0).valid := false.B)
    when(kept.ends && kept.soon)(io.entries(1).valid := false.B)
  }
}
