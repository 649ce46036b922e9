// SPDX-License-Identifier: BSD-3-Clause
package assasin.rocket

import assasin.vector.VectorParams
import chisel3._
import freechips.rocketchip.rocket.RocketVectorDecoder
import org.chipsalliance.cde.config.Parameters

/** Which instructions go to the vector unit, and which scalar registers they use. The unit raises what it has not: it
  * knows more of legality than a word and vtype say. With VarVE these are its instructions and accesses to its CSRs
  * too.
  */
class AssasinVectorDecoder(params: VectorParams)(implicit p: Parameters) extends RocketVectorDecoder {
  private val opcode = io.inst(6, 0)
  private val funct3 = io.inst(14, 12)

  /** LOAD-FP and STORE-FP with a vector width: 8, 16, 32 or 64 bits. */
  private val memory = (opcode === "b0000111".U || opcode === "b0100111".U) && (funct3 === 0.U || funct3 >= 5.U)

  /** OP-V with integer operands: not OPFVV, OPFVF, and not vset*. */
  private val arithmetic = opcode === "b1010111".U && funct3 =/= 1.U && funct3 =/= 5.U && funct3 =/= 7.U

  /** custom-1 and custom-2, and of these declarations and what ends or moves a stream. */
  private val variable = params.full.B && opcode === "b0101011".U
  private val stream   = params.pup.B && opcode === "b1011011".U
  private val whole    = stream && funct3 === 0.U
  private val csr      = if (params.pup) VarveCsrs.is(io.inst) else false.B

  io.vector := memory || arithmetic || variable || stream || csr
  io.legal  := io.vector
  io.fp     := false.B
  io.read_rs1 := memory || (arithmetic && funct3(2)) || // OPIVX, OPMVX
    (variable && funct3 === 4.U) || whole || (csr && !funct3(2))
  io.read_rs2 := memory && io.inst(27, 26) === 2.U || // strided
    (whole && io.inst(31, 28) === 0.U) // inputs: the number of elements
  io.read_frs1 := false.B
  io.write_rd := arithmetic && funct3 === 2.U && io.inst(31, 26) === "b010000".U || // VWXUNARY0
    (variable && funct3 === 2.U && io.inst(31, 26) === "b010000".U) || // vv.num, vv.redsum
    (whole && io.inst(31, 26) === "b001100".U) ||                      // vs.er, vs.ew
    (stream && (funct3 === 1.U || funct3 === 3.U)) || csr              // vs.rcnum, vs.vpack, vs.pack
  io.write_frd := false.B
}
