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
  // A tile has no stream buffers (VectorParams.buffers), so nobody asks here.
  for (stream <- unit.io.stream) {
    stream.input.head  := 0.U
    stream.input.tail  := 0.U
    stream.input.end   := 0.U
    stream.input.known := false.B
    stream.output.head := 0.U
    stream.output.tail := 0.U
    stream.readAnswer  := 0.U
    stream.sLog2       := 0.U
    stream.ringLog2    := 0.U
  }

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
  // Accesses to VarVE's CSRs take the same way, but not into the unit.
  private val csrs      = Option.when(params.pup)(Module(new VarveCsrs(params)))
  private val offersCsr = if (params.pup) VarveCsrs.is(offer.insn) else false.B

  issue.offer             := offer
  issue.offer.valid       := offered && !offersCsr
  issue.offer.enabled     := core.status.vs =/= 0.U
  issue.offer.config.vxrm := core.wb.vxrm

  // The commit stage: Rocket's write-back stage in its first cycle, only here from then on.
  private val held   = RegInit(false.B)
  private val pc     = Reg(chiselTypeOf(core.ex.pc))
  private val insn   = Reg(UInt(32.W))
  private val stayed = RegInit(false.B)
  private val isCsr  = RegInit(false.B)
  private val first  = RegInit(false.B)

  /** Scalar accesses that are older than the instruction here are done; younger ones do not begin. */
  private val wasSettled = RegInit(false.B)
  private val settled    = held && (wasSettled || (io.dmem.ordered && !core.wb.store_pending))
  port.io.settled := settled

  // A value for a scalar register that does not come from the unit.
  private val ownValid = RegInit(false.B)
  private val ownRd    = Reg(UInt(5.W))
  private val ownData  = Reg(UInt(params.xLen.W))

  private val mayCommit = held && !ownValid && !isCsr && (!commit.memory || settled)
  private val leaves    = Mux(isCsr, held && !ownValid, mayCommit && commit.done)
  private val stays     = held && !leaves
  private val csrLegal  = csrs.fold(false.B)(_.io.legal)
  private val traps     = Mux(isCsr, !csrLegal, commit.trap)

  /** An instruction that shortens vl: what is behind it has seen the vl before. */
  private val shortens = leaves && commit.setVl.valid

  // What Rocket has read in its execute stage when an instruction left late is read again.
  private val block = stays || stayed || shortens
  stayed := stays || shortens
  private val enters = offered && !core.killm && !block
  issue.advance := enters && !offersCsr
  commit.valid  := mayCommit
  commit.kill   := false.B
  when(enters) {
    pc    := offerPc
    insn  := offer.insn
    isCsr := offersCsr
  }
  first      := enters
  held       := enters || stays
  wasSettled := settled && stays

  core.wb.pc               := pc
  core.wb.inst             := insn
  core.wb.retire           := leaves && !traps
  core.wb.replay           := false.B
  core.wb.xcpt             := leaves && traps
  core.wb.cause            := Mux(isCsr, 2.U, commit.cause)
  core.wb.tval             := Mux(isCsr, insn, commit.tval)
  core.wb.rob_should_wb    := Mux(isCsr, insn(11, 7) =/= 0.U, commit.late)
  core.wb.rob_should_wb_fp := false.B

  private val writesRd = WireDefault(false.B)
  for (c <- csrs) {
    c.io.insn      := insn
    c.io.rs1       := RegEnable(offer.rs1, enters)
    c.io.privilege := core.status.prv
    c.io.write     := leaves && isCsr
    // custom-1 and custom-2.
    c.io.dirty            := leaves && commit.dirty && !commit.trap && insn(3, 0) === "b1011".U
    issue.offer.varve.get := c.io.config

    val word = Module(new AssasinVectorDecoder(params))
    word.io.inst    := insn
    word.io.vconfig := 0.U.asTypeOf(word.io.vconfig)
    writesRd        := word.io.write_rd && insn(11, 7) =/= 0.U
  }
  // Rocket waits for rd from the first cycle here on, so an instruction that traps later gives it a value, too.
  when(leaves && writesRd && Mux(isCsr, csrLegal || !first, commit.trap && !first)) {
    ownValid := true.B
    ownRd    := insn(11, 7)
    ownData  := Mux(isCsr && csrLegal, csrs.fold(0.U)(_.io.value), 0.U)
  }

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
  private val own = ownValid && !issue.result.valid
  core.resp.valid     := issue.result.valid || ownValid
  core.resp.bits.fp   := false.B
  core.resp.bits.size := 3.U
  core.resp.bits.rd   := Mux(own, ownRd, issue.result.bits.rd)
  core.resp.bits.data := Mux(own, ownData, issue.result.bits.data)
  issue.result.ready  := core.resp.ready
  when(own && core.resp.ready) { ownValid := false.B }

  core.trap_check_busy := offered || held
  core.backend_busy    := issue.status.busy || port.io.busy || ownValid

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
