// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3.util.BitPat

/** Immediate of an instruction, by the specification's names; `Link` is 4, `Csr` the source of an immediate CSR access.
  */
object Immediate extends Enumeration {
  val I, S, U, Link, Csr = Value
}

/** The operands of an instruction: scalar registers read and written, and what the ALU gets.
  *
  * @param aPc
  *   the ALU's first operand is the PC
  * @param aZero
  *   it is 0; with neither rs1
  * @param bReg
  *   its second operand is rs2, else the immediate
  */
case class DecodeOperands(
    rs1: Boolean = false,
    rs2: Boolean = false,
    rd: Boolean = false,
    aPc: Boolean = false,
    aZero: Boolean = false,
    bReg: Boolean = false,
    imm: Immediate.Value = Immediate.I
)

/** What an instruction does.
  *
  * @param name
  *   for messages, and to tell actions apart
  * @param fn
  *   the ALU's function is funct3, else it adds
  * @param bit
  *   the [[BitOp]] of an instruction of the [[BitUnit]], else 0
  */
case class Action(name: String, fn: Boolean = false, bit: Int = 0)

/** One instruction of [[DecodeTable]].
  *
  * @param pattern
  *   32 bits, bits 6:0 fixed
  */
case class DecodeRow(name: String, pattern: BitPat, operands: DecodeOperands, action: Action)
