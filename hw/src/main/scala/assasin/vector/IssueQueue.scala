// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Decoupled, Valid}

class IssueQueueIO(p: VectorParams, depth: Int) extends Bundle {
  val in  = Flipped(Decoupled(new VectorOp(p)))
  val out = Decoupled(new VectorOp(p))

  /** All that waits, oldest first. */
  val entries = Output(Vec(depth, Valid(new VectorOp(p))))

  val clear = Input(Bool())
}

/** Instructions of one path in program order. Nothing stays for a cycle if none is before it and the path takes it. */
class IssueQueue(p: VectorParams, depth: Int) extends Module {
  val io = IO(new IssueQueueIO(p, depth))

  // Entry 0 is the oldest; those behind it follow without gaps.
  private val valid = RegInit(0.U(depth.W))
  private val ops   = Reg(Vec(depth, new VectorOp(p)))
  private val takes = io.out.ready && valid(0)
  private val moved = Mux(takes, valid >> 1, valid)
  private val flows = io.out.ready && !valid(0)
  private val enter = io.in.valid && io.in.ready && !flows

  io.in.ready  := !valid(depth - 1)
  io.out.valid := valid(0) || io.in.valid
  io.out.bits  := Mux(valid(0), ops(0), io.in.bits)
  for (i <- 0 until depth) {
    val free = !moved(i) && (if (i == 0) true.B else moved(i - 1))
    when(enter && free)(ops(i) := io.in.bits)
      .elsewhen(takes)(ops(i) := ops((i + 1) min (depth - 1)))
    io.entries(i).valid       := valid(i)
    io.entries(i).bits        := ops(i)
  }
  valid := Mux(io.clear, 0.U, ((moved << enter) | enter)(depth - 1, 0))
}
