// SPDX-License-Identifier: BSD-3-Clause
package assasin.soc

import assasin.SocParams
import assasin.bus.{RegBusIO, RegEntry, RegMap}
import assasin.contract.SysRegs
import assasin.flash.FlashDescriptor
import chisel3._
import chisel3.util.{Cat, Fill, Valid}

/** Fixed words that describe the chip. */
object ChipId {

  /** SYS.CONFIG. */
  def config(p: SocParams): BigInt = (BigInt(p.phyBytes) << 24) | (p.ways << 16) | (p.channels << 8) | p.cores

  /** SYS.CONFIG2: size of a sector, who reaches whom, slots. */
  def config2(p: SocParams): BigInt =
    BigInt(FlashDescriptor.SectorLog2) | (BigInt(p.slots) << SysRegs.Config2.Slots.lsb) | (if (p.channelLocal)
                                                                                             BigInt(
                                                                                               1
                                                                                             ) << SysRegs.Config2.ChannelLocal.lsb
                                                                                           else BigInt(0))
}

/** Ports of [[SystemRegs]]. */
class SystemRegsIO(p: SocParams) extends Bundle {

  /** Register block SYS. */
  val regs     = Flipped(new RegBusIO(12))
  val timebase = Input(UInt(64.W))

  /** Levels of the event sources. */
  val sqe   = Input(Bool())
  val ctrl  = Input(Bool())
  val hdma  = Input(Bool())
  val flash = Input(UInt(p.channels.W))
  val core  = Input(UInt(p.tiles.W))

  /** Which kernel is in slot n. */
  val slotId = Input(Vec(p.slots, UInt(32.W)))

  /** Console, see [[Console]]. */
  val put     = Valid(UInt(8.W))
  val space   = Input(UInt(11.W))
  val get     = Input(UInt(32.W))
  val getTake = Output(Bool())
  val waiting = Input(Bool())

  val bootArg = Input(UInt(32.W))

  /** The bytes of TCM that the AXI4 slave may write. */
  val tcmFirst = Output(UInt(32.W))
  val tcmEnd   = Output(UInt(32.W))

  /** The bytes of DRAM that it may not write. */
  val dramFirst = Output(UInt(32.W))
  val dramEnd   = Output(UInt(32.W))

  /** The firmware says that it has stopped on a trap: cause and program counter. */
  val trapped   = Output(Bool())
  val trapCause = Output(UInt(8.W))
  val trapPc    = Output(UInt(32.W))

  /** The DRAM, in MiB, of which the firmware's loads are cached, and that they are to be forgotten. */
  val cacheFirst = Output(UInt(12.W))
  val cacheEnd   = Output(UInt(12.W))
  val cacheFlush = Output(Bool())

  /** Bytes moved on the AXI4 to DRAM. */
  val dramRead  = Input(UInt(64.W))
  val dramWrite = Input(UInt(64.W))

  /** The firmware processor sleeps. */
  val sleeping = Input(Bool())

  /** An enabled event is there. */
  val irq = Output(Bool())

  /** Timebase value at which the timer event comes if it is enabled and has not come, else all ones. */
  val wakeAt = Output(UInt(64.W))
}

/** Identification, timer, events, console and sleep time: register block SYS. */
class SystemRegs(p: SocParams) extends Module {
  val io = IO(new SystemRegsIO(p))

