// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Cat, Fill, MuxCase, UIntToOH, log2Ceil}

import assasin.contract.{Cause, CoreState, StreamCsr, VarveCsr}
import assasin.vector.{VectorParams, VectorSettings}

/** In-order five-stage RV32IM + Zicsr pipeline, with the extensions that [[CoreParams]] names.
  *
  * {{{
  * IF   next PC to instruction memory
  * ID   instruction arrives; decode, registers, bypass; JAL and backward branches jump (no bubble)
  * EX   ALU, branch check (wrong guess: one bubble), JALR (one bubble), first half of a multiplication, division; data access starts
  * MEM  data access ends, stream instructions, CSRs, traps, MRET, WFI: what gets past MEM has retired
  * WB   register write
  * }}}
  *
  * Operands are bypassed in ID from the ends of EX and MEM and from WB. Results of loads, stream reads and M
  * instructions exist at the end of MEM: one bubble before a use; those of CSR reads one later. An instruction in EX is
  * never speculative except for a trap in MEM in the same cycle, which withdraws its data access.
  *
  * With `p.vector` EX offers vector instructions to a unit, which says in MEM when they end (docs/varve/unit.md 2).
  * Their scalar results come later: a scoreboard holds instructions that use such a register in ID.
  */
class Core(val p: CoreParams) extends Module {
  val io = IO(new CoreIO(p))

  private val csr = Module(new CsrFile(p))

  private def vectorHas(what: VectorParams => Boolean): Boolean = p.vector.exists(what)
  private val hasPup                                            = vectorHas(_.pup)
  private val hasFull                                           = vectorHas(_.full)

  // ---- State ----------------------------------------------------------------------------------------------------------------
  private val state   = RegInit(CoreState.Idle.U(3.W))
  private val running = state === CoreState.Running.U && io.run
  // While idle the register file is cleared, one register a cycle, and so are the vector registers; when the debugger may
  // use it, only before a start.
  private val clearIndex = RegInit(0.U(6.W))
  private val cleared    = clearIndex(5)
  private val idle       = state === CoreState.Idle.U
  private val halt       = io.debug.halt
  private val clearing   = idle && (!halt || io.run)
  // The pipeline works; for a hart that does not run, only on what the debugger gives it.
  private val enabled = running || halt && !clearing
  when(!clearing) {
    clearIndex := 0.U
  }.elsewhen(!cleared) {
    clearIndex := clearIndex + 1.U
  }

  // ---- Pipeline registers ---------------------------------------------------------------------------------------------------
  private val idPc = Reg(UInt(32.W))

  private val exValid      = RegInit(false.B)
  private val exPc         = Reg(UInt(32.W))
  private val exInsn       = Reg(UInt(32.W))
  private val exFetchFault = Reg(Bool())
  private val ex           = Reg(new Controls)
  private val exA          = Reg(UInt(32.W))
  private val exB          = Reg(UInt(32.W))
  private val exRs2        = Reg(UInt(32.W))
  // JAL and branches: the way not taken in ID. JALR: the link.
  private val exOther     = Reg(UInt(32.W))
  private val exPredicted = Reg(Bool())

  private val memValid = RegInit(false.B)
  private val memPc    = Reg(UInt(32.W))
  private val memInsn  = Reg(UInt(32.W))
  private val memWen   = Reg(Bool())
  private val memLoad  = Reg(Bool())
  private val memStore = Reg(Bool())
  private val memMul   = Reg(Bool())
  private val memCsr   = Reg(Bool())
  private val memMret  = Reg(Bool())
  private val memWfi   = Reg(Bool())
  // FENCE.I, and either of the two.
  private val memFence = Reg(Bool())
  private val memOrder = Reg(Bool())
  private val memOp    = Reg(new StreamOp)
  private val memVset  = Reg(Bool())
  private val memVec   = Reg(Bool())
  private val memLate  = Reg(Bool())
  private val memExc   = Reg(Bool())
  private val memCause = Reg(UInt(4.W))
  private val memIrq   = Reg(Bool())
  // Result, data address, CSR source, or mtval of an exception.
  private val memResult = Reg(UInt(32.W))
  // Stream operand (and store data for the trace).
  private val memOperand = Reg(UInt(32.W))

