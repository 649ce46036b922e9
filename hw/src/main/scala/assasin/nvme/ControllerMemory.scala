// SPDX-License-Identifier: BSD-3-Clause
package assasin.nvme

import assasin.bus.{Axi4, Axi4Params, Axi4ReadIO, Axi4WriteIO, HostRegIO, HostReq}
import assasin.contract.AddressMap
import assasin.mem.StageWrite
import chisel3._
import chisel3.util.{Cat, Decoupled, Enum, Fill, Valid, is, log2Ceil, switch}

/** Sizes of the controller memory buffer. */
object ControllerMemory {

  /** Bytes. Linux takes a buffer only in whole memory subsections, 2 MiB. */
  val Bytes: BigInt = AddressMap.DramCmb.size

  /** Its offset in BAR0. */
  val BarOffset: BigInt = 0x200000

  val AddrBits: Int = log2Ceil(Bytes)
}

/** Where the host has put the controller memory buffer in its address space (CMBMSC). */
class ControllerMemoryWindow extends Bundle {
  val enable = Bool()

  /** A multiple of 4 KiB. */
  val base = UInt(64.W)
}

/** A submission entry to bring from the buffer into the staging memory. */
class ControllerMemoryFetch extends Bundle {

  /** Offset in the buffer, in entries. */
  val entry = UInt((ControllerMemory.AddrBits - 6).W)

  /** Slot of the staging memory. */
  val slot = UInt(4.W)
}

/** Controller memory buffer (NVM Express Base Specification 1.4, clause 4.7), for submission queues: a part of the SSD
  * DRAM behind BAR0, written and read by the host, from which submission entries are fetched without PCIe.
  *
  * A write of the host is in DRAM before it is answered, so a doorbell after it finds the entry.
  */
class ControllerMemory(axi: Axi4Params) extends Module {
  import ControllerMemory.AddrBits

  val io = IO(new Bundle {

    /** BAR0, at and above [[ControllerMemory.BarOffset]]. */
    val host = Flipped(new HostRegIO(AddrBits))

    val fetch = Flipped(Decoupled(new ControllerMemoryFetch))

    /** Pulse: the entry is in the staging memory. */
    val fetched = Output(Bool())
    val stage   = Valid(new StageWrite)

    val read  = new Axi4ReadIO(axi)
    val write = new Axi4WriteIO(axi)

    /** No access is under way. */
    val idle = Output(Bool())
  })

  private val sIdle :: sWrite :: sWritten :: sRead :: sTake :: sFetch :: sStage :: Nil = Enum(7)

  private val state    = RegInit(sIdle)
  private val req      = Reg(new HostReq(AddrBits))
  private val entry    = Reg(new ControllerMemoryFetch)
  private val beat     = Reg(UInt(3.W))
  private val addrSent = Reg(Bool())
  private val dataSent = Reg(Bool())

  io.host.req.ready := state === sIdle
  io.fetch.ready    := state === sIdle && !io.host.req.valid

  private def dram(offset: UInt): UInt = AddressMap.DramCmb.base.U(32.W) | offset
  private val word                     = dram(req.addr(AddrBits - 1, 3) ## 0.U(3.W))
  private val fetching                 = state === sFetch

  io.read.ar.valid      := state === sRead || fetching
  io.read.ar.bits.id    := 0.U
  io.read.ar.bits.addr  := Mux(fetching, dram(entry.entry ## 0.U(6.W)), word)
  io.read.ar.bits.len   := Mux(fetching, 7.U, 0.U)
  io.read.ar.bits.size  := Axi4.Size8
  io.read.ar.bits.burst := Axi4.Incr
  io.read.r.ready       := true.B

  io.write.aw.valid      := state === sWrite && !addrSent
  io.write.aw.bits.id    := 0.U
  io.write.aw.bits.addr  := word
  io.write.aw.bits.len   := 0.U
  io.write.aw.bits.size  := Axi4.Size8
  io.write.aw.bits.burst := Axi4.Incr
  io.write.w.valid       := state === sWrite && !dataSent
  io.write.w.bits.data   := Fill(2, req.wdata)
  io.write.w.bits.strb   := Mux(req.addr(2), req.strb ## 0.U(4.W), req.strb.pad(8))
  io.write.w.bits.last   := true.B
  io.write.b.ready       := true.B

  io.host.resp.valid := (state === sWritten && io.write.b.valid) || (state === sTake && io.read.r.valid)
  io.host.resp.bits  := Mux(req.addr(2), io.read.r.bits.data(63, 32), io.read.r.bits.data(31, 0))

  io.stage.valid     := state === sStage && io.read.r.valid
  io.stage.bits.word := Cat(entry.slot, beat)
  io.stage.bits.data := io.read.r.bits.data
  io.stage.bits.mask := 0xff.U
  io.fetched         := io.stage.valid && beat.andR

  switch(state) {
    is(sIdle) {
      addrSent := false.B
      dataSent := false.B
      beat     := 0.U
      when(io.host.req.fire) {
        req   := io.host.req.bits
        state := Mux(io.host.req.bits.write, sWrite, sRead)
      }.elsewhen(io.fetch.fire) {
        entry := io.fetch.bits
        state := sFetch
      }
    }
    is(sWrite) {
      when(io.write.aw.fire) { addrSent := true.B }
      when(io.write.w.fire) { dataSent := true.B }
      when((addrSent || io.write.aw.fire) && (dataSent || io.write.w.fire)) { state := sWritten }
    }
    is(sWritten) { when(io.write.b.valid) { state := sIdle } }
    is(sRead) { when(io.read.ar.fire) { state := sTake } }
    is(sTake) { when(io.read.r.valid) { state := sIdle } }
    is(sFetch) { when(io.read.ar.fire) { state := sStage } }
    is(sStage) {
      when(io.read.r.valid) {
        beat := beat + 1.U
        when(beat.andR) { state := sIdle }
      }
    }
  }

  io.idle := state === sIdle && !io.host.req.valid && !io.fetch.valid
}
