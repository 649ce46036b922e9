// SPDX-License-Identifier: BSD-3-Clause
package assasin.mem

import assasin.SocParams
import assasin.bus.{Axi4, Axi4Addr, Axi4IO, Axi4Params, Axi4ReadIO, Axi4WriteIO}
import assasin.contract.AddressMap
import assasin.xbar.{ReadBarrier, WriteOrder}
import chisel3._
import chisel3.util.{Enum, Queue, is, log2Ceil, switch}

/** Device memory as the XDMA's AXI4 master sees it: TCM, STAGE and DRAM; anything else answers DECERR. Bursts (INCR,
  * full width) of up to 256 beats, unaligned first addresses, any strobes. Transactions in each direction are answered
  * in order. STAGE: its submission half (0x000-0x3FF) takes writes, its completion half (0x800-0x87F) reads; the
  * opposite accesses and the rest answer DECERR. Writes to TCM outside `tcmFirst` .. `tcmEnd` change nothing and answer
  * SLVERR: once the firmware runs, only its DMA buffers are open. So do writes to DRAM from `dramFirst` to `dramEnd`,
  * but for what `tcmFirst` and `tcmEnd` name there: a firmware in DRAM has its DMA buffers beside its code.
  */
class AxiSlave(p: SocParams, port: Axi4Params) extends Module {
  private val words = p.tcmBytes / 8

  val io = IO(new Bundle {
    val axi       = Flipped(new Axi4IO(port))
    val dramRead  = new Axi4ReadIO(port)
    val dramWrite = new Axi4WriteIO(port)
    val tcm       = new TcmPortIO(words)
    val stage     = new StageIO

    /** Reads of DRAM wait for the packets accepted before them. */
    val order = Input(new WriteOrder)

    /** The bytes of TCM that may be written: addresses from the first to below the end, multiples of 8. */
    val tcmFirst = Input(UInt(32.W))
    val tcmEnd   = Input(UInt(32.W))

    /** The bytes of DRAM that may not be written. */
    val dramFirst = Input(UInt(32.W))
    val dramEnd   = Input(UInt(32.W))

    /** No transaction is under way. */
    val idle = Output(Bool())
  })

  private val isDram  = (addr: UInt) => addr(31)
  private val isTcm   = (addr: UInt) => addr < p.tcmBytes.U
  private val inStage = (addr: UInt) => addr(31, 12) === (AddressMap.Stage.base >> 12).U

  // Writes.
  private val wIdle :: wDram :: wLocal :: wResp :: Nil = Enum(4)

  private val wState  = RegInit(wIdle)
  private val wAddr   = Reg(new Axi4Addr(port))
  private val wSent   = Reg(Bool())
  private val wIds    = Module(new Queue(UInt(port.idBits.W), 8))
  private val toTcm   = isTcm(wAddr.addr)
  private val toStage = inStage(wAddr.addr) && wAddr.addr(11, 10) === 0.U

  private def within(first: UInt, end: UInt): Bool =
    wAddr.addr(31, 3) >= first(31, 3) && wAddr.addr(31, 3) < end(31, 3)
  private val buffer     = within(io.tcmFirst, io.tcmEnd)
  private val tcmOpen    = toTcm && buffer
  private val dramClosed = within(io.dramFirst, io.dramEnd) && !buffer

  io.axi.aw.ready       := wState === wIdle && Mux(isDram(io.axi.aw.bits.addr), wIds.io.enq.ready, !wIds.io.deq.valid)
  wIds.io.enq.valid     := io.axi.aw.fire && isDram(io.axi.aw.bits.addr)
  wIds.io.enq.bits      := io.axi.aw.bits.id
  io.dramWrite.aw.valid := wState === wDram && !wSent
  io.dramWrite.aw.bits  := wAddr
  io.dramWrite.aw.bits.size := Axi4.Size8
  io.dramWrite.w.valid      := wState === wDram && io.axi.w.valid
  io.dramWrite.w.bits       := io.axi.w.bits
  when(dramClosed) { io.dramWrite.w.bits.strb := 0.U }

  private val tcmWrite = wState === wLocal && tcmOpen && io.axi.w.valid
  io.axi.w.ready := (wState === wDram && io.dramWrite.w.ready) || (wState === wLocal && (!tcmOpen || (tcmWrite && io.tcm.req.ready)))

  io.stage.write.valid     := wState === wLocal && toStage && io.axi.w.valid
  io.stage.write.bits.word := wAddr.addr(9, 3)
  io.stage.write.bits.data := io.axi.w.bits.data
  io.stage.write.bits.mask := io.axi.w.bits.strb

  switch(wState) {
    is(wIdle) {
      when(io.axi.aw.fire) {
        wAddr  := io.axi.aw.bits
        wSent  := false.B
        wState := Mux(isDram(io.axi.aw.bits.addr), wDram, wLocal)
      }
    }
    is(wDram) {
      val sent = wSent || io.dramWrite.aw.fire
      wSent := sent
      // The arbiter takes no data before the address.
      when(io.dramWrite.w.fire) {
        wAddr.addr := wAddr.addr + 8.U
        when(io.axi.w.bits.last) { wState := wIdle }
      }
    }
    is(wLocal) {
      when(io.axi.w.fire) {
        wAddr.addr := wAddr.addr + 8.U
        when(io.axi.w.bits.last) { wState := wResp }
      }
    }
    is(wResp) { when(io.axi.b.fire) { wState := wIdle } }
  }
  // The worst of a burst's beats answers for all.
  private val wClosed  = Reg(Bool())
  private val wMissing = Reg(Bool())
  when(io.axi.aw.fire) {
    wClosed  := false.B
    wMissing := false.B
  }.elsewhen(io.axi.w.fire) {
    wClosed  := wClosed || toTcm && !tcmOpen || wState === wDram && dramClosed
    wMissing := wMissing || !toTcm && !toStage
  }

