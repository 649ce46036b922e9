// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Valid, log2Ceil}

import assasin.contract.VarveCsr

/** A vector CSR of [[VectorSettings]].
  *
  * @param address
  *   12 bits
  * @param waits
  *   its value is known only when the unit has nothing under way
  */
case class VectorCsr(address: Int, waits: Boolean = false)

/** VarVE's part of [[VectorSettingsIO]]. */
class VarveSettingsIO(p: VectorParams) extends Bundle {

  /** The vector instruction in MEM is one of VarVE's. */
  val inMem = Input(Bool())

  /** For an instruction in EX, under the condition of [[VectorSettingsIO.config]]. */
  val config = Output(new VarveConfig(p))
}

/** Ports of [[VectorSettings]]. */
class VectorSettingsIO(p: VectorParams) extends Bundle {

  /** All to the reset values: vtype.vill, everything else 0. */
  val clear = Input(Bool())

  /** A vset* in EX: its word, the registers in its fields rs1 and rs2, and whether it moves to MEM at the end of this
    * cycle.
    */
  val insn    = Input(UInt(32.W))
  val rs1     = Input(UInt(p.xLen.W))
  val rs2     = Input(UInt(p.xLen.W))
  val advance = Input(Bool())

  /** What it writes to rd and to vl, in the same cycle. */
  val newVl = Output(UInt(p.vlBits.W))

  /** MEM holds a vset*, a vector instruction. */
  val memVset   = Input(Bool())
  val memVector = Input(Bool())

  /** The vset* in MEM retires in this cycle. */
  val retire = Input(Bool())

  /** The vector instruction in MEM ends in this cycle: what becomes of vstart, vl and mstatus.VS. */
  val setVstart = Flipped(Valid(UInt(p.vstartBits.W)))
  val setVl     = Flipped(Valid(UInt(p.vlBits.W)))
  val dirty     = Input(Bool())

  /** [[VectorStatus.vxsat]]. */
  val vxsat = Input(Bool())

  /** The settings for an instruction in EX. Wrong only in a cycle in which MEM writes a CSR. */
  val config  = Output(new VectorConfig(p))
  val enabled = Output(Bool())

  /** CSRs in the order of [[VectorSettings.csrs]]: an instruction in EX may not access them, values, writes in this
    * cycle.
    */
  val illegal = Output(Vec(VectorSettings.csrs(p).size, Bool()))
  val read    = Output(Vec(VectorSettings.csrs(p).size, UInt(p.xLen.W)))
  val write   = Input(Vec(VectorSettings.csrs(p).size, Bool()))
  val value   = Input(UInt(p.xLen.W))

  /** VSSEL, and what the unit's window has answered: the value of VSDAT or NUME. */
  val select = Output(UInt(32.W))
  val window = Input(UInt(32.W))

  /** mstatus' fields VS, XS and SD in their places; mstatus is written with `value` in this cycle. */
  val status      = Output(UInt(p.xLen.W))
  val statusWrite = Input(Bool())

  val varve = Option.when(p.pup)(new VarveSettingsIO(p))
}

/** The vector CSRs and vset* for a core that has none of its own (V specification 1.0, sections 3 and 6;
  * docs/varve/isa.md 2.2 and 2.3).
  *
  * A vset* computes in EX and takes effect when it retires from MEM; what is in EX sees the one in MEM. vset* with rd
  * and rs1 x0 that would change VLMAX, or finds vill set, sets vill, as the specification allows.
  */
class VectorSettings(p: VectorParams) extends Module {
  val io = IO(new VectorSettingsIO(p))

  private val vill   = RegInit(true.B)
  private val vtype  = RegInit(0.U(8.W))
  private val vl     = RegInit(0.U(p.vlBits.W))
  private val vstart = RegInit(0.U(p.vstartBits.W))
  private val vxrm   = RegInit(0.U(2.W))
  private val vxsat  = RegInit(false.B)
  private val vs     = RegInit(0.U(2.W))

  // What the vset* in MEM will set.
  private val memVill  = Reg(Bool())
  private val memVtype = Reg(UInt(8.W))
  private val memVl    = Reg(UInt(p.vlBits.W))

