// SPDX-License-Identifier: BSD-3-Clause
package assasin.rocket

import chisel3._
import freechips.rocketchip.rocket.RocketVectorDecoder
import org.chipsalliance.cde.config.Parameters

/** Which instructions go to the vector unit, and which scalar registers they use. The unit raises what it has not: it
  * knows more of legality than a word and vtype say.
  */
class AssasinVectorDecoder(implicit p: Parameters) extends RocketVectorDecoder {
  private val opcode = io.inst(6, 0)
  private val funct3 = io.inst(14, 12)

  /** LOAD-FP and STORE-FP with a vector width: 8, 16, 32 or 64 bits. */
  private val memory = (opcode === "b0000111".U || opcode === "b0100111".U) && (funct3 === 0.U || funct3 >= 5.U)

  /** OP-V with integer operands: not OPFVV, OPFVF, and not vset*. */
  private val arithmetic = opcode === "b1010111".U && funct3 =/= 1.U && funct3 =/= 5.U && funct3 =/= 7.U

  io.vector     := memory || arithmetic
  io.legal      := io.vector
  io.fp         := false.B
  io.read_rs1   := memory || (arithmetic && funct3(2)) // OPIVX, OPMVX
  io.read_rs2   := memory && io.inst(27, 26) === 2.U   // strided
  io.read_frs1 := false.B
  io.write_rd   := arithmetic && funct3 === 2.U && io.inst(31, 26) === "b010000".U // VWXUNARY0
  io.write_frd  := false.B
}