  // Debug: the next instruction is to be taken in spite of `halt`; the instruction under way was issued by the debugger.
  private val stepping = RegInit(false.B)
  private val debugOp  = RegInit(false.B)

  private val wbWen  = RegInit(false.B)
  private val wbRd   = Reg(UInt(5.W))
  private val wbData = Reg(UInt(32.W))
  // The value is that of a vector instruction which retired earlier.
  private val wbLate = RegInit(false.B)

  // Registers whose values the vector unit still owes.
  private val late = RegInit(0.U(32.W))

  // ---- MEM ------------------------------------------------------------------------------------------------------------------
  private val streamStall = io.stream.map(_.stall).getOrElse(false.B)
  private val streamEnd   = io.stream.map(s => memOp.load && s.end).getOrElse(false.B)
  private val rangeError  = io.stream.map(s => (memOp.readI || memOp.readO) && s.rangeError).getOrElse(false.B)
  private val csrStall    = io.pointers.map(s => s.stall && s.waits).getOrElse(false.B)
  private val memData     = memLoad || memStore

  private val vectorDone  = io.vector.fold(true.B)(_.commit.done)
  private val vectorTrap  = io.vector.fold(false.B)(v => memVec && v.commit.done && v.commit.trap)
  private val vectorLoads = io.vector.fold(false.B)(_.status.loads)
  // Stores or loads.
  private val vectorAccess = io.vector.fold(false.B)(v => v.status.loads || v.status.stores)
  private val vectorCsr    = io.vector.fold(false.B)(v => memCsr && csr.io.extension.get.waits && v.status.busy)
  // VSDAT and NUME are read and written by the unit's window.
  private val window       = p.vector.map(v => Module(new WindowAccess(v)))
  private val memNume      = hasFull.B && memInsn(31, 20) === VarveCsr.Nume.U
  private val memCsrWrites = memInsn(13, 12) === 1.U || memInsn(19, 15) =/= 0.U
  private val memWindow    = p.vector.isDefined.B && memCsr && (memInsn(31, 20) === VarveCsr.Vsdat.U || memNume)
  private val windowStall  = window.fold(false.B)(w => memWindow && !w.io.ready)
  private val vectorStall = memVec && !vectorDone || vectorCsr || windowStall || memOrder && vectorAccess ||
    // A program that stops has its late results, and its exit code may be one of them.
    p.vector.isDefined.B && memExc && late.orR
  private val memStream = memOp.asUInt.orR

  private val memWait = memData && !io.dmem.resp.valid || memStream && streamStall ||
    memWfi && !io.irqPending && !halt || csrStall || vectorStall
  private val memDone = memValid && !memWait
  // Nothing in MEM after this cycle, so EX may move.
  private val memReady = !memWait || !memValid

  private val accessFault = memData && io.dmem.resp.bits.err
  private val memTrap     = memDone && (memExc || accessFault || rangeError || vectorTrap)
  private val memEnd      = memDone && streamEnd
  private val memRetire   = memDone && !memTrap
  // A wait for a stream does not outlast a halt. ReadIStream and ReadOStream end by themselves.
  private val vectorGiveUp =
    io.vector.fold(false.B)(v => memVec && v.commit.waits.valid && !v.commit.begun && !v.commit.done)
  private val memGiveUp = memValid && halt && ((memOp.load || memOp.store) && streamStall || csrStall || vectorGiveUp)
  private val memCatch  = memTrap && memCause === 3.U && memExc && io.debug.ebreak && !debugOp
  private val memKill   = memTrap || memEnd || memDone && (memMret || memFence) || memGiveUp
  // Traps that the program sees.
  private val takeTrap = memTrap && !memCatch && !debugOp
  private val stopTrap = takeTrap && csr.io.mtvec === 0.U
  private val stopEnd  = memEnd && csr.io.sepilogue === 0.U
  private val trapCause = MuxCase(
    Cat(memIrq, 0.U(27.W), memCause),
    Seq(accessFault -> Mux(memStore, 7.U, 5.U), rangeError -> Cause.StreamRange.U) ++
      io.vector.map(v => vectorTrap -> v.commit.cause)
  )
  private val trapTval = MuxCase(
    memResult,
    Seq(rangeError -> memOperand) ++ io.vector.map(v => vectorTrap -> v.commit.tval)
  )
  private val memTarget = MuxCase(
    memPc + 4.U,
    Seq(
      (memGiveUp || memTrap && !takeTrap || stopTrap || stopEnd) -> memPc,
      memTrap                                                    -> csr.io.mtvec,
      memEnd                                                     -> csr.io.sepilogue,
      memMret                                                    -> csr.io.mepc
    )
  )

