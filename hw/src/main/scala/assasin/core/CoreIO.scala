// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._

import assasin.vector.VectorIssueIO

/** How a core stands. */
class CoreStatusIO extends Bundle {

  /** [[assasin.contract.CoreState]]. */
  val state = UInt(3.W)

  /** mcause and mtval of the trap that stopped it. */
  val cause = UInt(8.W)
  val tval  = UInt(32.W)

  /** PC of the instruction that stopped it, else of the latest one in MEM. */
  val pc = UInt(32.W)

  /** a0 as of the latest instruction, the exit code after ECALL. */
  val exitCode = UInt(32.W)

  /** Stalled on an empty input stream / a full output stream (stream instruction or waiting CSR), namely `waitStream`.
    */
  val waitIn     = Bool()
  val waitOut    = Bool()
  val waitStream = UInt(3.W)

  /** An instruction retires in this cycle. */
  val retire = Bool()
}

/** One retired instruction or trap, in program order. */
class CoreTraceIO extends Bundle {
  val valid = Bool()
  val pc    = UInt(32.W)
  val insn  = UInt(32.W)

  /** Register write; never x0. */
  val wen   = Bool()
  val rd    = UInt(5.W)
  val wdata = UInt(32.W)

  /** The instruction did not retire but trapped, or an interrupt was taken before it. */
  val trap  = Bool()
  val cause = UInt(32.W)
  val tval  = UInt(32.W)

  /** StreamLoad at the end of its stream: jumped to SEPILOGUE or hung. */
  val streamEnd = Bool()

  /** `rd` is written with `wdata` in this cycle by a vector instruction that retired earlier. Not together with `wen`.
    */
  val late = Bool()
}

/** Ports of [[Core]]. */
class CoreIO(p: CoreParams) extends Bundle {

  /** Read as mhartid. */
  val hartId = Input(UInt(32.W))

  /** 0 holds the pipeline in reset; 0 -> 1 clears all registers and starts at `entry` (word aligned, bits 1:0 ignored).
    */
  val run   = Input(Bool())
  val entry = Input(UInt(32.W))

  /** Level: ends WFI, and is the machine external interrupt. */
  val irqPending = Input(Bool())

  /** In WFI with no interrupt pending and no access outstanding: nothing changes until `irqPending`. */
  val sleeping = Output(Bool())

  val imem   = new ImemIO
  val dmem   = new DmemIO
  val status = Output(new CoreStatusIO)

  /** Instructions wait for a scalar result of the vector unit. */
  val waitResult = Option.when(p.vector.isDefined)(Output(Bool()))

  val debug    = new CoreDebugIO(p.breakpoints)
  val stream   = if (p.streams) Some(new StreamPortIO(p.wideStreams)) else None
  val pointers = if (p.pointers) Some(new PointerPortIO) else None
  val vector   = p.vector.map(v => Flipped(new VectorIssueIO(v)))
  val trace    = if (p.trace) Some(Output(new CoreTraceIO)) else None
}
