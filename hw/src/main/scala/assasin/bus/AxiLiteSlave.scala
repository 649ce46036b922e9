// SPDX-License-Identifier: BSD-3-Clause
package assasin.bus

import chisel3._
import chisel3.util.{Cat, Decoupled, Enum, Valid, is, switch}

/** A register access with byte strobes, as it comes from the host. */
class HostReq(addrBits: Int) extends RegReq(addrBits) {
  val strb = UInt(4.W)

  /** `old` with the strobed bytes of the written word. */
  def merge(old: UInt): UInt = {
    val word  = RegMap.word(old)
    val bytes = (0 until 4).map(i => Mux(strb(i), wdata(8 * i + 7, 8 * i), word(8 * i + 7, 8 * i)))
    Cat(bytes.reverse)
  }
}

/** Host register bus, seen from the master; the rules of [[RegBusIO]]. */
class HostRegIO(addrBits: Int) extends Bundle {
  val req  = Decoupled(new HostReq(addrBits))
  val resp = Flipped(Valid(UInt(32.W)))
}

/** Turns AXI4-Lite accesses into single register accesses, one at a time; a waiting write goes before a waiting read.
  */
class AxiLiteSlave(addrBits: Int) extends Module {
  val io = IO(new Bundle {
    val axi  = Flipped(new AxiLiteIO(addrBits))
    val regs = new HostRegIO(addrBits)

    /** No access is under way. */
    val idle = Output(Bool())
  })

  private val sIdle :: sReq :: sWait :: sDone :: Nil = Enum(4)

  private val state = RegInit(sIdle)
  private val req   = Reg(new HostReq(addrBits))
  private val data  = Reg(UInt(32.W))

  private val write = io.axi.awaddr.valid && io.axi.wdata.valid

  io.axi.awaddr.ready := state === sIdle && write
  io.axi.wdata.ready  := state === sIdle && write
  io.axi.araddr.ready := state === sIdle && !write

  io.regs.req.valid := state === sReq
  io.regs.req.bits  := req

  io.axi.bresp.valid     := state === sDone && req.write
  io.axi.bresp.bits      := Axi4.Okay
  io.axi.rdata.valid     := state === sDone && !req.write
  io.axi.rdata.bits.data := data
  io.axi.rdata.bits.resp := Axi4.Okay

  switch(state) {
    is(sIdle) {
      when(write || io.axi.araddr.valid) {
        req.addr  := Mux(write, io.axi.awaddr.bits, io.axi.araddr.bits) & ~3.U(addrBits.W)
        req.write := write
        req.wdata := io.axi.wdata.bits.data
        req.strb  := io.axi.wdata.bits.strb
        state     := sReq
      }
    }
    is(sReq) { when(io.regs.req.fire) { state := sWait } }
    is(sWait) {
      when(io.regs.resp.valid) {
        data  := io.regs.resp.bits
        state := sDone
      }
    }
    is(sDone) { when(io.axi.bresp.fire || io.axi.rdata.fire) { state := sIdle } }
  }
  io.idle := state === sIdle
}
