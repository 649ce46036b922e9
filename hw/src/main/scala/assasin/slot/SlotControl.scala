// SPDX-License-Identifier: BSD-3-Clause
package assasin.slot

import assasin.bus.{AxiLiteIO, RegBusIO, RegReq}
import chisel3._
import chisel3.util.{Enum, is, switch}

/** Passes the firmware's accesses on to a kernel's AXI4-Lite port. A kernel that does not answer within
  * [[KernelSlot.Patience]] cycles is given up until its reset: what is read of it then, and while it is in reset, is
  * all ones.
  */
class SlotControl extends Module {
  val io = IO(new Bundle {
    val regs = Flipped(new RegBusIO(12))
    val axi  = new AxiLiteIO(12)

    /** The kernel runs, or will after its reset; and it is in reset. */
    val run  = Input(Bool())
    val held = Input(Bool())

    /** The kernel has been given up. */
    val dead = Output(Bool())
  })
  private val sIdle :: sAsk :: sWait :: sDone :: Nil = Enum(4)

  private val state    = RegInit(sIdle)
  private val req      = Reg(new RegReq(12))
  private val data     = Reg(UInt(32.W))
  private val addrSent = RegInit(false.B)
  private val dataSent = RegInit(false.B)
  private val waited   = RegInit(0.U(10.W))
  private val dead     = RegInit(false.B)
  private val asks     = state === sAsk && !io.held && io.run && !dead

  io.regs.req.ready      := state === sIdle
  io.regs.resp.valid     := state === sDone
  io.regs.resp.bits      := data
  io.axi.awaddr.valid    := asks && req.write && !addrSent
  io.axi.awaddr.bits     := req.addr
  io.axi.wdata.valid     := asks && req.write && !dataSent
  io.axi.wdata.bits.data := req.wdata
  io.axi.wdata.bits.strb := 0xf.U
  io.axi.araddr.valid    := asks && !req.write && !addrSent
  io.axi.araddr.bits     := req.addr
  io.axi.bresp.ready     := state === sWait && req.write
  io.axi.rdata.ready     := state === sWait && !req.write
  private val addrGone = addrSent || io.axi.awaddr.fire || io.axi.araddr.fire
  private val dataGone = dataSent || io.axi.wdata.fire || !req.write

  switch(state) {
    is(sIdle) {
      when(io.regs.req.fire) {
        req      := io.regs.req.bits
        addrSent := false.B
        dataSent := false.B
        waited   := 0.U
        state    := sAsk
      }
    }
    is(sAsk) {
      addrSent := addrGone
      dataSent := dataGone
      when(asks && addrGone && dataGone) { state := sWait }
    }
    is(sWait) {
      when(io.axi.bresp.fire || io.axi.rdata.fire) {
        data  := io.axi.rdata.bits.data
        state := sDone
      }
    }
    is(sDone) { state := sIdle }
  }
  private val asking = state === sAsk || state === sWait
  when(asking && !io.held) { waited := waited + 1.U }
  when(asking && (!io.run || dead || waited === KernelSlot.Patience.U)) {
    data  := ~0.U(32.W)
    state := sDone
  }
  when(!io.run) { dead := false.B }.elsewhen(asking && waited === KernelSlot.Patience.U) { dead := true.B }
  io.dead := dead
}
