// SPDX-License-Identifier: BSD-3-Clause
package assasin.rocket

import assasin.vector.VectorUnit
import chisel3._
import chisel3.util.{Cat, RegEnable}
import freechips.rocketchip.rocket.RocketVectorUnitModuleImp
import freechips.rocketchip.tile.HasCoreParameters

/** Hardware of [[AssasinVectorUnit]]. Rocket's execute stage is held for a cycle and offered from its memory stage; its
  * write-back stage is the unit's commit stage. What does not end in its first cycle there leaves Rocket's pipeline and
  * stays here, with its address, until it retires or traps; meanwhile nothing younger passes Rocket's memory stage.
  */
class AssasinVectorUnitImp(outer: AssasinVectorUnit) extends RocketVectorUnitModuleImp(outer) with HasCoreParameters {
  private val params = outer.params
  require(params.xLen == xLen, s"xLen = ${params.xLen}: the tile has $xLen bits")
  require(params.vLen == vLen && params.eLen == eLen, s"the tile is told of VLEN $vLen and ELEN $eLen")
  require(!usingVM && coreParams.nPMPs == 0, "the vector unit does not translate or protect addresses: no VM, no PMPs")

  private val unit           = Module(new VectorUnit(params))
  private val (memory, edge) = outer.memory.out.head
  private val port           = Module(new VectorAdapterMemory(params, edge))
  port.io.unit <> unit.io.memory
  memory <> port.io.tl

  private val core   = io.core
  private val issue  = unit.io.issue
  private val commit = issue.commit

  // Rocket's memory stage.
  private val offered = RegNext(core.ex.valid, false.B)
  private val offer   = Reg(chiselTypeOf(issue.offer))
  private val offerPc = RegEnable(core.ex.pc, core.ex.valid)
  private val vtype   = core.ex.vconfig.vtype
  core.ex.ready := true.B
  when(core.ex.valid) {
    offer.insn          := core.ex.inst
    offer.rs1           := core.ex.rs1
    offer.rs2           := core.ex.rs2
    offer.config.vill   := vtype.vill
    offer.config.vma    := vtype.vma
    offer.config.vta    := vtype.vta
    offer.config.vsew   := vtype.vsew
    offer.config.vlmul  := Cat(vtype.vlmul_sign, vtype.vlmul_mag)
    offer.config.vl     := core.ex.vconfig.vl
    offer.config.vstart := core.ex.vstart
  }
  issue.offer             := offer
  issue.offer.valid       := offered
  issue.offer.enabled     := core.status.vs =/= 0.U
  issue.offer.config.vxrm := core.wb.vxrm

  // The commit stage: Rocket's write-back stage in its first cycle, only here from then on.
  private val held   = RegInit(false.B)
  private val pc     = Reg(chiselTypeOf(core.ex.pc))
  private val insn   = Reg(UInt(32.W))
  private val stayed = RegInit(false.B)

  /** Scalar accesses that are older than a vector access are done before it begins. */
  private val mayCommit = held && (!commit.memory || io.dmem.ordered && !core.wb.store_pending)
  private val leaves    = mayCommit && commit.done
  private val stays     = held && !leaves
  // What Rocket has read in its execute stage when an instruction left late is read again.
  private val block = stays || stayed
  stayed := stays
  private val enters = offered && !core.killm && !block
  issue.advance := enters
  commit.valid  := mayCommit
  commit.kill   := false.B
  when(enters) {
    pc   := offerPc
    insn := offer.insn
  }
  held := enters || stays

  core.wb.pc               := pc
  core.wb.inst             := insn
  core.wb.retire           := leaves && !commit.trap
  core.wb.replay           := false.B
  core.wb.xcpt             := leaves && commit.trap
  core.wb.cause            := commit.cause
  core.wb.tval             := commit.tval
  core.wb.rob_should_wb    := commit.late
  core.wb.rob_should_wb_fp := false.B

  core.set_vstart.valid       := leaves && commit.setVstart.valid
  core.set_vstart.bits        := commit.setVstart.bits
  core.set_vconfig.valid      := leaves && commit.setVl.valid
  core.set_vconfig.bits.vtype := RegEnable(RegEnable(vtype, core.ex.valid), enters)
  core.set_vconfig.bits.vl    := commit.setVl.bits
  core.set_vxsat              := issue.status.vxsat
  core.set_fflags.valid       := false.B
  core.set_fflags.bits        := 0.U

  core.mem.block_all := block
  core.mem.block_mem := block || issue.status.loads || issue.status.stores || (held && commit.memory)

  // Results.
  core.resp.valid     := issue.result.valid
  core.resp.bits.fp   := false.B
  core.resp.bits.size := 3.U
  core.resp.bits.rd   := issue.result.bits.rd
  core.resp.bits.data := issue.result.bits.data
  issue.result.ready  := core.resp.ready

  core.trap_check_busy := offered || held
  core.backend_busy    := issue.status.busy || port.io.busy

  // A Rocket tile has no debugger's window to the vector registers, and programs that share it trust each other.
  issue.window.valid := false.B
  issue.window.bits  := 0.U.asTypeOf(issue.window.bits)
  issue.clear        := false.B
  issue.erase        := false.B

  // Of the data cache only its order is asked for; floating point and translation are not used.
  io.dmem.req.valid          := false.B
  io.dmem.req.bits           := 0.U.asTypeOf(io.dmem.req.bits)
  io.dmem.s1_kill            := false.B
  io.dmem.s1_data            := 0.U.asTypeOf(io.dmem.s1_data)
  io.dmem.s2_kill            := false.B
  io.dmem.keep_clock_enabled := true.B
  io.tlb.req.valid           := false.B
  io.tlb.req.bits            := 0.U.asTypeOf(io.tlb.req.bits)
  io.tlb.s2_kill             := false.B
  io.fp_req.valid            := false.B
  io.fp_req.bits             := 0.U.asTypeOf(io.fp_req.bits)
  io.fp_resp.ready           := true.B
}