  private val current = Wire(new VectorConfig(p))
  private val type8   = Mux(io.memVset, memVtype, vtype)
  current.vill   := Mux(io.memVset, memVill, vill)
  current.vma    := type8(7)
  current.vta    := type8(6)
  current.vsew   := type8(5, 3)
  current.vlmul  := type8(2, 0)
  current.vl     := Mux(io.memVset, memVl, Mux(io.memVector && io.setVl.valid, io.setVl.bits, vl))
  current.vstart := Mux(io.memVset || io.memVector, 0.U, vstart)
  current.vxrm   := vxrm
  io.config      := current
  io.enabled     := vs =/= 0.U

  // ---- vset* in EX ----------------------------------------------------------------------------------------------------------
  private val immediate = io.insn(31, 30) === 3.U // vsetivli
  private val byType    = io.insn(31)             // vsetvl, with vtype in rs2, if not vsetivli
  private val newType = Mux(
    immediate,
    Cat(0.U((p.xLen - 10).W), io.insn(29, 20)),
    Mux(byType, io.rs2, Cat(0.U((p.xLen - 11).W), io.insn(30, 20)))
  )
  private val wanted = Wire(new VectorConfig(p))
  wanted       := current
  wanted.vsew  := newType(5, 3)
  wanted.vlmul := newType(2, 0)
  private val rs1Zero = io.insn(19, 15) === 0.U && !immediate
  private val keep    = rs1Zero && io.insn(11, 7) === 0.U

  // log2(SEW / LMUL), modulo 16.
  private def ratio(c: VectorConfig): UInt = Cat(0.U(1.W), c.vsew) - Cat(c.vlmul(2), c.vlmul)
  private val newVill = newType(p.xLen - 1, 8) =/= 0.U || !VectorConfig.supported(p, newType(5, 3), newType(2, 0)) ||
    keep && (current.vill || ratio(wanted) =/= ratio(current))
  private val vlmax = wanted.vlmax
  private val avl   = Mux(immediate, Cat(0.U((p.xLen - 5).W), io.insn(19, 15)), io.rs1)
  private val newVl = Mux(
    newVill,
    0.U,
    Mux(keep, current.vl, Mux(rs1Zero || avl > vlmax, vlmax, avl(p.vlBits - 1, 0)))
  )
  io.newVl := newVl
  when(io.advance) {
    memVill  := newVill
    memVtype := Mux(newVill, 0.U, newType(7, 0))
    memVl    := newVl
  }

  // ---- CSRs -----------------------------------------------------------------------------------------------------------------
  private val csrs = VectorSettings.csrs(p)
  // Of the CSR with this address; `otherwise` without one.
  private def of[T](ports: Seq[T], address: Int, otherwise: T): T =
    csrs.map(_.address).zip(ports).collectFirst { case (`address`, port) => port }.getOrElse(otherwise)
  private def writes(address: Int): Bool = of(io.write, address, false.B)

  private val built   = if (p.full) 3 else 1
  private val log2G   = log2Ceil(p.align)
  private val vvcfg   = BigInt(p.elements) << 16 | p.maxWidth << 8 | built << 4 | log2G
  private val select  = RegInit(0.U(32.W))
  private val state   = Option.when(p.pup)(RegInit(1.U(2.W))) // MVARVE
  private val format  = Option.when(p.pup)(RegInit(0.U(32.W)))
  private val aux     = Option.when(p.pup)(RegInit(0.U(p.xLen.W)))
  private val unknown = 0.U
  private val values = Map[Int, UInt](
    0x008           -> vstart,
    0x009           -> vxsat,
    0x00a           -> vxrm,
    0x00f           -> Cat(vxrm, vxsat),
    0xc20           -> vl,
    0xc21           -> Cat(vill, 0.U((p.xLen - 9).W), vtype),
    0xc22           -> p.vBytes.U,
    VarveCsr.Vssel  -> select,
    VarveCsr.Vsdat  -> io.window,
    VarveCsr.Nume   -> io.window,
    VarveCsr.Vsfmt  -> format.getOrElse(unknown),
    VarveCsr.Vsaux  -> aux.getOrElse(unknown),
    VarveCsr.Vvcfg  -> vvcfg.U,
    VarveCsr.Mvarve -> state.getOrElse(unknown)
  )
  io.select := select
  for (((row, read), illegal) <- csrs.zip(io.read).zip(io.illegal)) {
    read := values(row.address)
    // A plain unit has of VarVE's only the window, which belongs to the vector registers then.
    illegal := (row.address match {
      case VarveCsr.Mvarve                                 => false.B
      case n if n >= VarveCsr.Vsfmt && n <= VarveCsr.Vvcfg => state.fold(vs === 0.U)(_ === 0.U)
      case _                                               => vs === 0.U
    })
  }
  private val varveState = state.getOrElse(0.U(2.W))
  io.status := Cat(vs === 3.U || varveState === 3.U, 0.U((p.xLen - 18).W), varveState, 0.U(4.W), vs, 0.U(9.W))
  for (varve <- io.varve) {
    varve.config.enabled := varveState =/= 0.U
    varve.config.format  := format.get
    varve.config.aux     := aux.get
  }