  // Loaded bytes to the low lanes, then sign extension for both memories.
  private val shifted = io.dmem.resp.bits.rdata >> Cat(memResult(1, 0), 0.U(3.W))
  private val raw     = io.stream.map(s => Mux(memLoad, shifted, s.rdata)).getOrElse(shifted)
  private val memSize = memInsn(13, 12)
  private val memUns  = memInsn(14)
  private val extended = Mux(
    memSize(1),
    raw,
    Mux(
      memSize(0),
      Cat(Fill(16, raw(15) && !memUns), raw(15, 0)),
      Cat(Fill(24, raw(7) && !memUns), raw(7, 0))
    )
  )

  private val multiplier = Module(new Multiplier)
  private val memReads   = memLoad || memOp.load || memOp.readI || memOp.readO
  // What ID may bypass; CSR values reach it from WB.
  private val memFinal = Mux(memReads, extended, Mux(memMul, multiplier.io.out, memResult))

  // ---- EX -------------------------------------------------------------------------------------------------------------------
  private val alu     = Module(new Alu)
  private val divider = Module(new Divider)
  private val exFn    = exInsn(14, 12)
  alu.io.fn           := ex.aluFn
  alu.io.alt          := ex.aluAlt
  alu.io.unsignedLess := Mux(ex.branch, exFn(1), exFn(0))
  alu.io.a            := exA
  alu.io.b            := exB
  alu.io.invertB      := ex.invertB

  private val extensions = p.extensions
  private val bits       = Option.when(extensions.zba || extensions.zbb)(Module(new BitUnit(extensions)))
  bits.foreach { unit =>
    unit.io.op   := ex.bit
    unit.io.fn   := exFn
    unit.io.a    := exA
    unit.io.b    := exB
    unit.io.less := alu.io.less
  }
  private val aes = Option.when(extensions.zkne || extensions.zknd)(Module(new AesUnit(extensions)))
  aes.foreach { unit =>
    unit.io.byte    := exInsn(31, 30)
    unit.io.decrypt := exInsn(27)
    unit.io.mix     := exInsn(26)
    unit.io.a       := exA
    unit.io.b       := exB
  }

  // An interrupt takes the place of the instruction in EX, unless MEM is about to change whether it is enabled.
  private val exIrq = exValid && csr.io.interrupt && !(memValid && (memCsr || memMret)) && !halt

