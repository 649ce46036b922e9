// SPDX-License-Identifier: BSD-3-Clause
package assasin.soc

import assasin.SocParams
import assasin.bus.{HostRegIO, RegMap}
import assasin.contract.{CtrlRegs, SysRegs}
import chisel3._
import chisel3.util.{MuxLookup, RegEnable, Valid}

/** Ports of [[ControlRegs]]. */
class ControlRegsIO extends Bundle {
  val host     = Flipped(new HostRegIO(15))
  val timebase = Input(UInt(64.W))

  /** Firmware processor, cores and channels are held in reset. */
  val hold    = Output(Bool())
  val bootArg = Output(UInt(32.W))

  /** Console, see [[Console]]. */
  val console     = Input(UInt(32.W))
  val consoleTake = Output(Bool())
  val consolePut  = Valid(UInt(8.W))
  val consoleFull = Input(Bool())

  /** Firmware processor: sleeping, stopped on a trap, its cause, its PC. */
  val sleeping = Input(Bool())
  val trapped  = Input(Bool())
  val cause    = Input(UInt(8.W))
  val pc       = Input(UInt(32.W))
}

/** Board control registers: BAR0 + 0x8000. */
class ControlRegs(p: SocParams) extends Module {
  val io = IO(new ControlRegsIO)

  private val hold    = RegInit(true.B)
  private val bootArg = RegInit(0.U(32.W))
  private val high    = RegInit(0.U(32.W))

  private val req = io.host.req
  req.ready := true.B

  private def at(offset: Int): Bool = req.bits.addr === offset.U
  private val write                 = req.fire && req.bits.write
  private val read                  = req.fire && !req.bits.write

  when(write && at(CtrlRegs.Reset.offset)) { hold := req.bits.merge(hold)(0) }
  when(write && at(CtrlRegs.BootArg.offset)) { bootArg := req.bits.merge(bootArg) }
  when(read && at(CtrlRegs.CyclesLo.offset)) { high := io.timebase(63, 32) }
  io.consolePut.valid := write && at(CtrlRegs.ConsoleRx.offset) && req.bits.strb(0)
  io.consolePut.bits  := req.bits.wdata(7, 0)
  io.consoleTake      := read && at(CtrlRegs.ConsoleTx.offset)

  private val value = MuxLookup(req.bits.addr, 0.U(32.W))(
    Seq(
      CtrlRegs.Id.offset        -> SysRegs.Id.reset.U(32.W),
      CtrlRegs.Reset.offset     -> RegMap.word(hold),
      CtrlRegs.BootArg.offset   -> bootArg,
      CtrlRegs.ConsoleTx.offset -> io.console,
      CtrlRegs.ConsoleRx.offset -> io.consoleFull ## 0.U(31.W),
      CtrlRegs.FwState.offset   -> RegMap.word(io.cause ## 0.U(6.W) ## io.trapped ## io.sleeping),
      CtrlRegs.FwPc.offset      -> io.pc,
      CtrlRegs.Config.offset    -> ChipId.config(p).U(32.W),
      CtrlRegs.CyclesLo.offset  -> io.timebase(31, 0),
      CtrlRegs.CyclesHi.offset  -> high
    ).map { case (offset, v) => offset.U -> v }
  )
  io.host.resp.valid := RegNext(req.fire, false.B)
  io.host.resp.bits  := RegEnable(value, req.fire)
  io.hold            := hold
  io.bootArg         := bootArg
}