  when(io.retire) {
    vill   := memVill
    vtype  := memVtype
    vl     := memVl
    vstart := 0.U
  }
  when(io.setVstart.valid) { vstart := io.setVstart.bits }
  when(io.setVl.valid) { vl := io.setVl.bits }
  when(io.vxsat) { vxsat := true.B }
  when(writes(0x008)) { vstart := io.value(p.vstartBits - 1, 0) }
  when(writes(0x009)) { vxsat := io.value(0) }
  when(writes(0x00a)) { vxrm := io.value(1, 0) }
  when(writes(0x00f)) {
    vxrm  := io.value(2, 1)
    vxsat := io.value(0)
  }
  when(writes(VarveCsr.Vssel)) { select := io.value(31, 0) }
  format.foreach(f => when(writes(VarveCsr.Vsfmt)) { f := io.value(31, 0) })
  aux.foreach(a => when(writes(VarveCsr.Vsaux)) { a := io.value })

  // Registers and NumE are vector state; VSFMT, VSAUX and VSSEL are VarVE's alone.
  private val ofVector = VectorSettings.standard.map(_.address) ++ Seq(VarveCsr.Vsdat, VarveCsr.Nume)
  private val ofVarve  = Seq(VarveCsr.Vsfmt, VarveCsr.Vsaux, VarveCsr.Vssel, VarveCsr.Vsdat, VarveCsr.Nume)
  // Not when vxsat is set: the instruction has made VS Dirty when it retired, and a later write to mstatus counts.
  when(io.statusWrite) { vs := io.value(10, 9) }
  when(io.retire || io.dirty || ofVector.map(writes).reduce(_ || _)) { vs := 3.U }
  for (s <- state) {
    when(writes(VarveCsr.Mvarve)) { s := io.value(1, 0) }
    when(io.dirty && io.varve.get.inMem || ofVarve.map(writes).reduce(_ || _)) { s := 3.U }
  }
  when(io.clear) {
    vill   := true.B
    vtype  := 0.U
    vl     := 0.U
    vstart := 0.U
    vxrm   := 0.U
    vxsat  := false.B
    vs     := 0.U
    select := 0.U
    state.foreach(_ := 1.U)
    format.foreach(_ := 0.U)
    aux.foreach(_ := 0.U)
  }
}

object VectorSettings {

  /** vstart, vxsat, vxrm, vcsr, vl, vtype and vlenb. */
  private val standard: Seq[VectorCsr] = Seq(
    VectorCsr(0x008),
    VectorCsr(0x009, waits = true),
    VectorCsr(0x00a),
    VectorCsr(0x00f, waits = true),
    VectorCsr(0xc20),
    VectorCsr(0xc21),
    VectorCsr(0xc22)
  )

  /** Those of a unit: the standard ones, a debugger's way to the registers (VSSEL and VSDAT), and VarVE's. Accesses to
    * VSDAT and NUME go through the unit's window, which makes them wait.
    */
  def csrs(p: VectorParams): Seq[VectorCsr] = standard ++
    Seq(VectorCsr(VarveCsr.Vssel), VectorCsr(VarveCsr.Vsdat)) ++
    (if (p.pup) Seq(VarveCsr.Vsfmt, VarveCsr.Vsaux, VarveCsr.Vvcfg, VarveCsr.Mvarve).map(VectorCsr(_)) else Nil) ++
    (if (p.full) Seq(VectorCsr(VarveCsr.Nume)) else Nil)
}
