// SPDX-License-Identifier: BSD-3-Clause
package assasin.mem

import assasin.SocParams
import assasin.bus.{Axi4, Axi4Params, Axi4ReadIO, Axi4WriteIO, AxiLiteIO, RegBusIO}
import assasin.contract.AddressMap
import assasin.core.DmemIO
import assasin.xbar.{ReadBarrier, WriteOrder}
import chisel3._
import chisel3.util.{Enum, Fill, is, log2Ceil, switch}

object FirmwareBus {

  /** Lines of the read cache, 64 bytes each: every input stream of eight cores has its part of the map in another one.
    */
  val CacheLines = 64
}

/** Data side of the firmware processor: TCM in one cycle; register blocks and the XDMA's registers, words only; DRAM,
  * uncached. Other addresses, and bytes or halves of registers, are access faults. Stores to registers and DRAM are
  * answered at once; the next access outside TCM waits until they are done, so order is kept, but for a store to the
  * same line of DRAM, which joins those before it in the [[StoreGather]]. Loads from the DRAM that the firmware has
  * named bring a whole line into a [[ReadCache]], and loads that find theirs there wait for nothing.
  *
  * @param windows
  *   base addresses of the register blocks, 4 KiB each
  */
class FirmwareBus(p: SocParams, axi: Axi4Params, windows: Seq[BigInt]) extends Module {
  require(windows.forall(_ % 4096 == 0), "register windows are 4 KiB aligned")
  private val n = windows.size

  val io = IO(new Bundle {
    val dmem      = Flipped(new DmemIO)
    val tcm       = new TcmPortIO(p.tcmBytes / 8)
    val regs      = Vec(n, new RegBusIO(12))
    val xdma      = new AxiLiteIO(16)
    val dramRead  = new Axi4ReadIO(axi)
    val dramWrite = new Axi4WriteIO(axi)

    /** Reads of DRAM see all packets accepted before them. */
    val order = Input(new WriteOrder)

    /** Loads from `cacheFirst` to `cacheEnd`, in MiB, use the read cache. */
    val cacheFirst = Input(UInt(12.W))
    val cacheEnd   = Input(UInt(12.W))

    /** Others have written there. */
    val cacheFlush = Input(Bool())

    /** Register blocks are in reset: accesses to them are given up. */
    val flush = Input(Bool())

    /** No access is under way. */
    val idle = Output(Bool())
  })

  private val sIdle :: sReg :: sRegWait :: sXdmaAsk :: sXdmaWait :: sLook :: sDramHold :: sDramAsk :: sDramWait :: Nil =
    Enum(9)

  private val state = RegInit(sIdle)
  private val req   = Reg(chiselTypeOf(io.dmem.req.bits))
  private val sel   = Reg(UInt(n.W))

  /** The answer to a TCM access, a store or a fault comes in this cycle. */
  private val answer    = RegInit(false.B)
  private val answerErr = Reg(Bool())
  private val addrSent  = RegInit(true.B)
  private val dataSent  = RegInit(true.B)

  private val gather = Module(new StoreGather(axi))

  /** A store to DRAM has no response yet. */
  private val storing = !gather.io.empty

  private val in     = io.dmem.req.bits
  private val isTcm  = in.addr < p.tcmBytes.U
  private val isDram = in.addr(31)
  private val cached = isDram && !in.write && in.addr(31, 20) >= io.cacheFirst && in.addr(31, 20) < io.cacheEnd
  private val isXdma = in.addr(31, 16) === (AddressMap.Xdma.base >> 16).U
  private val hits   = VecInit(windows.map(b => in.addr(31, 12) === (b >> 12).U)).asUInt
  private val word   = in.size === 2.U

