// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Valid, log2Ceil}

import assasin.contract.Cause

class StreamOutcomeIO(p: VectorParams) extends Bundle {

  /** The instruction in the commit stage, and what is known of it as things stand. */
  val at    = Input(new VectorOffer(p))
  val found = Input(new StreamFound(p))

  /** It has been decided on its elements, or on a table; what was seen of these. */
  val decided = Input(Bool())
  val seen    = Input(new StreamScanResult(p))

  /** Nothing under way uses the stream that it declares or ends. */
  val quiet = Input(Bool())

  /** Of VarVE-full: elements that its mask has. */
  val length = Input(UInt(log2Ceil(p.elements + 1).W))

  /** It traps, whatever its elements are: an error of the stream that waits for it (`errs`) is one of the reasons. */
  val traps = Output(Bool())
  val errs  = Output(Bool())

  /** It traps by what was seen. */
  val failed = Output(Bool())

  /** All together, with what [[StreamCommitIO]] says of a trap. */
  val trap  = Output(Bool())
  val cause = Output(UInt(5.W))
  val tval  = Output(UInt(p.xLen.W))

  /** Elements that it touches, and where they end. */
  val stops  = Output(UInt(p.vlBits.W))
  val endPos = Output(UInt((p.xLen + 3).W))

  /** It makes vl so small. */
  val setVl = Output(Valid(UInt(p.vlBits.W)))
}

/** Whether a stream instruction traps at the commit point, why, and how far it goes (docs/varve/isa.md 3.3 and 4.3).
  * Combinational.
  */
class StreamOutcome(p: VectorParams) extends Module {
  val io = IO(new StreamOutcomeIO(p))

  private val found = io.found
  private val k     = found.word
  private val seen  = io.seen
  private val looks = k.unpack || k.consume
  private val ends  = k.endInput || k.endOutput

  private val tooMany = k.consume && found.tooMany
  private val errs    = found.common.pending =/= 0.U && (looks || (ends && io.quiet))
  private val failed =
    !k.count && (seen.fault || (seen.broken && (k.consume || seen.passed === 0.U)) || (seen.ended && k.consume))
  io.errs   := errs
  io.traps  := !found.legal || tooMany || errs
  io.failed := failed
  io.trap   := Mux(io.decided, failed, io.traps)

  private val reason  = Mux(errs && !io.decided, found.common.pending, seen.reason)
  private val inData  = Mux(io.decided, seen.broken && !seen.fault, errs && !tooMany)
  private val atFault = io.decided && seen.fault
  io.cause := Mux(
    !found.legal,
    2.U,
    Mux(atFault, seen.cause, Mux(inData, Cause.StreamData.U, Cause.StreamRange.U))
  )
  io.tval := Mux(
    !found.legal,
    io.at.insn,
    Mux(atFault, seen.byte, Mux(inData, Cat(reason, 0.U(3.W), k.output, k.stream), io.at.rs1))
  )

  private val byMask = if (p.full) k.full && k.masked && io.length < found.count else false.B
  private val most   = Mux(byMask, io.length.pad(p.vlBits), found.count)
  io.stops       := Mux(io.decided && looks, Mux(seen.passed < most, seen.passed, most), found.count)
  io.endPos      := Mux(io.decided && looks, seen.position, found.end)
  io.setVl.valid := !io.trap && k.unpack && !k.full && io.stops < io.at.config.vl
  io.setVl.bits  := io.stops
}