  // Whether a burst to DRAM had a closed beat, for its answer.
  private val wRefused = Module(new Queue(Bool(), 8, flow = true))
  wRefused.io.enq.valid := io.dramWrite.w.fire && io.axi.w.bits.last
  wRefused.io.enq.bits  := wClosed || dramClosed
  wRefused.io.deq.ready := io.dramWrite.b.fire

  private val localB = wState === wResp
  io.axi.b.valid   := localB || io.dramWrite.b.valid
  io.axi.b.bits.id := Mux(localB, wAddr.id, wIds.io.deq.bits)
  io.axi.b.bits.resp := Mux(
    localB,
    Mux(wMissing, Axi4.Decerr, Mux(wClosed, Axi4.Slverr, Axi4.Okay)),
    Mux(wRefused.io.deq.bits, Axi4.Slverr, io.dramWrite.b.bits.resp)
  )
  io.dramWrite.b.ready := !localB && io.axi.b.ready
  wIds.io.deq.ready    := io.dramWrite.b.fire

  // Reads.
  private val rIdle :: rWait :: rDram :: rAsk :: rTake :: rSend :: Nil = Enum(6)

  private val rState    = RegInit(rIdle)
  private val rAddr     = Reg(new Axi4Addr(port))
  private val rData     = Reg(UInt(64.W))
  private val rIds      = Module(new Queue(UInt(port.idBits.W), 8))
  private val fromTcm   = isTcm(rAddr.addr)
  private val fromStage = inStage(rAddr.addr) && rAddr.addr(11, 7) === 16.U
  private val barrier   = Module(new ReadBarrier)

  io.axi.ar.ready      := rState === rIdle && Mux(isDram(io.axi.ar.bits.addr), rIds.io.enq.ready, !rIds.io.deq.valid)
  barrier.io.start     := io.axi.ar.fire
  barrier.io.order     := io.order
  rIds.io.enq.valid    := io.axi.ar.fire && isDram(io.axi.ar.bits.addr)
  rIds.io.enq.bits     := io.axi.ar.bits.id
  io.dramRead.ar.valid := rState === rDram
  io.dramRead.ar.bits  := rAddr
  io.dramRead.ar.bits.size := Axi4.Size8

  io.stage.readEn   := rState === rAsk && fromStage
  io.stage.readWord := rAddr.addr(6, 3)

  switch(rState) {
    is(rIdle) {
      when(io.axi.ar.fire) {
        rAddr  := io.axi.ar.bits
        rState := Mux(isDram(io.axi.ar.bits.addr), rWait, rAsk)
      }
    }
    is(rWait) { when(barrier.io.clear) { rState := rDram } }
    is(rDram) { when(io.dramRead.ar.fire) { rState := rIdle } }
    is(rAsk) { when(!fromTcm || (io.tcm.req.ready && !tcmWrite)) { rState := rTake } }
    is(rTake) {
      rData  := Mux(fromTcm, io.tcm.data, Mux(fromStage, io.stage.readData, 0.U))
      rState := rSend
    }
    is(rSend) {
      when(io.axi.r.fire) {
        rAddr.addr := rAddr.addr + 8.U
        rAddr.len  := rAddr.len - 1.U
        rState     := Mux(rAddr.len === 0.U, rIdle, rAsk)
      }
    }
  }

  private val localR = rState === rSend
  io.axi.r.valid      := localR || io.dramRead.r.valid
  io.axi.r.bits.id    := Mux(localR, rAddr.id, rIds.io.deq.bits)
  io.axi.r.bits.data  := Mux(localR, rData, io.dramRead.r.bits.data)
  io.axi.r.bits.resp  := Mux(localR, Mux(fromTcm || fromStage, Axi4.Okay, Axi4.Decerr), io.dramRead.r.bits.resp)
  io.axi.r.bits.last  := Mux(localR, rAddr.len === 0.U, io.dramRead.r.bits.last)
  io.dramRead.r.ready := !localR && io.axi.r.ready
  rIds.io.deq.ready   := io.dramRead.r.fire && io.dramRead.r.bits.last

  io.tcm.req.valid      := tcmWrite || (rState === rAsk && fromTcm)
  io.tcm.req.bits.write := tcmWrite
  io.tcm.req.bits.word  := Mux(tcmWrite, wAddr.addr, rAddr.addr)(log2Ceil(p.tcmBytes) - 1, 3)
  io.tcm.req.bits.data  := io.axi.w.bits.data
  io.tcm.req.bits.mask  := io.axi.w.bits.strb

  io.idle := wState === wIdle && rState === rIdle && !wIds.io.deq.valid && !rIds.io.deq.valid
}