  private val exTaken      = alu.io.less =/= exFn(0) && exFn(2) || alu.io.equal =/= exFn(0) && !exFn(2)
  private val exMispredict = ex.branch && exTaken =/= exPredicted
  private val exTarget     = Mux(ex.jalr, Cat(alu.io.sum(31, 1), 0.U(1.W)), exOther)
  // ID guesses only aligned targets, so `exOther` of a guessed jump is the aligned PC + 4.
  private val badTarget = (ex.jal || ex.jalr || exMispredict) && exTarget(1)
  private val exAccess  = ex.load || ex.store
  private val badAccess = exAccess && (exFn(0) && alu.io.sum(0) || exFn(1) && alu.io.sum(1, 0) =/= 0.U)
  private val badCsr    = ex.csr && csr.io.checkIllegal
  private val settings  = p.vector.map(v => Module(new VectorSettings(v)))
  private val badVset   = settings.fold(false.B)(s => ex.vset && !s.io.enabled)
  // A stream instruction moves the Head of no stream that VarVE has (docs/varve/isa.md 3.3).
  private def bit(vector: Option[UInt], n: UInt): Bool = vector.fold(false.B)(v => (v >> n)(0))
  private val exStream                                 = exInsn(17, 15)
  private val badStream = io.vector.fold(false.B)(v =>
    ex.stream.load && bit(v.status.ownInputs, exStream) || ex.stream.store && bit(v.status.ownOutputs, exStream)
  )
  private val illegal = ex.illegal || badCsr || badVset || badStream
  private val exExc   = exFetchFault || illegal || ex.ebreak || ex.ecall || badTarget || badAccess
  private val exCause = MuxCase(
    0.U(4.W),
    Seq(
      exIrq        -> 11.U,
      exFetchFault -> 1.U,
      illegal      -> Cause.IllegalInstruction.U,
      ex.ebreak    -> 3.U,
      ex.ecall     -> 11.U,
      badAccess    -> Mux(ex.store, 6.U, 4.U)
    )
  )
  private val exTval = MuxCase(
    exTarget,
    Seq(
      (exIrq || ex.ecall)         -> 0.U,
      (exFetchFault || ex.ebreak) -> exPc,
      illegal                     -> exInsn,
      badAccess                   -> alu.io.sum
    )
  )
  private val exSpoilt = exExc || exIrq

  // What depends on vector CSRs or mstatus.VS waits in EX until a write to a CSR has left MEM.
  private val exSettings =
    csr.io.extension.fold(false.B)(e => (ex.vset || ex.vector || ex.csr && e.named) && memValid && memCsr)
  // Custom-1 and custom-2 are the major opcodes of vector instructions with bit 2 clear.
  private val memVarve = hasPup.B && memValid && memVec && !memInsn(2)
  // VarVE moves Heads, and opens and closes streams, behind its instructions: what looks at a stream waits for them.
  private val varveUnder = io.vector.filter(_ => hasPup).map { v =>
    val under = RegInit(false.B)
    under := !clearing && (memVarve && memRetire || under && v.status.busy)
    under && v.status.busy
  }
  private val exPointer = ex.csr && exInsn(31, 26) === (StreamCsr.Ihead >> 6).U
  private val exStreams = varveUnder.fold(false.B)(under => (ex.stream.asUInt.orR || exPointer) && (memVarve || under))
  private val exHeld    = exSettings || exStreams
  // A scalar access waits for vector accesses before it; loads do not wait for loads.
  private val exOrdered =
    io.vector.fold(true.B)(v => !(v.status.stores || ex.store && vectorLoads || memValid && memVec && v.commit.memory))

  private val exDone = !exValid || !exHeld &&
    (exSpoilt || Mux(ex.div, divider.io.done, !exAccess || io.dmem.req.ready && exOrdered))
  private val exReady = memReady && exDone
  // The redirect below: decided here, effective only if MEM lets EX move.
  private val exRedirect = exValid && exReady && !exSpoilt && (ex.jalr || exMispredict)
  private val exResult = MuxCase(
    alu.io.out,
    Seq(ex.jalr -> exOther) ++ settings.map(s => ex.vset -> s.io.newVl) ++ bits.map(unit =>
      (ex.bit =/= BitOp.None) -> unit.io.out
    ) ++ aes.map(unit => ex.aes -> unit.io.out)
  )

  divider.io.valid := exValid && ex.div && !exSpoilt && !memKill && enabled
  divider.io.fn    := exFn(1, 0)
  divider.io.a     := exA
  divider.io.b     := exB
  divider.io.take  := exReady

  multiplier.io.advance := exReady
  multiplier.io.fn      := exFn(1, 0)
  multiplier.io.a       := exA
  multiplier.io.b       := exB

