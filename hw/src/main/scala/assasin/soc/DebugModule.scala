// SPDX-License-Identifier: BSD-3-Clause
package assasin.soc

import assasin.SocParams
import assasin.bus.HostRegIO
import assasin.contract.DebugRegs
import assasin.core.{CoreDebugIO, CoreStatusIO}
import chisel3._
import chisel3.util.{Cat, MuxLookup, RegEnable, UIntToOH}

/** What [[DebugModule]] sees of one hart. */
class DebugHartIO(breakpoints: Int) extends Bundle {
  val debug  = Flipped(new CoreDebugIO(breakpoints))
  val status = Input(new CoreStatusIO)
}

/** Numbers of [[DebugModule]]. */
object DebugModule {

  /** Offset of its registers in BAR0. */
  val Base: Int = 0x9000

  /** Hart number of the firmware processor, and with it the number of hart bits. */
  val Firmware: Int = 16
}

/** Ports of [[DebugModule]]. */
class DebugModuleIO(p: SocParams) extends Bundle {
  val host = Flipped(new HostRegIO(12))

  /** Cores in order, then the firmware processor. */
  val harts = Vec(p.cores + 1, new DebugHartIO(DebugRegs.BreakAddr.count))

  /** Nothing is under way between this block and a hart. */
  val idle = Output(Bool())
}

/** Debug block: BAR0 + 0x9000, hw/regs/debug.toml. Instructions that the host gives are executed by the halted hart's
  * own pipeline, which is how its registers and everything that it can address are read and written.
  */
class DebugModule(p: SocParams) extends Module {
  val io = IO(new DebugModuleIO(p))

  private val count = DebugRegs.BreakAddr.count
  private val bits  = DebugModule.Firmware + 1

  /** Per hart, in the order of `io.harts`: its number in registers. */
  private val numbers = (0 until p.cores) :+ DebugModule.Firmware

