// SPDX-License-Identifier: BSD-3-Clause
package assasin.rocket

import assasin.vector.{VarveConfig, VectorParams}
import chisel3._

class VarveCsrsIO(p: VectorParams) extends Bundle {

  /** The access in the commit stage: its word, the register in its field rs1, the hart's privilege. */
  val insn      = Input(UInt(32.W))
  val rs1       = Input(UInt(p.xLen.W))
  val privilege = Input(UInt(2.W))

  /** It is legal, and what it reads. */
  val legal = Output(Bool())
  val value = Output(UInt(p.xLen.W))

  /** It takes effect in this cycle. */
  val write = Input(Bool())

  /** An instruction of VarVE that changes VarVE's state retires. */
  val dirty = Input(Bool())

  /** For the instruction behind the one in the commit stage: with what is written in this cycle. */
  val config = Output(new VarveConfig(p))
}