  csr.io.checkAddr  := exInsn(31, 20)
  csr.io.checkWrite := exFn(1, 0) === 1.U || exInsn(19, 15) =/= 0.U

  private val exSize = exFn(1, 0)
  private val lane   = alu.io.sum(1, 0)
  io.dmem.req.valid      := exValid && exAccess && !exSpoilt && memReady && !memKill && exOrdered
  io.dmem.req.bits.addr  := alu.io.sum
  io.dmem.req.bits.write := ex.store
  io.dmem.req.bits.size  := exSize
  io.dmem.req.bits.mask  := (Cat(Fill(2, exSize(1)), exSize.orR, 1.U(1.W)) << lane)(3, 0)
  io.dmem.req.bits.wdata := Mux(
    exSize(1),
    exRs2,
    Mux(exSize(0), Fill(2, exRs2(15, 0)), Fill(4, exRs2(7, 0)))
  )

  // ---- ID -------------------------------------------------------------------------------------------------------------------
  private val decode    = Module(new Decode(p))
  private val regs      = Module(new RegFile)
  private val issue     = io.debug.issue
  private val issueInsn = issue && !io.debug.fetch
  private val insn      = Mux(issueInsn, io.debug.insn, io.imem.data)
  private val id        = decode.io.out
  decode.io.insn  := insn
  decode.io.sLog2 := io.stream.map(_.sLog2).getOrElse(0.U)

  private val idOffset = idPc ^ p.imemBase.U(32.W)
  private val idFault  = if (p.imemBytes == BigInt(1) << 32) false.B else idOffset >= p.imemBytes.U

  private val exRd      = exInsn(11, 7)
  private val memRd     = memInsn(11, 7)
  private val exLate    = ex.load || ex.mul || ex.div || ex.csr || ex.stream.asUInt.orR
  private val exWrites  = exValid && ex.wen
  private val memWrites = memValid && memWen

  private def operand(rs: UInt, read: UInt): UInt = MuxCase(
    read,
    Seq(
      (exWrites && exRd === rs)   -> exResult,
      (memWrites && memRd === rs) -> memFinal,
      (wbWen && wbRd === rs)      -> wbData
    )
  )
  private def lateFor(rs: UInt): Bool = exWrites && exLate && exRd === rs || memWrites && memCsr && memRd === rs
  // The register waits for a vector instruction that is in the pipeline or has retired.
  private def owed(r: UInt): Bool =
    if (p.vector.isEmpty) false.B
    else late(r) || exWrites && ex.late && exRd === r || memValid && memLate && memRd === r

  private val rs1 = insn(19, 15)
  private val rs2 = insn(24, 20)
  regs.io.rs1 := rs1
  regs.io.rs2 := rs2
  // The word that FETCH asks for becomes the tval of an illegal instruction.
  private val peek   = issue && io.debug.fetch
  private val needs  = id.usesRs1 && owed(rs1) || id.usesRs2 && owed(rs2) || id.wen && owed(insn(11, 7))
  private val hazard = !idFault && (id.usesRs1 && lateFor(rs1) || id.usesRs2 && lateFor(rs2) || needs)
  private val value1 = operand(rs1, regs.io.data1)
  private val value2 = operand(rs2, regs.io.data2)

  private val idTarget = idPc + decode.io.jumpImm
  private val idNext   = idPc + 4.U
  // Backward branches are guessed taken.
  private val idJump = !idFault && (id.jal || id.branch && insn(31)) && !idTarget(1)
  // An instruction on a breakpoint waits until what is before it is done, for that may jump away.
  private val pcBits = log2Ceil(p.imemBytes) - 2
  private val onBreak = io.debug.breakEnable
    .zip(io.debug.breakAddr)
    .map { case (enable, addr) => enable && addr(pcBits - 1, 0) === idPc(pcBits + 1, 2) }
    .reduce(_ || _)
  private val idGo     = running && Mux(halt, stepping, !onBreak)
  private val idFire   = (idGo || issue) && exReady && !hazard && !exRedirect && !memKill
  private val pipeIdle = !exValid && !memValid
  io.waitResult.foreach(_ := idGo && exReady && !idFault && needs && !exRedirect && !memKill)

