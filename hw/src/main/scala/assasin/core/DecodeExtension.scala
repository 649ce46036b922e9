// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.BitPat

/** The part of the core that an instruction of a [[DecodeExtension]] is for. */
object ExtensionUnit extends Enumeration {
  val StreamLoad, StreamStore, StreamReadI, StreamReadO, VectorSettings, Vector = Value
}

/** When an instruction writes rd: never, when it retires, or after that. */
object RdWrite extends Enumeration {
  val Never, Now, Late = Value
}

/** What the pipeline has to know of an extension's instruction.
  *
  * @param unit
  *   the part of the core that executes it
  * @param usesRs1
  *   it reads the scalar register in the field rs1
  * @param usesRs2
  *   the same of rs2
  * @param wen
  *   when it writes the scalar register in the field rd
  */
case class ExtensionClass(
    unit: ExtensionUnit.Value,
    usesRs1: Boolean = false,
    usesRs2: Boolean = false,
    wen: RdWrite.Value = RdWrite.Never
)

/** Instructions beyond [[DecodeTable]], as rows that [[Decode]] joins to the table. */
trait DecodeExtension {

  /** Patterns of 32 bits, bits 6:0 fixed. An instruction that more than one row matches has the flags of all of them.
    */
  def rows: Seq[(BitPat, ExtensionClass)]

  /** Condition beside the pattern, the same for all rows; without it the instruction is illegal. */
  def legal(in: DecodeIO): Bool
}
