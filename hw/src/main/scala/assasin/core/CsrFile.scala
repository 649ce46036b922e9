// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Cat, MuxLookup, Valid}

import assasin.contract.StreamCsr

/** A trap to be recorded in mepc, mcause, mtval and mstatus. */
class TrapInfo extends Bundle {
  val pc    = UInt(32.W)
  val cause = UInt(32.W)
  val tval  = UInt(32.W)
}

/** Ports of [[CsrFile]]. */
class CsrFileIO(p: CoreParams) extends Bundle {
  val hartId     = Input(UInt(32.W))
  val irqPending = Input(Bool())

  /** All writable CSRs to their reset values. */
  val clear = Input(Bool())

  /** Does a CSR exist, and may it be accessed so? Asked in EX. */
  val checkAddr    = Input(UInt(12.W))
  val checkWrite   = Input(Bool())
  val checkIllegal = Output(Bool())

  /** Access in MEM. `fn` is funct3(1, 0): 1 write, 2 set, 3 clear. */
  val addr  = Input(UInt(12.W))
  val fn    = Input(UInt(2.W))
  val src   = Input(UInt(32.W))
  val write = Input(Bool())
  val rdata = Output(UInt(32.W))

  val trap   = Flipped(Valid(new TrapInfo))
  val mret   = Input(Bool())
  val retire = Input(Bool())
  val count  = Input(Bool())

  val mtvec     = Output(UInt(32.W))
  val mepc      = Output(UInt(32.W))
  val sepilogue = Output(UInt(32.W))

  /** An enabled interrupt is pending. */
  val interrupt = Output(Bool())

  val peek      = if (p.streams || p.pointers) Some(new StreamPeekIO) else None
  val streamCfg = if (p.streams || p.pointers) Some(Input(UInt(32.W))) else None

  /** Software stream pointers: `addr` is IWAIT or OWAIT, and what a write does. */
  val waits   = if (p.pointers) Some(Output(Bool())) else None
  val grain   = if (p.pointers) Some(Output(UInt(17.W))) else None
  val publish = if (p.pointers) Some(Valid(new PointerPublish)) else None

  /** CSRs of `p.csrs`. */
  val extension = Option.when(p.csrs.rows.nonEmpty)(new CsrExtensionIO(p.csrs.rows.size))
}

/** Machine-mode CSRs of the privileged specification and the stream CSRs.
  *
  * Direct traps only (mtvec.MODE reads 0); mstatus.MPP reads 3. The only interrupt source is `irqPending` as MEIP.
  * Identification registers, event counters and trigger registers read 0 and ignore writes.
  */
class CsrFile(p: CoreParams) extends Module {
  val io = IO(new CsrFileIO(p))

  private val mie       = RegInit(0.U(3.W)) // MEIE, MTIE, MSIE
  private val statusIe  = RegInit(false.B)
  private val statusPie = RegInit(false.B)
  private val mtvec     = RegInit(0.U(30.W))
  private val mepc      = RegInit(0.U(30.W))
  private val mscratch  = RegInit(0.U(32.W))
  private val mcause    = RegInit(0.U(32.W))
  private val mtval     = RegInit(0.U(32.W))
  private val mcycle    = RegInit(0.U(64.W))
  private val minstret  = RegInit(0.U(64.W))
  private val sepilogue = RegInit(0.U(30.W))
  private val grain     = RegInit(1.U(17.W))

  private def in(addr: UInt, first: Int, last: Int): Bool = addr >= first.U && addr <= last.U

  // Existence.
  private val a       = io.checkAddr
  private val counter = a(4, 0) =/= 1.U
  // Software pointers: stream numbers at or above S are illegal, like those of stream instructions.
  private val pointerExists = if (p.pointers) {
    require(
      StreamCsr.Ihead % 64 == 0 && StreamCsr.Iwait == StreamCsr.Ihead + 48 && StreamCsr.Owait == StreamCsr.Ihead + 56
    )
    require(StreamCsr.Iheadw % 16 == 0 && StreamCsr.Oheadw == StreamCsr.Iheadw + 8)
    val ofStream = a(11, 6) === (StreamCsr.Ihead >> 6).U && a(5, 3) =/= 5.U || a(11, 4) === (StreamCsr.Iheadw >> 4).U
    a === StreamCsr.Sgrain.U || a === StreamCsr.Streamcfg.U || ofStream && a(2, 0) < io.streamCfg.get(3, 0)
  } else {
    false.B
  }
  private val extensionExists = io.extension.fold(false.B) { e =>
    val named = p.csrs.rows.map(row => a === row.address.U)
    e.named := named.reduce(_ || _)
    named.zip(e.illegal).map { case (name, illegal) => name && !illegal }.reduce(_ || _)
  }
  private val exists = in(a, 0x300, 0x301) || in(a, 0x304, 0x305) || a === 0x310.U || in(a, 0x340, 0x344) ||
    a(11, 5) === (0x320 >> 5).U && (a(4, 0) === 0.U || a(4, 0) > 2.U) ||
    in(a, 0x7a0, 0x7a3) ||
    a(11, 5) === (0xb00 >> 5).U && counter || a(11, 5) === (0xb80 >> 5).U && counter ||
    a === 0xc00.U || a === 0xc02.U || a === 0xc80.U || a === 0xc82.U || in(a, 0xf11, 0xf15) ||
    p.streams.B && (a === StreamCsr.Sepilogue.U || in(a, StreamCsr.Ihead, StreamCsr.Streamcfg)) ||
    pointerExists || extensionExists
  io.checkIllegal := !exists || io.checkWrite && a(11, 10) === 3.U