  // ---- IF -------------------------------------------------------------------------------------------------------------------
  private val nextPc = MuxCase(
    idNext,
    Seq(
      clearing           -> Cat(io.entry(31, 2), 0.U(2.W)),
      memKill            -> memTarget,
      exRedirect         -> exTarget,
      (!idFire || issue) -> idPc,
      idJump             -> idTarget
    )
  )
  io.imem.addr := nextPc
  idPc         := nextPc

  // ---- Stage transfers ------------------------------------------------------------------------------------------------------
  when(exReady) {
    exValid      := idFire
    exPc         := idPc
    exInsn       := insn
    exFetchFault := idFault && !issue
    ex           := id
    exA          := Mux(id.aPc, idPc, Mux(id.aZero, 0.U, value1))
    exB          := Mux(id.bImm, id.imm, value2)
    exRs2        := value2
    exOther      := Mux(idJump || id.jalr || !(id.jal || id.branch), idNext, idTarget)
    exPredicted  := idJump
    when(idFault && !issue || peek) { ex := 0.U.asTypeOf(ex) }
    when(peek) { ex.illegal := true.B }
  }

  when(memReady) {
    memValid   := exValid && exReady
    memPc      := exPc
    memInsn    := exInsn
    memWen     := ex.wen && !ex.late && !exSpoilt
    memLate    := ex.wen && ex.late && !exSpoilt
    memVset    := ex.vset && !exSpoilt
    memVec     := ex.vector && !exSpoilt
    memLoad    := ex.load && !exSpoilt
    memStore   := ex.store && !exSpoilt
    memMul     := ex.mul
    memCsr     := ex.csr && !exSpoilt
    memMret    := ex.mret && !exSpoilt
    memWfi     := p.wfiSleeps.B && ex.wfi && !exSpoilt
    memFence   := ex.fenceI && !exSpoilt
    memOrder   := p.vector.isDefined.B && ex.fence && !exSpoilt
    memOp      := Mux(exSpoilt, 0.U.asTypeOf(memOp), ex.stream)
    memExc     := exSpoilt
    memCause   := exCause
    memIrq     := exIrq
    memResult  := Mux(exSpoilt, exTval, Mux(ex.div, divider.io.out, exResult))
    memOperand := exRs2
  }

  wbWen  := memRetire && memWen && !streamEnd
  wbRd   := memRd
  wbData := Mux(memCsr, csr.io.rdata, memFinal)

  when(memKill || !enabled) { exValid := false.B }
  when(memKill || !enabled) { memValid := false.B }
  when(!enabled) { wbWen := false.B }

  // Late results use the cycles in which MEM writes no register; also those of a core that has stopped in the meantime.
  wbLate := false.B
  private val result = io.vector.map(_.result)
  result.foreach { r =>
    r.ready := !(memRetire && memWen)
    when(r.fire && !clearing) {
      wbWen  := true.B
      wbLate := true.B
      wbRd   := r.bits.rd
      wbData := r.bits.data
    }
    val sets   = io.vector.map(v => memRetire && memVec && v.commit.late).get
    val set    = Mux(sets, UIntToOH(memRd, 32), 0.U)
    val clears = Mux(r.fire, UIntToOH(r.bits.rd, 32), 0.U)
    late := late & ~clears | set
    when(clearing) { late := 0.U }
  }

  regs.io.wen   := wbWen || clearing
  regs.io.rd    := Mux(clearing, clearIndex(4, 0), wbRd)
  regs.io.wdata := Mux(clearing, 0.U, wbData)