  private val mtimeHigh = RegInit(0.U(32.W))
  private val sleepHigh = RegInit(0.U(32.W))
  private val readHigh  = RegInit(0.U(32.W))
  private val writeHigh = RegInit(0.U(32.W))
  private val compare   = RegInit(SysRegs.MtimecmpHi.reset.U(32.W) ## SysRegs.MtimecmpLo.reset.U(32.W))
  private val enable    = RegInit(0.U(7.W))
  private val tcmFirst  = RegInit(SysRegs.TcmWriteFirst.reset.U(32.W))
  private val tcmEnd    = RegInit(SysRegs.TcmWriteEnd.reset.U(32.W))
  io.tcmFirst := tcmFirst
  io.tcmEnd   := tcmEnd

  private val dramFirst = RegInit(0.U(32.W))
  private val dramEnd   = RegInit(0.U(32.W))
  io.dramFirst := dramFirst
  io.dramEnd   := dramEnd

  private val trapped   = RegInit(false.B)
  private val trapCause = RegInit(0.U(8.W))
  private val trapPc    = RegInit(0.U(32.W))
  io.trapped   := trapped
  io.trapCause := trapCause
  io.trapPc    := trapPc

  private val cacheFirst = RegInit(0.U(12.W))
  private val cacheEnd   = RegInit(0.U(12.W))
  io.cacheFirst := cacheFirst
  io.cacheEnd   := cacheEnd
  io.cacheFlush := false.B

  private val events = Cat(
    io.core.orR,
    io.flash.orR,
    io.waiting,
    io.hdma,
    io.ctrl,
    io.sqe,
    io.timebase >= compare
  )
  io.irq    := (events & enable).orR
  io.wakeAt := Mux(enable(SysRegs.Event.Timer.lsb), compare, Fill(64, 1.U))

  // In units of the timebase, which goes on while the clock is stopped.
  private val sleep  = RegInit(0.U(64.W))
  private val before = RegNext(io.timebase)
  when(io.sleeping) { sleep := sleep + (io.timebase - before) }

  io.put.valid := false.B
  io.put.bits  := io.regs.req.bits.wdata(7, 0)
  io.getTake   := false.B

  RegMap(io.regs)(
    Seq(
      RegMap.ro(SysRegs.Id.offset, SysRegs.Id.reset.U(32.W)),
      RegMap.ro(SysRegs.Config.offset, ChipId.config(p).U(32.W)),
      RegMap.ro(SysRegs.Config2.offset, ChipId.config2(p).U(32.W)),
      RegMap.pop(SysRegs.MtimeLo.offset, io.timebase(31, 0)) { mtimeHigh := io.timebase(63, 32) },
      RegMap.ro(SysRegs.MtimeHi.offset, mtimeHigh),
      RegEntry(
        SysRegs.MtimecmpLo.offset,
        Some(compare(31, 0)),
        Some(data => compare := compare(63, 32) ## data)
      ),
      RegEntry(
        SysRegs.MtimecmpHi.offset,
        Some(compare(63, 32)),
        Some(data => compare := data ## compare(31, 0))
      ),
      RegMap.ro(SysRegs.Event.offset, events),
      RegMap.rw(SysRegs.EventEnable.offset, enable),
      RegMap.ro(SysRegs.FlashPending.offset, io.flash),
      RegMap.ro(SysRegs.CorePending.offset, io.core),
      RegEntry(SysRegs.ConsoleTx.offset, Some(io.space), Some(_ => io.put.valid := true.B)),
      RegMap.pop(SysRegs.ConsoleRx.offset, io.get) { io.getTake := true.B },
      RegMap.pop(SysRegs.SleepCyclesLo.offset, sleep(31, 0)) { sleepHigh := sleep(63, 32) },
      RegMap.ro(SysRegs.SleepCyclesHi.offset, sleepHigh),
      RegMap.ro(SysRegs.BootArg.offset, io.bootArg),
      RegMap.ro(SysRegs.Arch.offset, p.arch.code.U(32.W)),
      RegMap.rw(SysRegs.TcmWriteFirst.offset, tcmFirst),
      RegMap.rw(SysRegs.TcmWriteEnd.offset, tcmEnd),
      RegEntry(SysRegs.CacheFirst.offset, Some(cacheFirst ## 0.U(20.W)), Some(data => cacheFirst := data(31, 20))),
      RegEntry(SysRegs.CacheEnd.offset, Some(cacheEnd ## 0.U(20.W)), Some(data => cacheEnd := data(31, 20))),
      RegMap.wo(SysRegs.CacheFlush.offset)(_ => io.cacheFlush := true.B),
      RegMap.rw(SysRegs.DramClosedFirst.offset, dramFirst),
      RegMap.rw(SysRegs.DramClosedEnd.offset, dramEnd),
      RegMap.rw(SysRegs.TrapPc.offset, trapPc),
      RegEntry(
        SysRegs.Trap.offset,
        Some(trapCause ## 0.U(7.W) ## trapped),
        Some(data => {
          trapped   := data(SysRegs.Trap.Stopped.lsb)
          trapCause := data(SysRegs.Trap.Cause.lsb + 7, SysRegs.Trap.Cause.lsb)
        })
      ),
      RegMap.pop(SysRegs.DramReadLo.offset, io.dramRead(31, 0)) { readHigh := io.dramRead(63, 32) },
      RegMap.ro(SysRegs.DramReadHi.offset, readHigh),
      RegMap.pop(SysRegs.DramWriteLo.offset, io.dramWrite(31, 0)) { writeHigh := io.dramWrite(63, 32) },
      RegMap.ro(SysRegs.DramWriteHi.offset, writeHigh)
    ) ++ io.slotId.zipWithIndex.map { case (id, i) => RegMap.ro(SysRegs.SlotId.offset + 4 * i, id) }
  )

}
