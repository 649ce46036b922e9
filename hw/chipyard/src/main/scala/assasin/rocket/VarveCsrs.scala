// SPDX-License-Identifier: BSD-3-Clause
package assasin.rocket

import assasin.contract.VarveCsr
import assasin.vector.VectorParams
import chisel3._
import chisel3.util.{Cat, MuxLookup, log2Ceil}

/** VSFMT, VSAUX, VVCFG and MVARVE (docs/varve/isa.md 2.2) beside Rocket's own CSRs. Rocket hands accesses to them to
  * the vector unit like vector instructions. VarVE is off until machine mode turns it on.
  */
class VarveCsrs(p: VectorParams) extends Module {
  require(p.pup, "VarveCsrs is of VarVE")
  val io = IO(new VarveCsrsIO(p))

  private val state  = RegInit(0.U(2.W))
  private val format = RegInit(0.U(32.W))
  private val aux    = RegInit(0.U(p.xLen.W))
  private val vvcfg =
    BigInt(p.elements) << 16 | p.maxWidth << 8 | (if (p.full) 3 else 1) << 4 | log2Ceil(p.align)

  private val address  = io.insn(31, 20)
  private val isFormat = address === VarveCsr.Vsfmt.U
  private val isAux    = address === VarveCsr.Vsaux.U
  private val isState  = address === VarveCsr.Mvarve.U
  io.value := Mux(isFormat, format, Mux(isAux, aux, Mux(isState, state, vvcfg.U)))
  io.legal := io.privilege >= address(9, 8) && (isState || state =/= 0.U)

  private val source = Mux(io.insn(14), Cat(0.U((p.xLen - 5).W), io.insn(19, 15)), io.rs1)
  private val result =
    MuxLookup(io.insn(13, 12), source)(Seq(2.U -> (io.value | source), 3.U -> (io.value & ~source)))
  // Set and clear of x0 or 0 only read.
  private val writes = io.write && io.legal && (!io.insn(13) || io.insn(19, 15) =/= 0.U)

  private val newState  = WireDefault(state)
  private val newFormat = WireDefault(format)
  private val newAux    = WireDefault(aux)
  when(io.dirty || (writes && (isFormat || isAux))) { newState := 3.U }
  when(writes && isState) { newState := result(1, 0) }
  when(writes && isFormat) { newFormat := result(31, 0) }
  when(writes && isAux) { newAux := result }
  state  := newState
  format := newFormat
  aux    := newAux

  io.config.enabled := newState =/= 0.U
  io.config.format  := newFormat
  io.config.aux     := newAux
}

object VarveCsrs {

  /** The word is an access to one of them. */
  def is(insn: UInt): Bool = insn(6, 0) === "b1110011".U && insn(13, 12) =/= 0.U &&
    Seq(VarveCsr.Vsfmt, VarveCsr.Vsaux, VarveCsr.Vvcfg, VarveCsr.Mvarve).map(insn(31, 20) === _.U).reduce(_ || _)
}