  // ---- CSRs -----------------------------------------------------------------------------------------------------------------
  csr.io.hartId          := io.hartId
  csr.io.irqPending      := io.irqPending
  csr.io.clear           := clearing
  csr.io.addr            := memInsn(31, 20)
  csr.io.fn              := memInsn(13, 12)
  csr.io.src             := memResult
  csr.io.write           := memDone && memCsr && memCsrWrites
  csr.io.trap.valid      := takeTrap
  csr.io.trap.bits.pc    := memPc
  csr.io.trap.bits.cause := trapCause
  csr.io.trap.bits.tval  := trapTval
  csr.io.mret            := memDone && memMret
  csr.io.retire          := memRetire && !debugOp
  csr.io.count           := running && !halt

  // ---- Streams --------------------------------------------------------------------------------------------------------------
  io.stream.foreach { s =>
    s.exStream := exInsn(17, 15)
    s.advance  := exReady
    s.exLoad.foreach(_ := exValid && ex.stream.load)
    s.op      := Mux(memValid, memOp, 0.U.asTypeOf(memOp))
    s.stream  := memInsn(17, 15)
    s.size    := memSize
    s.operand := memOperand
    csr.io.peek.get <> s.peek
    csr.io.streamCfg.get := Cat(s.ringLog2, 0.U(4.W), (1.U(4.W) << s.sLog2)(3, 0))
  }

  io.pointers.foreach { s =>
    csr.io.peek.get <> s.peek
    csr.io.streamCfg.get := Cat(s.ringLog2, 0.U(4.W), (1.U(4.W) << s.sLog2)(3, 0))
    s.waits              := memValid && memCsr && csr.io.waits.get
    s.grain              := csr.io.grain.get
    s.publish            := csr.io.publish.get
  }

  // ---- Vector unit ----------------------------------------------------------------------------------------------------------
  settings.foreach { s =>
    val v     = io.vector.get
    val ends  = memDone && memVec && enabled
    val hooks = csr.io.extension.get
    s.io.clear           := clearing
    s.io.insn            := exInsn
    s.io.rs1             := exA
    s.io.rs2             := exRs2
    s.io.advance         := exValid && exReady && ex.vset
    s.io.memVset         := memValid && memVset
    s.io.memVector       := memValid && memVec
    s.io.retire          := memRetire && memVset
    s.io.setVstart.valid := ends && v.commit.setVstart.valid
    s.io.setVstart.bits  := v.commit.setVstart.bits
    s.io.setVl.valid     := ends && v.commit.setVl.valid
    s.io.setVl.bits      := v.commit.setVl.bits
    s.io.dirty           := ends && v.commit.dirty
    s.io.vxsat           := v.status.vxsat
    s.io.write           := hooks.write
    s.io.value           := hooks.value
    s.io.statusWrite     := hooks.statusWrite
    hooks.read           := s.io.read
    hooks.status         := s.io.status
    hooks.illegal        := s.io.illegal
    for (varve <- s.io.varve) {
      varve.inMem       := memVarve
      v.offer.varve.get := varve.config
    }

    v.offer.valid   := exValid && ex.vector && !exSpoilt && !exHeld && !memKill && enabled
    v.offer.insn    := exInsn
    v.offer.rs1     := exA
    v.offer.rs2     := exRs2
    v.offer.config  := s.io.config
    v.offer.enabled := s.io.enabled
    v.advance       := exReady && v.offer.valid
    v.commit.valid  := memValid && memVec && enabled
    v.commit.kill   := memValid && memVec && (memGiveUp || !enabled)
    v.clear         := clearing
    v.erase         := clearing

    val w = window.get.io
    w.valid     := memValid && memWindow
    w.nume      := memNume
    w.select    := s.io.select
    w.write     := memCsrWrites
    w.data      := hooks.value
    w.cancel    := !enabled
    w.clear     := clearing
    s.io.window := w.value
    v.window <> w.window
    w.answer := v.windowAnswer
  }

  // ---- Stopping and status --------------------------------------------------------------------------------------------------
  private val stopCause = RegInit(0.U(8.W))
  private val stopTval  = RegInit(0.U(32.W))
  private val latestPc  = RegInit(0.U(32.W))
  private val a0        = RegInit(0.U(32.W))
  when(wbWen && wbRd === 10.U) { a0 := wbData }
  when(memValid) { latestPc := memPc }