  // Read.
  private val misa = (BigInt(1) << 30 | 1 << 8 | 1 << 12).U(32.W)
  private val mstatus = Cat(3.U(2.W), 0.U(3.W), statusPie, 0.U(3.W), statusIe, 0.U(3.W)) |
    io.extension.map(_.status).getOrElse(0.U)
  private val mieBits = Cat(mie(2), 0.U(3.W), mie(1), 0.U(3.W), mie(0), 0.U(3.W))
  private val mipBits = Cat(io.irqPending, 0.U(11.W))
  private val table: Seq[(Int, UInt)] = Seq(
    0x300 -> mstatus,
    0x301 -> misa,
    0x304 -> mieBits,
    0x305 -> io.mtvec,
    0x340 -> mscratch,
    0x341 -> io.mepc,
    0x342 -> mcause,
    0x343 -> mtval,
    0x344 -> mipBits,
    0xb00 -> mcycle(31, 0),
    0xb02 -> minstret(31, 0),
    0xb80 -> mcycle(63, 32),
    0xb82 -> minstret(63, 32),
    0xc00 -> mcycle(31, 0),
    0xc02 -> minstret(31, 0),
    0xc80 -> mcycle(63, 32),
    0xc82 -> minstret(63, 32),
    0xf14 -> io.hartId
  ) ++ io.extension.toSeq.flatMap(e => p.csrs.rows.map(_.address).zip(e.read))
  private val standard = MuxLookup(io.addr, 0.U(32.W))(table.map { case (n, v) => n.U -> v })
  io.peek.foreach { peek =>
    // Groups of eight from IHEAD on.
    require(StreamCsr.Ihead % 64 == 0 && StreamCsr.Streamcfg - StreamCsr.Ihead == 5 * 8)
    val pointer = Mux(io.addr(5, 3) === 5.U, io.streamCfg.get, peek.data)
    val inGroup = io.addr(11, 6) === (StreamCsr.Ihead >> 6).U
    peek.stream := io.addr(2, 0)
    if (p.streams) {
      peek.group := io.addr(5, 3)
      io.rdata   := Mux(inGroup, pointer, Mux(io.addr === StreamCsr.Sepilogue.U, io.sepilogue, standard))
    } else {
      // IHEADW and OHEADW read as IHEAD and OHEAD, groups 0 and 2.
      val published = io.addr(11, 4) === (StreamCsr.Iheadw >> 4).U
      peek.group := Mux(published, Cat(io.addr(3), 0.U(1.W)), io.addr(5, 3))
      io.rdata := Mux(
        inGroup,
        pointer,
        Mux(published, peek.data, Mux(io.addr === StreamCsr.Sgrain.U, grain, standard))
      )
      io.waits.get := inGroup && io.addr(5, 4) === 3.U
    }
  }
  if (io.peek.isEmpty) io.rdata := standard

  // Write.
  private val old                  = io.rdata
  private val value                = Mux(io.fn === 1.U, io.src, Mux(io.fn === 2.U, old | io.src, old & ~io.src))
  private def writes(n: Int): Bool = io.write && io.addr === n.U

  when(io.count) { mcycle := mcycle + 1.U }
  when(io.retire) { minstret := minstret + 1.U }
  when(writes(0x300)) {
    statusIe  := value(3)
    statusPie := value(7)
  }
  when(writes(0x304)) { mie := Cat(value(11), value(7), value(3)) }
  when(writes(0x305)) { mtvec := value(31, 2) }
  when(writes(0x340)) { mscratch := value }
  when(writes(0x341)) { mepc := value(31, 2) }
  when(writes(0x342)) { mcause := value }
  when(writes(0x343)) { mtval := value }
  // A written counter does not count the writing instruction.
  when(writes(0xb00)) { mcycle := Cat(mcycle(63, 32), value) }
  when(writes(0xb80)) { mcycle := Cat(value, mcycle(31, 0)) }
  when(writes(0xb02)) { minstret := Cat(minstret(63, 32), value) }
  when(writes(0xb82)) { minstret := Cat(value, minstret(31, 0)) }
  if (p.streams) when(writes(StreamCsr.Sepilogue)) { sepilogue := value(31, 2) }
  if (p.pointers) when(writes(StreamCsr.Sgrain)) { grain := value(16, 0) }
  io.publish.foreach { publish =>
    publish.valid       := io.write && io.addr(11, 4) === (StreamCsr.Iheadw >> 4).U
    publish.bits.out    := io.addr(3)
    publish.bits.stream := io.addr(2, 0)
    publish.bits.value  := value
  }
  io.grain.foreach(_ := grain)

  io.extension.foreach { e =>
    e.waits := p.csrs.rows.filter(_.waits).map(row => io.addr === row.address.U).fold(false.B)(_ || _)
    e.write.zip(p.csrs.rows).foreach { case (write, row) => write := writes(row.address) }
    e.value       := value
    e.statusWrite := writes(0x300)
  }

  when(io.mret) {
    statusIe  := statusPie
    statusPie := true.B
  }
  when(io.trap.valid) {
    statusPie := statusIe
    statusIe  := false.B
    mepc      := io.trap.bits.pc(31, 2)
    mcause    := io.trap.bits.cause
    mtval     := io.trap.bits.tval
  }
  when(io.clear) {
    mie       := 0.U
    statusIe  := false.B
    statusPie := false.B
    mtvec     := 0.U
    mepc      := 0.U
    mscratch  := 0.U
    mcause    := 0.U
    mtval     := 0.U
    mcycle    := 0.U
    minstret  := 0.U
    sepilogue := 0.U
    grain     := 1.U
  }

  io.mtvec     := Cat(mtvec, 0.U(2.W))
  io.mepc      := Cat(mepc, 0.U(2.W))
  io.sepilogue := Cat(sepilogue, 0.U(2.W))
  io.interrupt := statusIe && mie(2) && io.irqPending
}
