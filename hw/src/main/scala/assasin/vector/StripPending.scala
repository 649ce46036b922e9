// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Valid, log2Ceil}

/** A VRCNUM: streams that it moves, and its scalar destination. */
class StripMove extends Bundle {
  val set = UInt(12.W)
  val rd  = UInt(5.W)
}

class StripPendingIO extends Bundle {

  /** A VRCNUM leaves the commit stage early; the oldest of them moves its streams. */
  val enter = Flipped(Valid(new StripMove))
  val leave = Input(Bool())

  val oldest = Output(new StripMove)

  /** Whether this stream will be moved by the newest of them; by the one before that. */
  val stream = Input(UInt(4.W))
  val moves  = Output(UInt(StripPending.depth.W))

  val clear = Input(Bool())
}

/** VRCNUMs that have left the commit stage before the number of their strip is known, at most two. */
class StripPending extends Module {
  val io = IO(new StripPendingIO)

  private val depth   = StripPending.depth
  private val count   = RegInit(0.U(log2Ceil(depth + 1).W))
  private val entries = Reg(Vec(depth, new StripMove))
  private val kept    = count - io.leave

  when(io.leave)(entries(0) := entries(1))
  for (i <- 0 until depth) when(io.enter.valid && kept === i.U)(entries(i) := io.enter.bits)
  count     := Mux(io.clear, 0.U, kept + io.enter.valid)
  io.oldest := entries(0)

  private val named  = entries.map(entry => (entry.set >> io.stream)(0))
  private val newest = Mux(count === 2.U, named(1), named(0)) && count =/= 0.U
  io.moves := (count === 2.U && named(0)) ## newest
}

object StripPending {
  val depth = 2
}
