// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Decoupled, MuxLookup, Valid}

/** How a careful memory access ended. */
class CarefulEnd(p: VectorParams) extends Bundle {
  val fault   = Bool()
  val cause   = UInt(5.W)
  val addr    = UInt(p.xLen.W)
  val element = UInt(p.vstartBits.W)
}

class CommitGateIO(p: VectorParams) extends Bundle {
  val offer   = Input(new VectorOffer(p))
  val advance = Input(Bool())
  val commit  = new VectorCommitIO(p)

  /** Whether the range of the access in the commit stage is legal. Not used while `begun`. */
  val check = new VectorCheckIO(p)

  /** An instruction is in the commit stage. */
  val held = Output(Bool())

  /** The instruction in the commit stage may leave it for the core's part, but does not; it waits for memory. */
  val stuck  = Output(Bool())
  val memory = Output(Bool())

  /** Nothing is under way behind the commit point. */
  val idle = Input(Bool())

  /** To the dispatch register. `ready` comes from registers. An empty one only tells the trace. */
  val dispatch = Decoupled(new VectorOp(p))
  val empty    = Output(Bool())

  /** The careful access has come to its end; lasts one cycle. */
  val carefulEnd = Input(Valid(new CarefulEnd(p)))

  /** Instructions with streams. */
  val streams = if (p.pup) Some(new StreamCommitIO(p)) else None

  /** Of VarVE-full: registers that hold its vectors, PACKED. */
  val variable = if (p.full) Some(Input(UInt(32.W))) else None
  val packed   = if (p.full) Some(Input(Bool())) else None

  val clear = Input(Bool())
}

/** The commit stage (docs/varve/unit.md 2.2): legality, range check, traps. What leaves it by `dispatch` cannot fail,
  * but for a careful access, during which the core stands still.
  */
class CommitGate(p: VectorParams) extends Module {
  val io = IO(new CommitGateIO(p))

  // The core's execute stage: the range of a memory access that is not masked, from vstart 0.
  private val insn      = io.offer.insn
  private val offerEew  = MuxLookup(insn(14, 12), 0.U(2.W))(Seq(5.U -> 1.U, 6.U -> 2.U, 7.U -> 3.U))
  private val isIndexed = insn(26)
  private val isStrided = insn(27, 26) === 2.U
  private val isWhole   = !isStrided && insn(24, 20) === 8.U
  private val isMask    = !isStrided && insn(24, 20) === 11.U
  private val vl        = io.offer.config.vl
  private val fields    = insn(31, 29) +& 1.U
  private val reach = Mux(
    isStrided,
    (vl - 1.U) * io.offer.rs2(11, 0) +& (fields << offerEew).asUInt,
    Mux(
      isWhole,
      p.vBytes.U * (insn(31, 29) +& 1.U),
      Mux(isMask, (vl +& 7.U) >> 3, ((vl * fields) << offerEew).asUInt)
    )
  )
  private val last    = io.offer.rs1 +& (reach - 1.U)
  private val lowBits = MuxLookup(offerEew, 0.U(3.W))(Seq(1.U -> 1.U, 2.U -> 3.U, 3.U -> 7.U))
  private val unsettled =
    ((io.offer.rs1 | Mux(isStrided, io.offer.rs2, 0.U)) & lowBits) =/= 0.U || last(p.xLen) || isIndexed ||
      (isStrided && io.offer.rs2(p.xLen - 1, 12) =/= 0.U)

  private val held     = RegInit(false.B)
  private val at       = Reg(new VectorOffer(p))
  private val lastAt   = Reg(UInt(p.xLen.W))
  private val doubtful = Reg(Bool())
  private val begun    = RegInit(false.B)
  private val ended    = RegInit(false.B)
  private val end      = Reg(new CarefulEnd(p))
  private val decode   = Module(new VectorDecode(p))
  decode.io.offer := at

  private val leaves  = held && io.commit.valid && io.commit.done
  private val enters  = io.offer.valid && io.advance
  private val forgets = io.commit.kill && !begun
  when(enters) {
    at       := io.offer
    lastAt   := last(p.xLen - 1, 0)
    doubtful := unsettled
  }
  held := !io.clear && (enters || (held && !leaves && !forgets))

  // What StreamGate says; without it there are no such instructions.
  private val ofStream = io.streams.fold(false.B)(_.mine)
  private def stream[T <: Data](of: StreamCommitIO => T, plain: T): T =
    io.streams.fold(plain)(s => Mux(s.mine, of(s), plain))