  io.tcm.req.valid      := io.dmem.req.valid && isTcm && state === sIdle
  io.tcm.req.bits.word  := in.addr(log2Ceil(p.tcmBytes) - 1, 3)
  io.tcm.req.bits.write := in.write
  io.tcm.req.bits.data  := Fill(2, in.wdata)
  io.tcm.req.bits.mask  := Mux(in.addr(2), in.mask ## 0.U(4.W), in.mask.pad(8))
  private val isStore = isDram && in.write
  private val mayAsk  = Mux(isStore, gather.io.store.ready, !storing || cached)
  io.dmem.req.ready := state === sIdle && Mux(isTcm, io.tcm.req.ready, mayAsk)

  private val accept  = io.dmem.req.fire
  private val barrier = Module(new ReadBarrier)
  barrier.io.start := accept && isDram && !in.write

  gather.io.store.valid     := io.dmem.req.valid && isStore && state === sIdle
  gather.io.store.bits.addr := in.addr
  gather.io.store.bits.data := io.tcm.req.bits.data
  gather.io.store.bits.mask := io.tcm.req.bits.mask
  io.dramWrite <> gather.io.dramWrite

  private val cache = Module(new ReadCache(FirmwareBus.CacheLines))

  /** The load brings its line. */
  private val line = Reg(Bool())

  /** The answer to a load that found its line comes in this cycle. */
  private val found     = RegInit(false.B)
  private val foundData = Reg(UInt(32.W))
  private val look      = state === sLook
  found            := look && cache.io.hit
  foundData        := Mux(req.addr(2), cache.io.data(63, 32), cache.io.data(31, 0))
  cache.io.addr    := req.addr
  cache.io.flush   := io.cacheFlush || io.flush
  barrier.io.order := io.order

  answer    := false.B
  answerErr := false.B
  when(accept) {
    req := in
    sel := hits
    when(isTcm) {
      answer := true.B
    }.elsewhen(isDram) {
      answer := in.write
      line   := cached
      when(!in.write) { state := Mux(cached, sLook, sDramHold) }
    }.elsewhen(isXdma && word) {
      addrSent := false.B
      dataSent := !in.write
      state    := sXdmaAsk
    }.elsewhen(hits.orR && word) {
      answer := in.write
      state  := sReg
    }.otherwise {
      answer    := true.B
      answerErr := true.B
    }
  }

  // Register blocks: the request is broadcast, `sel` says to whom.
  io.regs.zipWithIndex.foreach { case (r, i) =>
    r.req.valid      := state === sReg && sel(i)
    r.req.bits.addr  := req.addr(11, 0)
    r.req.bits.write := req.write
    r.req.bits.wdata := req.wdata
  }
  private val regTaken = VecInit(io.regs.map(_.req.fire)).asUInt.orR
  private val regResp  = state === sRegWait && (sel & VecInit(io.regs.map(_.resp.valid)).asUInt).orR
  private val regData  = io.regs.zipWithIndex.map { case (r, i) => Mux(sel(i), r.resp.bits, 0.U) }.reduce(_ | _)

  // XDMA registers.
  io.xdma.awaddr.valid    := state === sXdmaAsk && req.write && !addrSent
  io.xdma.awaddr.bits     := req.addr(15, 0)
  io.xdma.wdata.valid     := state === sXdmaAsk && req.write && !dataSent
  io.xdma.wdata.bits.data := req.wdata
  io.xdma.wdata.bits.strb := req.mask
  io.xdma.araddr.valid    := state === sXdmaAsk && !req.write
  io.xdma.araddr.bits     := req.addr(15, 0)
  io.xdma.bresp.ready     := state === sXdmaWait
  io.xdma.rdata.ready     := state === sXdmaWait
  when(io.xdma.awaddr.fire) { addrSent := true.B }
  when(io.xdma.wdata.fire) { dataSent := true.B }
  private val xdmaResp = state === sXdmaWait && Mux(req.write, io.xdma.bresp.valid, io.xdma.rdata.valid)
  private val xdmaErr  = Mux(req.write, io.xdma.bresp.bits, io.xdma.rdata.bits.resp) =/= Axi4.Okay

  // DRAM.
  io.dramRead.ar.valid      := state === sDramAsk
  io.dramRead.ar.bits.id    := 0.U
  io.dramRead.ar.bits.addr  := req.addr(31, 6) ## Mux(line, 0.U(3.W), req.addr(5, 3)) ## 0.U(3.W)
  io.dramRead.ar.bits.len   := Mux(line, 7.U, 0.U)
  io.dramRead.ar.bits.size  := Axi4.Size8
  io.dramRead.ar.bits.burst := Axi4.Incr
  io.dramRead.r.ready       := true.B
  private val storeAddr = Reg(UInt(32.W))
  private val storeData = Reg(UInt(32.W))
  private val storeMask = Reg(UInt(8.W))
  when(accept && isStore) {
    storeAddr := in.addr
    storeData := in.wdata
    storeMask := io.tcm.req.bits.mask
  }

  // What gathers leaves for whatever waits for it.
  gather.io.send := look && !cache.io.hit || (state === sIdle && io.dmem.req.valid && !isTcm && !io.dmem.req.ready)
  private val dramBeat = state === sDramWait && io.dramRead.r.valid
  private val dramResp = dramBeat && io.dramRead.r.bits.last
  private val beatBad  = io.dramRead.r.bits.resp =/= Axi4.Okay

  /** Beats of the line before this one: how many, the one that was asked for, whether one was bad. */
  private val beats    = Reg(UInt(3.W))
  private val beatData = Reg(UInt(64.W))
  private val lineBad  = Reg(Bool())
  private val wanted   = Mux(line && beats =/= req.addr(5, 3), beatData, io.dramRead.r.bits.data)
  private val dramData = Mux(req.addr(2), wanted(63, 32), wanted(31, 0))
  private val dramBad  = beatBad || line && lineBad
  when(state === sDramAsk) {
    beats   := 0.U
    lineBad := false.B
  }
  when(dramBeat) {
    beats    := beats + 1.U
    beatData := wanted
    lineBad  := lineBad || beatBad
  }
  cache.io.fill     := dramBeat && line
  cache.io.fillData := io.dramRead.r.bits.data
  cache.io.last     := io.dramRead.r.bits.last
  cache.io.lastGood := !dramBad

  /** The store was taken in the cycle before. */
  private val stored = RegNext(accept && isStore, false.B)
  cache.io.store     := stored
  cache.io.storeAddr := storeAddr
  cache.io.storeData := Fill(2, storeData)
  cache.io.storeMask := storeMask

  switch(state) {
    is(sReg) { when(regTaken) { state := sRegWait } }
    is(sRegWait) { when(regResp) { state := sIdle } }
    is(sXdmaAsk) {
      val sent = Mux(
        req.write,
        (addrSent || io.xdma.awaddr.fire) && (dataSent || io.xdma.wdata.fire),
        io.xdma.araddr.fire
      )
      when(sent) { state := sXdmaWait }
    }
    is(sXdmaWait) { when(xdmaResp) { state := sIdle } }
    is(sLook) {
      when(cache.io.hit) { state := sIdle }.elsewhen(!storing) { state := sDramHold }
    }
    is(sDramHold) { when(barrier.io.clear) { state := sDramAsk } }
    is(sDramAsk) { when(io.dramRead.ar.fire) { state := sDramWait } }
    is(sDramWait) { when(dramResp) { state := sIdle } }
  }
  when(io.flush && (state === sReg || state === sRegWait)) { state := sIdle }

  private val tcmData = Mux(req.addr(2), io.tcm.data(63, 32), io.tcm.data(31, 0))
  private val regRead = regResp && !req.write
  io.dmem.resp.valid := answer || found || regRead || xdmaResp || dramResp
  io.dmem.resp.bits.rdata := Mux(
    answer,
    tcmData,
    Mux(found, foundData, Mux(state === sRegWait, regData, Mux(state === sXdmaWait, io.xdma.rdata.bits.data, dramData)))
  )
  io.dmem.resp.bits.err := Mux(
    answer,
    answerErr,
    Mux(state === sXdmaWait, xdmaErr, state === sDramWait && dramBad)
  )
  io.idle := state === sIdle && !storing && !answer && !found
}
