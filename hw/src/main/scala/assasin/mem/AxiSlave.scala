// SPDX-License-Identifier: BSD-3-Clause
package assasin.mem

import assasin.SocParams
import assasin.bus.{Axi4, Axi4Addr, Axi4IO, Axi4Params, Axi4ReadIO, Axi4WriteIO, BlockFifo}
import assasin.contract.AddressMap
import assasin.xbar.{ReadBarrier, WriteOrder}
import chisel3._
import chisel3.util.{Enum, Queue, is, log2Ceil, switch}

/** A beat written to DRAM. Which one is a burst's last its length says. */
private class AxiSlaveWrite(port: Axi4Params) extends Bundle {
  val data = UInt(port.dataBits.W)
  val strb = UInt((port.dataBits / 8).W)
}

/** A beat read from DRAM. */
private class AxiSlaveRead(port: Axi4Params) extends Bundle {
  val data = UInt(port.dataBits.W)
  val resp = UInt(2.W)
  val last = Bool()
}

/** Device memory as the XDMA's AXI4 master sees it: TCM, STAGE and DRAM; anything else answers DECERR. Bursts of up to
  * 256 beats of full width, unaligned first addresses, any strobes; a burst of one beat may be narrower, and so may the
  * beats of a burst to TCM. Other bursts (FIXED, WRAP, narrow ones to DRAM) answer SLVERR and change nothing.
  * Transactions in each direction are answered in order.
  *
  * The host may take any time for write data, and to take read data and responses; the DRAM port waits for none of it.
  * A write burst is offered there when all its data are in `wFifo`, a read burst when `rFifo` has a place for each beat
  * of it.
  *
  * STAGE: its submission half (0x000-0x3FF) takes writes, its completion half (0x800-0x87F) reads; the opposite
  * accesses and the rest answer DECERR. Writes to TCM outside `tcmFirst` .. `tcmEnd` change nothing and answer SLVERR:
  * once the firmware runs, only its DMA buffers are open. So do writes to DRAM from `dramFirst` to `dramEnd`, but for
  * what `tcmFirst` and `tcmEnd` name there: a firmware in DRAM has its DMA buffers beside its code.
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

  /** The burst is served: where narrow beats may follow each other, each has its own place in a word of eight bytes. */
  private def served(a: Axi4Addr): Bool =
    a.len === 0.U || (a.burst === Axi4.Incr && (a.size === Axi4.Size8 || !isDram(a.addr)))

  /** Address of the beat behind `a`. */
  private def advance(a: Axi4Addr): UInt = {
    val step = (1.U(4.W) << a.size(1, 0))(3, 0)
    (a.addr & ~(step - 1.U).pad(port.addrBits)) + step
  }

  // Writes.
  private val wIdle :: wDram :: wLocal :: wResp :: Nil = Enum(4)

  private val wState   = RegInit(wIdle)
  private val wAddr    = Reg(new Axi4Addr(port)) // of the burst's next beat
  private val wStart   = Reg(UInt(port.addrBits.W))
  private val wRefused = Reg(Bool())
  private val wIds     = Module(new Queue(UInt(port.idBits.W), AxiSlave.Bursts))
  private val wFifo    = Module(new BlockFifo(new AxiSlaveWrite(port), AxiSlave.Beats))
  private val toTcm    = isTcm(wAddr.addr) && !wRefused
  private val toStage  = inStage(wAddr.addr) && wAddr.addr(11, 10) === 0.U && !wRefused

  private def within(first: UInt, end: UInt): Bool =
    wAddr.addr(31, 3) >= first(31, 3) && wAddr.addr(31, 3) < end(31, 3)
  private val buffer     = within(io.tcmFirst, io.tcmEnd)
  private val tcmOpen    = toTcm && buffer
  private val dramClosed = within(io.dramFirst, io.dramEnd) && !buffer

  private val awDram = isDram(io.axi.aw.bits.addr) && served(io.axi.aw.bits)
  io.axi.aw.ready   := wState === wIdle && Mux(awDram, wIds.io.enq.ready, !wIds.io.deq.valid)
  wIds.io.enq.valid := io.axi.aw.fire && awDram
  wIds.io.enq.bits  := io.axi.aw.bits.id

  // To DRAM: bursts whose data are there, then those whose address has been taken and whose data go. As many as there are
  // ids, so there is always a place.
  private val whole = Module(new Queue(new Axi4Addr(port), AxiSlave.Bursts))
  private val going = Module(new Queue(UInt(8.W), AxiSlave.Bursts))
  wFifo.io.enq.valid     := wState === wDram && io.axi.w.valid
  wFifo.io.enq.bits.data := io.axi.w.bits.data
  wFifo.io.enq.bits.strb := Mux(dramClosed, 0.U, io.axi.w.bits.strb)
  whole.io.enq.valid     := wFifo.io.enq.fire && io.axi.w.bits.last
  whole.io.enq.bits      := wAddr
  whole.io.enq.bits.addr := wStart
  io.dramWrite.aw <> whole.io.deq
  io.dramWrite.aw.bits.size  := Axi4.Size8
  io.dramWrite.aw.bits.burst := Axi4.Incr
  going.io.enq.valid         := io.dramWrite.aw.fire
  going.io.enq.bits          := whole.io.deq.bits.len
  private val wBeat = RegInit(0.U(8.W))
  io.dramWrite.w.valid     := going.io.deq.valid && wFifo.io.deq.valid
  io.dramWrite.w.bits.data := wFifo.io.deq.bits.data
  io.dramWrite.w.bits.strb := wFifo.io.deq.bits.strb
  io.dramWrite.w.bits.last := wBeat === going.io.deq.bits
  wFifo.io.deq.ready       := going.io.deq.valid && io.dramWrite.w.ready
  going.io.deq.ready       := io.dramWrite.w.fire && io.dramWrite.w.bits.last
  when(io.dramWrite.w.fire) { wBeat := Mux(io.dramWrite.w.bits.last, 0.U, wBeat + 1.U) }

  private val tcmWrite = wState === wLocal && tcmOpen && io.axi.w.valid
  io.axi.w.ready := (wState === wDram && wFifo.io.enq.ready) || (wState === wLocal && (!tcmOpen || (tcmWrite && io.tcm.req.ready)))

  io.stage.write.valid     := wState === wLocal && toStage && io.axi.w.valid
  io.stage.write.bits.word := wAddr.addr(9, 3)
  io.stage.write.bits.data := io.axi.w.bits.data
  io.stage.write.bits.mask := io.axi.w.bits.strb

  switch(wState) {
    is(wIdle) {
      when(io.axi.aw.fire) {
        wAddr    := io.axi.aw.bits
        wStart   := io.axi.aw.bits.addr
        wRefused := !served(io.axi.aw.bits)
        wState   := Mux(awDram, wDram, wLocal)
      }
    }
    is(wDram) {
      when(io.axi.w.fire) {
        wAddr.addr := advance(wAddr)
        when(io.axi.w.bits.last) { wState := wIdle }
      }
    }
    is(wLocal) {
      when(io.axi.w.fire) {
        wAddr.addr := advance(wAddr)
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
    wMissing := wMissing || !toTcm && !toStage && !wRefused
  }

  // Whether a burst to DRAM had a closed beat, for its answer.
  private val closed = Module(new Queue(Bool(), AxiSlave.Bursts))
  closed.io.enq.valid := whole.io.enq.valid
  closed.io.enq.bits  := wClosed || dramClosed

  private val localB = wState === wResp
  private val wResps = Module(new Queue(UInt(2.W), AxiSlave.Bursts))
  wResps.io.enq.valid  := io.dramWrite.b.valid
  wResps.io.enq.bits   := io.dramWrite.b.bits.resp
  io.dramWrite.b.ready := true.B
  io.axi.b.valid       := localB || wResps.io.deq.valid
  io.axi.b.bits.id     := Mux(localB, wAddr.id, wIds.io.deq.bits)
  io.axi.b.bits.resp := Mux(
    localB,
    Mux(wMissing, Axi4.Decerr, Mux(wClosed || wRefused, Axi4.Slverr, Axi4.Okay)),
    Mux(closed.io.deq.bits, Axi4.Slverr, wResps.io.deq.bits)
  )
  wResps.io.deq.ready := !localB && io.axi.b.ready
  wIds.io.deq.ready   := wResps.io.deq.fire
  closed.io.deq.ready := wResps.io.deq.fire

  // Reads.
  private val rIdle :: rWait :: rDram :: rAsk :: rTake :: rSend :: Nil = Enum(6)

  private val rState    = RegInit(rIdle)
  private val rAddr     = Reg(new Axi4Addr(port))
  private val rData     = Reg(UInt(64.W))
  private val rRefused  = Reg(Bool())
  private val rIds      = Module(new Queue(UInt(port.idBits.W), AxiSlave.Bursts))
  private val rFifo     = Module(new BlockFifo(new AxiSlaveRead(port), AxiSlave.Beats))
  private val fromTcm   = isTcm(rAddr.addr) && !rRefused
  private val fromStage = inStage(rAddr.addr) && rAddr.addr(11, 7) === 16.U && !rRefused
  private val barrier   = Module(new ReadBarrier)

  private val arDram = isDram(io.axi.ar.bits.addr) && served(io.axi.ar.bits)
  io.axi.ar.ready   := rState === rIdle && Mux(arDram, rIds.io.enq.ready, !rIds.io.deq.valid)
  barrier.io.start  := io.axi.ar.fire
  barrier.io.order  := io.order
  rIds.io.enq.valid := io.axi.ar.fire && arDram
  rIds.io.enq.bits  := io.axi.ar.bits.id

  /** Places of the FIFO for which nothing has been asked of DRAM. */
  private val free  = RegInit(AxiSlave.Beats.U(log2Ceil(AxiSlave.Beats + 1).W))
  private val asked = io.dramRead.ar.fire
  free := free - Mux(asked, rAddr.len +& 1.U, 0.U) + rFifo.io.deq.fire

  io.dramRead.ar.valid      := rState === rDram && free > rAddr.len
  io.dramRead.ar.bits       := rAddr
  io.dramRead.ar.bits.size  := Axi4.Size8
  io.dramRead.ar.bits.burst := Axi4.Incr

  io.stage.readEn   := rState === rAsk && fromStage
  io.stage.readWord := rAddr.addr(6, 3)

  switch(rState) {
    is(rIdle) {
      when(io.axi.ar.fire) {
        rAddr    := io.axi.ar.bits
        rRefused := !served(io.axi.ar.bits)
        rState   := Mux(arDram, rWait, rAsk)
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
        rAddr.addr := advance(rAddr)
        rAddr.len  := rAddr.len - 1.U
        rState     := Mux(rAddr.len === 0.U, rIdle, rAsk)
      }
    }
  }

  private val localR = rState === rSend
  rFifo.io.enq.valid     := io.dramRead.r.valid
  rFifo.io.enq.bits.data := io.dramRead.r.bits.data
  rFifo.io.enq.bits.resp := io.dramRead.r.bits.resp
  rFifo.io.enq.bits.last := io.dramRead.r.bits.last
  io.dramRead.r.ready    := true.B
  assert(!io.dramRead.r.valid || rFifo.io.enq.ready, "a beat of DRAM without a place for it")
  assert(!io.dramWrite.b.valid || wResps.io.enq.ready, "a response of DRAM without a place for it")
  assert(!whole.io.enq.valid || whole.io.enq.ready, "a write burst without a place for its address")
  assert(!io.dramWrite.aw.valid || going.io.enq.ready, "a write burst without a place for its length")

  private val dramR = rFifo.io.deq.bits
  io.axi.r.valid     := localR || rFifo.io.deq.valid
  io.axi.r.bits.id   := Mux(localR, rAddr.id, rIds.io.deq.bits)
  io.axi.r.bits.data := Mux(localR, rData, dramR.data)
  io.axi.r.bits.last := Mux(localR, rAddr.len === 0.U, dramR.last)
  io.axi.r.bits.resp := Mux(
    localR,
    Mux(rRefused, Axi4.Slverr, Mux(fromTcm || fromStage, Axi4.Okay, Axi4.Decerr)),
    dramR.resp
  )
  rFifo.io.deq.ready := !localR && io.axi.r.ready
  rIds.io.deq.ready  := rFifo.io.deq.fire && dramR.last

  io.tcm.req.valid      := tcmWrite || (rState === rAsk && fromTcm)
  io.tcm.req.bits.write := tcmWrite
  io.tcm.req.bits.word  := Mux(tcmWrite, wAddr.addr, rAddr.addr)(log2Ceil(p.tcmBytes) - 1, 3)
  io.tcm.req.bits.data  := io.axi.w.bits.data
  io.tcm.req.bits.mask  := io.axi.w.bits.strb

  io.idle := wState === wIdle && rState === rIdle && !wIds.io.deq.valid && !rIds.io.deq.valid
}

private object AxiSlave {

  /** Bursts under way, each direction. */
  val Bursts = 8

  /** Beats of DRAM in the chip, each direction: two of the longest bursts, so that one fills while the other empties.
    */
  val Beats = 512
}