  // An operation on elements of any width.
  private val variable = if (p.full) Some(Module(new VariableDecode(p))) else None
  private val ofFull   = variable.fold(false.B)(_ => at.insn(6, 0) === "b0101011".U)
  for (v <- variable) {
    v.io.offer    := at
    v.io.variable := io.variable.get
    v.io.packed   := io.packed.get
  }
  private val plainOp = WireDefault(decode.io.op)
  for (v <- variable) when(ofFull)(plainOp := v.io.op)

  private val plainLegal = variable.fold(decode.io.legal)(v => Mux(ofFull, v.io.legal, decode.io.legal))
  private val illegal    = stream(_.illegal, !plainLegal)
  private val memory     = decode.io.memory && !illegal && !ofStream && !ofFull
  private val touches    = memory && !decode.io.empty
  private val room       = io.dispatch.ready
  private val packing    = io.streams.fold(false.B)(_.packing)
  private val fast       = io.check.ok && !doubtful && at.config.vstart === 0.U
  private val careful    = touches && !fast && (doubtful || at.config.vstart =/= 0.U || !io.check.hold)

  io.check.valid := held && touches && !begun
  io.check.write := decode.io.op.path === VectorPath.Store.U
  io.check.first := at.rs1
  io.check.last  := lastAt

  private val vectorDone = held && (illegal || (room && !begun && (!touches || fast && !packing)) || ended)
  private val done       = stream(_.done, vectorDone)
  private val starts     = held && io.commit.valid && careful && !begun && io.idle && room
  when(starts)(begun := true.B)
  when(io.carefulEnd.valid) {
    ended := true.B
    end   := io.carefulEnd.bits
  }
  when(leaves || io.clear) {
    begun := false.B
    ended := false.B
  }

  // Fault-only-first: elements from the fault on are no part of the vector.
  private val shortened = ended && end.fault && decode.io.firstOnly && end.element =/= 0.U
  private val trap      = stream(_.trap, illegal || (ended && end.fault && !shortened))
  io.commit.done            := done
  io.commit.begun           := begun
  io.commit.trap            := done && trap
  io.commit.cause           := Mux(!(done && trap), 0.U, stream(_.cause, Mux(illegal, 2.U, end.cause)))
  io.commit.tval            := Mux(!(done && trap), 0.U, stream(_.tval, Mux(illegal, at.insn, end.addr)))
  io.commit.late            := done && stream(_.late, !trap && plainOp.toScalar && plainOp.vd =/= 0.U)
  io.commit.setVstart.valid := done && !illegal
  io.commit.setVstart.bits  := Mux(done && trap && !illegal && !ofStream, end.element, 0.U)
  private val newVl = Wire(Valid(UInt(p.vlBits.W)))
  newVl.valid := shortened
  newVl.bits  := Mux(shortened, end.element, 0.U)
  private val noWait = 0.U.asTypeOf(Valid(new VectorWait))
  io.commit.setVl             := stream(_.setVl, newVl)
  when(!done)(io.commit.setVl := 0.U.asTypeOf(io.commit.setVl))
  io.commit.waits             := Mux(held, stream(_.waits, noWait), noWait)
  io.commit.dirty             := done && !illegal && !(ofStream && trap)
  io.commit.memory            := held && (memory || ofStream && !illegal)

  io.held   := held
  io.stuck  := held && io.commit.valid && !done
  io.memory := held && touches && (begun || careful || packing || io.check.hold)

  private val vectorOp = WireDefault(plainOp)
  vectorOp.first                   := at.rs1
  vectorOp.last                    := lastAt
  vectorOp.careful                 := !fast && touches
  when(!fast)(vectorOp.elementwise := memory)
  io.dispatch.valid                := starts || (leaves && !illegal && !begun && !(ofStream && trap))
  io.dispatch.bits                 := stream(_.op, vectorOp)
  // A scalar move to x0 has nothing to do either; a sum closes the strip.
  private val closes = variable.fold(false.B)(v => ofFull && v.io.closes)
  private val vectorEmpty =
    Mux(ofFull, false.B, decode.io.empty) || (plainOp.toScalar && plainOp.vd === 0.U && !closes)
  io.empty := io.streams.fold(vectorEmpty)(s => Mux(s.mine, !s.dispatches, vectorEmpty))

  for (s <- io.streams) {
    s.at          := at
    s.held        := held
    s.enters      := enters
    s.leaves      := leaves
    s.forgets     := held && forgets
    s.room        := room
    s.idle        := io.idle
    s.check.ok    := io.check.ok
    s.check.hold  := io.check.hold
    s.check.cause := io.check.cause
    when(s.mine) {
      io.check.valid := held && s.check.valid
      io.check.write := s.check.write
      io.check.first := s.check.first
      io.check.last  := s.check.last
    }
  }
}
