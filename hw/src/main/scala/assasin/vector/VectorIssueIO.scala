// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Decoupled, Valid}

/** VarVE's CSRs that an instruction depends on (docs/varve/isa.md 2.2), as they are after all older instructions. */
class VarveConfig(p: VectorParams) extends Bundle {

  /** MVARVE's state is not Off. Without it every VarVE instruction is illegal. */
  val enabled = Bool()

  /** VSFMT and VSAUX, of meaning for declarations of streams only. */
  val format = UInt(32.W)
  val aux    = UInt(p.xLen.W)
}

/** The instruction in the core's execute stage, speculative: it may still be cancelled. */
class VectorOffer(p: VectorParams) extends Bundle {

  /** A vector instruction other than vset* with its operands is in the execute stage. The other fields mean nothing
    * without it.
    */
  val valid = Bool()

  /** The instruction word: major opcodes LOAD-FP and STORE-FP with a vector width, or OP-V; with `pup` custom-2, and
    * with `full` custom-1 too. The unit decides legality.
    */
  val insn = UInt(32.W)

  /** Values of the scalar registers in fields rs1 and rs2; anything where the instruction has none. */
  val rs1 = UInt(p.xLen.W)
  val rs2 = UInt(p.xLen.W)

  /** vtype, vl, vstart and vxrm as this instruction has to see them: after all older instructions. `vstart` is offered
    * as 0 while an older vector instruction is in the commit stage, since its end sets it to 0.
    */
  val config = new VectorConfig(p)

  /** mstatus.VS is not Off, as this instruction has to see it. Without it every instruction is illegal. */
  val enabled = Bool()

  /** Looked at for custom-1 and custom-2 only. */
  val varve = if (p.pup) Some(new VarveConfig(p)) else None
}

/** The stream that an instruction in the commit stage waits for. */
class VectorWait extends Bundle {

  /** An output stream's room, else an input stream's data. */
  val output = Bool()
  val stream = UInt(4.W)
}

/** The unit's side of an instruction in the core's commit stage. All outputs describe the instruction that the stage
  * holds, and are 0 while it holds none.
  */
class VectorCommitIO(p: VectorParams) extends Bundle {

  /** The instruction in the commit stage is not cancelled and nothing older can trap any more. `valid && done` ends its
    * stay: it retires, or traps with `trap`, in this cycle. With `advance` in the same cycle the next one follows.
    */
  val valid = Input(Bool())

  /** Forget the instruction in the commit stage. Never in the cycle of `done` with `valid`, never after `begun`. */
  val kill = Input(Bool())

  /** It can end in this cycle. Does not depend on `valid` in the same cycle. */
  val done = Output(Bool())

  /** A careful access: elements have been accessed, so kill and replay are no longer possible. */
  val begun = Output(Bool())

  /** With `done`: it traps instead of retiring. `cause` as in mcause: 2, 4, 5, 6 or 7; of a stream instruction also 24
    * (STREAM_RANGE) and 25 (STREAM_DATA).
    */
  val trap  = Output(Bool())
  val cause = Output(UInt(5.W))
  val tval  = Output(UInt(p.xLen.W))

  /** With `done`, without `trap`: rd is not x0 and is written through `result`, at least one cycle later. */
  val late = Output(Bool())

  /** With `done`: the value that vstart takes: on a trap of a memory access the element, when it retires 0. Not valid
    * for an illegal instruction, which leaves vstart alone.
    */
  val setVstart = Output(Valid(UInt(p.vstartBits.W)))

  /** With `done`, without `trap`: fault-only-first has shortened vl to this. */
  val setVl = Output(Valid(UInt(p.vlBits.W)))

  /** It is not done because of this stream. */
  val waits = Output(Valid(new VectorWait))

  /** With `done`: mstatus.VS becomes Dirty. Also with a trap but that of an illegal instruction. */
  val dirty = Output(Bool())

  /** The instruction in the stage accesses memory or a stream, so scalar accesses behind it wait (docs/varve/unit.md
    * 2.3). Not set for an illegal one.
    */
  val memory = Output(Bool())
}

/** A scalar register's late value. */
class VectorResult(p: VectorParams) extends Bundle {

  /** Never 0. */
  val rd   = UInt(5.W)
  val data = UInt(p.xLen.W)
}

/** What is under way behind the commit point. The instruction in the commit stage does not count, the one that has left
  * it in the cycle before does.
  */
class VectorStatus(p: VectorParams) extends Bundle {

  /** Anything, results not yet taken included. */
  val busy = Bool()

  /** Loads, stores: their memory accesses are not all done. */
  val loads  = Bool()
  val stores = Bool()

  /** A pulse: set vxsat. Comes while `busy`. */
  val vxsat = Bool()

  /** Bit s: an open stream of VarVE has input or output stream buffer s, as its data or its widths. stream.load, or
    * stream.store, on it is then illegal. A declaration counts from the cycle after its end in the commit stage on.
    */
  val ownInputs  = if (p.pup) Some(UInt(8.W)) else None
  val ownOutputs = if (p.pup) Some(UInt(8.W)) else None
}

/** One access to vector state by the debugger's window (VSSEL, VSDAT; docs/varve/isa.md 2.2). */
class VectorWindowRequest extends Bundle {
  val write = Bool()

  /** Of CSR NUME instead; `select` means nothing. Only with `full`. */
  val nume   = Bool()
  val select = UInt(32.W)
  val data   = UInt(32.W)
}

/** Vector instructions from a core in two phases (docs/varve/unit.md 2.1), seen from the unit: the offer in the core's
  * execute stage, the commit in the last stage in which it may still cancel or trap. One instruction stands in each.
  *
  * Between `advance` and the end of the stay in the commit stage the unit holds its operands; the core may change the
  * offer freely. At most one instruction ends and at most one result comes in a cycle. The core may hold `result.ready`
  * low as long as it likes; the unit then may stop issuing.
  */
class VectorIssueIO(p: VectorParams) extends Bundle {
  val offer = Input(new VectorOffer(p))

  /** At the end of this cycle the offered instruction enters the commit stage. Only with `offer.valid`, and only when
    * that stage is empty or empties in this cycle.
    */
  val advance = Input(Bool())

  val commit = new VectorCommitIO(p)

  /** In any order among instructions of different rd; the core allows one result under way a register. */
  val result = Decoupled(new VectorResult(p))

  val status = Output(new VectorStatus(p))

  /** Taken and answered only while nothing is under way. A write is answered too, with any data. */
  val window       = Flipped(Decoupled(new VectorWindowRequest))
  val windowAnswer = Output(Valid(UInt(32.W)))

  /** Back to the reset state but for the vector registers' contents. Answers of memory under way are swallowed. While
    * it is high nothing is offered or committed.
    */
  val clear = Input(Bool())

  /** With `clear`, from its second cycle on: all vector registers become 0, an element group a cycle, and then `erased`
    * rises until `erase` falls. So that a program sees nothing of the one before it.
    */
  val erase  = Input(Bool())
  val erased = Output(Bool())
}
