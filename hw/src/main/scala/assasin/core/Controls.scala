// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._

/** What an instruction needs from the pipeline. All flags are 0 for an illegal instruction. */
class Controls extends Bundle {
  val illegal = Bool()
  val usesRs1 = Bool()
  val usesRs2 = Bool()

  /** Writes rd, and rd is not x0. */
  val wen = Bool()

  /** With `wen`: rd comes from the vector unit after the instruction has retired. */
  val late = Bool()

  /** First ALU operand: PC, or 0 (LUI, immediate CSR source); else rs1. */
  val aPc   = Bool()
  val aZero = Bool()

  /** Second ALU operand: immediate; else rs2. */
  val bImm = Bool()
  val imm  = UInt(32.W)

  /** ALU function: funct3, and `alt` for SUB and SRA. */
  val aluFn  = UInt(3.W)
  val aluAlt = Bool()

  /** ALU complements its second operand (ANDN, ORN, XNOR). */
  val invertB = Bool()

  /** Unit that makes the result instead of the ALU: [[BitUnit]] with this [[BitOp]], or [[AesUnit]]. */
  val bit = UInt(BitOp.Width.W)
  val aes = Bool()

  val branch = Bool()
  val jal    = Bool()
  val jalr   = Bool()
  val load   = Bool()
  val store  = Bool()
  val mul    = Bool()
  val div    = Bool()
  val csr    = Bool()
  val ecall  = Bool()
  val ebreak = Bool()
  val mret   = Bool()
  val wfi    = Bool()

  /** FENCE or FENCE.I; FENCE.I alone. */
  val fence  = Bool()
  val fenceI = Bool()
  val stream = new StreamOp

  /** vsetvli, vsetivli, vsetvl; an instruction for the vector unit. */
  val vset   = Bool()
  val vector = Bool()
}
