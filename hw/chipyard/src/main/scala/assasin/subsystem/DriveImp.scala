// SPDX-License-Identifier: BSD-3-Clause
package assasin.subsystem

import assasin.bus.{Axi4Addr, Axi4IO}
import assasin.contract.CoreState
import assasin.soc.{BoardIO, DriveParts, FirmwarePortIO, Uncore}
import chisel3._
import freechips.rocketchip.amba.axi4.{AXI4Bundle, AXI4BundleA}
import org.chipsalliance.diplomacy.lazymodule.LazyModuleImp

/** Hardware of [[Drive]]. */
class DriveImp(outer: Drive) extends LazyModuleImp(outer) {
  private val soc    = outer.params.soc
  private val uncore = Module(new Uncore(soc, BoardIO.dramParams(soc)))
  private val pins   = outer.pins.bundle

  private val timebase = pins.time.map(_.timebase).getOrElse {
    val cycles = RegInit(0.U(64.W))
    cycles := cycles + 1.U
    cycles
  }
  uncore.io.board.timebase := timebase

  uncore.io.board.xdma <> pins.xdma
  uncore.io.board.bar0 <> pins.bar0
  pins.xdmaRegs <> uncore.io.board.xdmaRegs
  pins.h2c <> uncore.io.board.h2c
  pins.c2h <> uncore.io.board.c2h
  pins.irq <> uncore.io.board.irq
  DriveParts(soc, uncore.io, pins.flash, pins.slot, reset.asBool || uncore.io.hold)

  private val (memory, _) = outer.memory.out.head
  connectMemory(memory, uncore.io.board.dram)

  outer.hold.foreach(_.bundle := uncore.io.hold)
  private val held    = outer.held.map(_.bundle)
  private val stopped = held.fold(false.B)(_.stopped)

  /** All tiles wait for an interrupt. */
  private val waiting = outer.waiting.in.flatMap(_._1).reduceOption(_ && _).getOrElse(false.B) && !stopped

  private val (registers, edge) = outer.registers.in.head
  private val bridge            = Module(new RegisterBridge(edge, outer.registerOffset))
  bridge.io.tl <> registers
  bridge.io.order := uncore.io.firmware.order
  // What the tile asked for before it was stopped is not to reach a drive that runs again.
  bridge.io.hold := uncore.io.hold || stopped
  uncore.io.firmware.dmem <> bridge.io.dmem

  private val (interrupts, _) = outer.interrupt.out.head
  interrupts.head := uncore.io.firmware.irq
  absent(uncore.io.firmware)

  for (time <- pins.time) {
    val quiet = uncore.io.board.asleep && bridge.io.idle && held.fold(true.B)(_.idle)

    /** Cycles of rest before the clock may stop: longer than a signal is on its way through the subsystem's buses. */
    val rest = RegInit(0.U(6.W))
    when(!quiet) { rest := 0.U }.elsewhen(!rest.andR) { rest := rest + 1.U }
    time.asleep := quiet && rest.andR
    time.wakeAt := uncore.io.board.wakeAt
  }

  /** The firmware processor is a tile with a debug module of its own: the drive's debug block and the host's control
    * registers see one that runs and cannot be halted.
    */
  private def absent(firmware: FirmwarePortIO): Unit = {
    firmware.imem.addr    := 0.U
    firmware.sleeping     := waiting
    firmware.status       := 0.U.asTypeOf(firmware.status)
    firmware.status.state := CoreState.Running.U
    firmware.debug.halted := false.B
    firmware.debug.caught := false.B
    firmware.debug.done   := false.B
    firmware.debug.error  := false.B
    firmware.debug.result := 0.U
  }

  private def connectAddress(to: AXI4BundleA, from: Axi4Addr): Unit = {
    to.id    := from.id
    to.addr  := from.addr
    to.len   := from.len
    to.size  := from.size
    to.burst := from.burst
    to.lock  := 0.U
    to.cache := 0.U
    to.prot  := 0.U
    to.qos   := 0.U
  }

  private def connectMemory(to: AXI4Bundle, from: Axi4IO): Unit = {
    to.aw.valid   := from.aw.valid
    from.aw.ready := to.aw.ready
    connectAddress(to.aw.bits, from.aw.bits)
    to.ar.valid   := from.ar.valid
    from.ar.ready := to.ar.ready
    connectAddress(to.ar.bits, from.ar.bits)
    to.w.valid       := from.w.valid
    from.w.ready     := to.w.ready
    to.w.bits.data   := from.w.bits.data
    to.w.bits.strb   := from.w.bits.strb
    to.w.bits.last   := from.w.bits.last
    from.b.valid     := to.b.valid
    to.b.ready       := from.b.ready
    from.b.bits.id   := to.b.bits.id
    from.b.bits.resp := to.b.bits.resp
    from.r.valid     := to.r.valid
    to.r.ready       := from.r.ready
    from.r.bits.id   := to.r.bits.id
    from.r.bits.data := to.r.bits.data
    from.r.bits.resp := to.r.bits.resp
    from.r.bits.last := to.r.bits.last
  }
}