  when(!io.run) {
    state := CoreState.Idle.U
  }.elsewhen(idle) {
    when(cleared && io.vector.fold(true.B)(_.erased)) {
      state     := CoreState.Running.U
      stopCause := 0.U
      stopTval  := 0.U
      latestPc  := Cat(io.entry(31, 2), 0.U(2.W))
      a0        := 0.U
    }
  }.elsewhen(running && stopTrap) {
    state     := Mux(trapCause === 11.U, CoreState.Exited.U, CoreState.Trapped.U)
    stopCause := Cat(memIrq, trapCause(6, 0))
    stopTval  := trapTval
  }.elsewhen(running && stopEnd) {
    state := CoreState.Hung.U
  }

  private val unitBusy = io.vector.fold(false.B)(_.status.busy)
  io.sleeping        := memValid && memWfi && !io.irqPending && !halt && !unitBusy
  io.status.state    := Mux(!io.run, CoreState.Idle.U, Mux(idle, CoreState.Running.U, state))
  io.status.cause    := stopCause
  io.status.tval     := stopTval
  io.status.pc       := latestPc
  io.status.exitCode := a0
  // Bit 23 of the instruction tells OWAIT from IWAIT, bits 22:20 are the stream.
  // A stream that is waited for has a buffer, so its number is below 8.
  private val vectorWait    = io.vector.fold(false.B)(v => memVec && v.commit.waits.valid)
  private val vectorWaitOut = io.vector.fold(false.B)(_.commit.waits.bits.output)
  io.status.waitIn := memValid && (memOp.load && streamStall || csrStall && !memInsn(
    23
  ) || vectorWait && !vectorWaitOut)
  io.status.waitOut := memValid && (memOp.store && streamStall || csrStall && memInsn(
    23
  ) || vectorWait && vectorWaitOut)
  io.status.waitStream := MuxCase(
    memInsn(17, 15),
    Seq(csrStall -> memInsn(22, 20)) ++ io.vector.map(v => memVec -> v.commit.waits.bits.stream(2, 0))
  )
  io.status.retire := memRetire && !debugOp

  // ---- Debug ----------------------------------------------------------------------------------------------------------------
  // An issued instruction with a late result is done when that has come.
  private val debugLate  = RegInit(false.B)
  private val resultFire = result.fold(false.B)(_.fire)
  private val memOwes    = io.vector.fold(false.B)(v => memRetire && memVec && v.commit.late)
  when(debugOp && memOwes) { debugLate := true.B }.elsewhen(resultFire || !enabled) { debugLate := false.B }
  private val debugDone = memValid && debugOp && (!memWait || memGiveUp) && !memOwes || debugLate && resultFire
  when(issue) { debugOp := true.B }.elsewhen(debugDone || !enabled) { debugOp := false.B }
  when(idFire || !running || !halt) { stepping := false.B }.elsewhen(io.debug.step) { stepping := true.B }
  io.debug.halted := halt && pipeIdle && !stepping && !clearing && !unitBusy
  io.debug.caught := running && !halt && (onBreak && pipeIdle) || memCatch || running && Mux(
    stopTrap && trapCause === 11.U,
    io.debug.exits,
    (stopTrap || stopEnd) && io.debug.stops
  )
  io.debug.done   := RegNext(debugDone, false.B)
  io.debug.error  := RegNext(memTrap || memGiveUp)
  io.debug.result := wbData

  io.trace.foreach { t =>
    t.valid     := RegNext(memDone && !debugOp && !memCatch, false.B)
    t.pc        := RegNext(memPc)
    t.insn      := RegNext(memInsn)
    t.wen       := wbWen && !wbLate
    t.late      := wbLate
    t.rd        := wbRd
    t.wdata     := wbData
    t.trap      := RegNext(memTrap, false.B)
    t.cause     := RegNext(trapCause)
    t.tval      := RegNext(trapTval)
    t.streamEnd := RegNext(memEnd, false.B)
  }
}