  private val exists = numbers.map(BigInt(1) << _).sum.U(bits.W)
  private def ofHarts(values: Seq[Bool]): UInt =
    (0 until bits).reverse
      .map(n => numbers.indexOf(n))
      .map(i => if (i < 0) false.B else values(i))
      .reduceLeft[UInt](_ ## _)

  private val halt       = RegInit(0.U(bits.W))
  private val ebreak     = RegInit(0.U(bits.W))
  private val stops      = RegInit(0.U(bits.W))
  private val exits      = RegInit(0.U(bits.W))
  private val select     = RegInit(0.U(5.W))
  private val breakAddr  = Reg(Vec(count, UInt(30.W)))
  private val breakHarts = RegInit(VecInit.fill(count)(0.U(bits.W)))
  private val insn       = Reg(UInt(32.W))
  private val fetch      = Reg(Bool())
  private val busy       = RegInit(false.B)
  private val error      = RegInit(false.B)
  private val result     = Reg(UInt(32.W))

  private val req                  = io.host.req
  private val addr                 = req.bits.addr
  private val data                 = req.bits.wdata
  private def writes(n: Int): Bool = req.fire && req.bits.write && addr === n.U

  // INSN, FETCH and RESULT wait for the instruction under way, but not for ever: PCIe has its time-outs.
  private val patience = RegInit(0.U(10.W))
  patience  := Mux(busy, patience + !patience.andR, 0.U)
  req.ready := !busy || patience.andR || addr(11, 4) =/= (DebugRegs.Insn.offset >> 4).U

  private val halted   = ofHarts(io.harts.map(_.debug.halted))
  private val selected = UIntToOH(select)(bits - 1, 0) & exists

  private def chosen(values: Seq[UInt]): UInt =
    numbers.zip(values).map { case (n, v) => Mux(selected(n), v, 0.U) }.reduce(_ | _)

  // ---- Halting --------------------------------------------------------------------------------------------------------------
  private def written(n: Int): UInt = Mux(writes(n), data(bits - 1, 0) & exists, 0.U)
  private val caught                = ofHarts(io.harts.map(_.debug.caught))
  halt := (halt | written(DebugRegs.Halt.offset)) & ~written(DebugRegs.Resume.offset) | caught
  private val step = RegNext(written(DebugRegs.Step.offset), 0.U(bits.W))
  for (
    (offset, register) <- Seq(
      DebugRegs.Ebreak.offset -> ebreak,
      DebugRegs.Stops.offset  -> stops,
      DebugRegs.Exits.offset  -> exits
    )
  )
    when(writes(offset)) { register := data(bits - 1, 0) & exists }
  for (k <- 0 until count) {
    when(writes(DebugRegs.BreakAddr.offset + 4 * k)) { breakAddr(k) := data(31, 2) }
    when(writes(DebugRegs.BreakHarts.offset + 4 * k)) { breakHarts(k) := data(bits - 1, 0) & exists }
  }

  // ---- Instructions ---------------------------------------------------------------------------------------------------------
  private val asks  = writes(DebugRegs.Insn.offset) || writes(DebugRegs.Fetch.offset)
  private val takes = asks && (halted & selected).orR && !busy
  private val issue = RegNext(takes, false.B)
  private val done  = numbers.zip(io.harts).map { case (n, hart) => selected(n) && hart.debug.done }.reduce(_ || _)
  when(done && busy) {
    busy   := false.B
    result := chosen(io.harts.map(_.debug.result))
    when(!fetch && chosen(io.harts.map(_.debug.error)).asBool) { error := true.B }
  }
  when(takes) {
    insn  := data
    fetch := writes(DebugRegs.Fetch.offset)
    busy  := true.B
  }
  when(asks && !takes) { error := true.B }
  when(writes(DebugRegs.Select.offset)) {
    select := data(4, 0)
    busy   := false.B
    error  := false.B
  }

  for ((n, hart) <- numbers.zip(io.harts)) {
    hart.debug.halt        := halt(n)
    hart.debug.step        := step(n)
    hart.debug.ebreak      := ebreak(n)
    hart.debug.stops       := stops(n)
    hart.debug.exits       := exits(n)
    hart.debug.breakEnable := breakHarts.map(_(n))
    hart.debug.breakAddr   := breakAddr
    hart.debug.issue       := issue && selected(n) && hart.debug.halted
    hart.debug.fetch       := fetch
    hart.debug.insn        := insn
  }

  // ---- Reads ----------------------------------------------------------------------------------------------------------------
  private val status = chosen(io.harts.map { hart =>
    val s     = hart.status
    val waits = s.waitIn || s.waitOut
    Cat(s.cause, 0.U(3.W), Mux(waits, s.waitStream, 0.U(3.W)), s.waitOut, s.waitIn, 0.U(1.W), s.state, 0.U(2.W))
  })
  private val info = BigInt(1) << 24 | count << 8 | p.cores
  private val table = Seq(
    DebugRegs.Info.offset   -> info.U(32.W),
    DebugRegs.Halt.offset   -> halt,
    DebugRegs.Halted.offset -> halted,
    DebugRegs.Ebreak.offset -> ebreak,
    DebugRegs.Stops.offset  -> stops,
    DebugRegs.Exits.offset  -> exits,
    DebugRegs.Select.offset -> select,
    DebugRegs.Status.offset -> Cat(status, error, busy),
    DebugRegs.Result.offset -> result
  ) ++ (0 until count).flatMap(k =>
    Seq(
      DebugRegs.BreakAddr.offset + 4 * k  -> breakAddr(k) ## 0.U(2.W),
      DebugRegs.BreakHarts.offset + 4 * k -> breakHarts(k)
    )
  ) ++ numbers.zip(io.harts).map { case (n, hart) => DebugRegs.Pc.offset + 4 * n -> hart.status.pc }
  private val value = MuxLookup(addr, 0.U(32.W))(table.map { case (n, v) => n.U -> v.pad(32) })
  io.host.resp.valid := RegNext(req.fire, false.B)
  io.host.resp.bits  := RegEnable(value, req.fire)

  io.idle := !busy && !issue && step === 0.U
}
