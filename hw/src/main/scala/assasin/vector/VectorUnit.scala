// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.Cat

import assasin.bus.ClockGate

class VectorUnitIO(p: VectorParams) extends Bundle {
  val issue  = new VectorIssueIO(p)
  val memory = new VectorMemoryIO(p)
  val stream = if (p.pup) Some(new VectorStreamIO(p)) else None
  val counts = if (p.counters) Some(Output(new VectorCounts(p))) else None
  val trace  = if (p.trace) Some(Output(new VectorTraceIO(p))) else None
}

/** The vector unit (docs/varve/unit.md): integer vectors of fixed width behind a core's commit point.
  *
  * In a drive it waits for the flash most of the time. With `p.clockGate` [[VectorPipeline]] then has no clock: while
  * nothing is under way and the commit stage is empty, or waits for a stream whose pointers stand still, and while the
  * core is idle, once the registers are 0. A clock edge that it does not see would have changed nothing.
  */
class VectorUnit(p: VectorParams) extends Module {
  val io = IO(new VectorUnitIO(p))

  private val active   = WireDefault(true.B)
  private val gated    = if (p.clockGate) ClockGate(active) else Module.clock
  private val pipeline = withClock(gated)(Module(new VectorPipeline(p)))

  io.issue <> pipeline.io.issue
  io.memory <> pipeline.io.memory
  for ((port, of) <- io.stream.zip(pipeline.io.stream)) port <> of
  for ((port, of) <- io.counts.zip(pipeline.io.counts)) port := of
  for ((port, of) <- io.trace.zip(pipeline.io.trace)) port   := of

  if (p.clockGate) {
    // What the core or memory tells; `clear` is part of `quiet`.
    val called = io.issue.advance || io.issue.commit.kill || io.issue.window.valid || io.memory.loadAnswer.valid ||
      io.memory.storeDone

    // Cycles that it has been quiet for.
    val calm   = RegInit(0.U(VectorUnit.calmBits.W))
    val isCalm = calm.andR
    calm := Mux(pipeline.io.quiet && !called, calm + !isCalm, 0.U)

    // An instruction in the commit stage looks at pointers as they were in the cycle before.
    val moved = io.stream.fold(false.B) { stream =>
      val seen = Cat(
        Seq(stream.input.head, stream.input.tail, stream.input.end, stream.input.known) ++
          Seq(stream.output.head, stream.output.tail)
      )
      pipeline.io.held && seen =/= RegNext(seen)
    }
    active := !pipeline.io.quiet || !isCalm || moved || called
    io.trace.foreach(_.stops := !active)
  }
}

object VectorUnit {

  /** The clock stops 2^calmBits - 1 quiet cycles later, when the stages are empty that nobody waits for. */
  val calmBits = 3
  require((1 << calmBits) - 1 > VariableSum.latency, s"calmBits = $calmBits: a sum takes ${VariableSum.latency} cycles")
}
