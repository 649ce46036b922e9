// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{PriorityEncoder, Valid, log2Ceil}

class StripRenewalIO(p: VectorParams) extends Bundle {
  private val countBits = log2Ceil(p.elements + 1)

  /** The instruction in the commit stage; it is a VRCNUM that leaves it. */
  val word   = Input(new StreamWord)
  val leaves = Input(Bool())

  /** As [[StripGateIO]] and [[StripTableIO]] have them. */
  val numE     = Input(UInt(countBits.W))
  val settled  = Input(Bool())
  val mayLeave = Input(Bool())
  val unpacked = Input(UInt(12.W))
  val counted  = Input(UInt(12.W))
  val resolved = Flipped(Valid(UInt(countBits.W)))

  /** A VRCNUM may leave although the strip has no number yet. Else it leaves when it `settles`: the strip has its
    * number; with `unasked`, streams of its set have to be looked at before.
    */
  val early   = Output(Bool())
  val settles = Output(Bool())
  val unasked = Output(Bool())

  /** They are looked at from now on; the next one is chosen, if there are more; it has been looked at; all this is
    * given up. The stream that is looked at.
    */
  val begin  = Input(Bool())
  val choose = Input(Bool())
  val more   = Output(Bool())
  val looked = Input(Bool())
  val stop   = Input(Bool())
  val turn   = Output(Valid(UInt(4.W)))

  /** The oldest VRCNUM that left early moves its streams, when there is room for its result. */
  val resultReady = Input(Bool())
  val moved       = Output(Valid(new StripMove))

  /** Which of these VRCNUMs move this stream, as [[VariableUse]] has it. */
  val stream = Input(UInt(4.W))
  val moves  = Output(UInt(StripPending.depth.W))

  val clear = Input(Bool())
}

/** VRCNUM in the commit stage (docs/varve/isa.md 4.5, docs/varve/unit.md 6.8): whether it may leave; whose elements
  * have to be counted before, one stream after the other; and those that left early, until they have moved their
  * streams.
  */
class StripRenewal(p: VectorParams) extends Module {
  require(p.full, "strips are of VarVE-full")
  val io = IO(new StripRenewalIO(p))

  // Streams in the set that the strip has not unpacked: where these would end is not known from their unpacks. Nor where
  // those are whose elements have no common width.
  private val others = io.word.set & (~io.unpacked | io.counted)
  private val asked  = Mux(io.numE === 0.U, 0.U, others)
  io.settles := io.word.count && io.settled
  io.early   := io.word.count && io.mayLeave && !io.settled && others === 0.U
  io.unasked := asked =/= 0.U

  private val looks = RegInit(false.B)
  private val turn  = Reg(UInt(4.W))
  private val set   = Reg(UInt(12.W))
  when(io.begin)(set := asked)
  when(io.choose) {
    turn  := PriorityEncoder(set)
    looks := set =/= 0.U
  }
  when(io.looked) {
    set   := set & ~(1.U(16.W) << turn)(11, 0)
    looks := false.B
  }
  when(io.stop)(looks := false.B)
  io.more             := set =/= 0.U
  io.turn.valid       := looks
  io.turn.bits        := turn

  private val pending = Module(new StripPending)
  io.moved.valid            := io.resolved.valid && io.resultReady
  io.moved.bits             := pending.io.oldest
  pending.io.enter.valid    := io.leaves && io.early
  pending.io.enter.bits.set := io.word.set
  pending.io.enter.bits.rd  := io.word.rd
  pending.io.leave          := io.moved.valid
  pending.io.stream         := io.stream
  pending.io.clear          := io.clear
  io.moves                  := pending.io.moves
}
