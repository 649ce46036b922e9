// SPDX-License-Identifier: BSD-3-Clause
package assasin.xbar

import chisel3._
import chisel3.util.{Decoupled, Enum, Queue, Valid, is, log2Ceil, switch}

/** An operation of the parity engine. */
class ParityOp extends Bundle {

  /** DRAM address, 64-byte aligned (the low six bits are ignored). */
  val addr  = UInt(32.W)
  val store = Bool()
}

/** Exclusive-or of pages in DRAM. It holds one page of data. A load reads a page and combines it with the one held; a
  * store writes the page held to DRAM, and the next load begins anew. A store without a load before it writes zeros.
  * Operations are carried out in order; the reads of up to two loads are under way at a time.
  *
  * @param bytes
  *   of a page, a power of two from 128 on
  * @param number
  *   crossbar destination of this engine
  * @param dramDst
  *   crossbar destination of the DRAM writer
  * @param depth
  *   operations in the queue
  */
class ParityEngine(bytes: Int, number: Int, dramDst: Int, depth: Int = 32) extends Module {
  require(bytes >= 128 && (bytes & (bytes - 1)) == 0, s"bytes = $bytes: must be a power of two from 128 on")

  val io = IO(new Bundle {

    /** Ignored when `space` is 0. */
    val push  = Flipped(Valid(new ParityOp))
    val space = Output(UInt(8.W))

    /** To the DRAM reader. */
    val reader = Decoupled(new DramReadReq)

    /** What that has read, by way of the crossbar. Always taken. */
    val in    = Flipped(Decoupled(new XbarBeat))
    val out   = Decoupled(new XbarBeat)
    val order = Input(new WriteOrder)

    /** Pulse: a store is in DRAM. */
    val done = Output(Bool())

    /** Firmware and crossbar are in reset, until the DRAM reader has nothing under way: everything ends where it is,
      * and what is held is dropped.
      */
    val flush = Input(Bool())
    val idle  = Output(Bool())
  })
  private val words     = bytes / 8
  private val indexBits = log2Ceil(words)

  private val queue = Module(new Queue(new ParityOp, depth, hasFlush = true))
  queue.io.enq.valid := io.push.valid
  queue.io.enq.bits  := io.push.bits
  queue.io.flush.get := io.flush
  io.space           := depth.U - queue.io.count

  private val sLoad :: sFirst :: sStore :: sMark :: sWait :: Nil = Enum(5)

  private val state = RegInit(sLoad)
  private val head  = queue.io.deq.bits
  private val dst   = Reg(UInt(26.W))

  /** Loads asked for whose last beat has not come. */
  private val coming = RegInit(0.U(2.W))

  private val load = queue.io.deq.valid && !head.store
  io.reader.valid                := state === sLoad && load && coming < 2.U && !io.flush
  io.reader.bits.src             := head.addr(31, 6) ## 0.U(6.W)
  io.reader.bits.bytes           := bytes.U
  io.reader.bits.target.dst      := number.U
  io.reader.bits.target.addr     := 0.U
  io.reader.bits.target.toStream := false.B
  io.reader.bits.target.stream   := 0.U

  // The page held. A beat that comes is written one cycle later, together with what was there.
  private val page  = SyncReadMem(words, UInt(64.W))
  private val index = RegInit(0.U(indexBits.W))

  /** Nothing is held: the next beat that comes stands alone, and a store writes zeros. */
  private val blank = RegInit(true.B)
  private val empty = RegInit(true.B)
  private val take  = io.in.valid
  private val wrap  = index === (words - 1).U
  private val step  = take || (state === sStore && io.out.ready)
  private val next  = Mux(state === sFirst, 0.U, index + step)
  private val row   = Mux(take, index, next)
  private val held  = page.read(row)

  private val pending = RegNext(take, false.B)
  private val came    = RegNext(io.in.bits.data)
  private val alone   = RegNext(blank)
  when(pending) { page.write(RegNext(index), Mux(alone, 0.U, held) ^ came) }

  io.in.ready := true.B
  private val arrived = take && wrap
  when(io.reader.fire =/= arrived) { coming := Mux(arrived, coming - 1.U, coming + 1.U) }
  when(take) {
    index := index + 1.U
    empty := false.B
    when(wrap) { blank := false.B }
  }

  private val sent = io.out.fire && wrap
  io.out.valid         := state === sStore
  io.out.bits.data     := Mux(empty, 0.U, held)
  io.out.bits.last     := index(2, 0) === 7.U
  io.out.bits.dst      := dramDst.U
  io.out.bits.addr     := (dst + index(indexBits - 1, 3)) ## 0.U(6.W)
  io.out.bits.bytes    := 64.U
  io.out.bits.toStream := false.B
  io.out.bits.stream   := 0.U
  io.out.bits.mark     := false.B

  private val start   = state === sLoad && queue.io.deq.valid && head.store && coming === 0.U && !pending
  private val barrier = Module(new ReadBarrier)
  barrier.io.start := state === sMark
  barrier.io.order := io.order
  io.done          := state === sWait && barrier.io.clear && !io.flush
  switch(state) {
    is(sLoad) {
      when(start) {
        state := sFirst
        dst   := head.addr(31, 6)
      }
    }
    is(sFirst) { state := sStore }
    is(sStore) {
      when(io.out.fire) { index := index + 1.U }
      when(sent) {
        state := sMark
        blank := true.B
        empty := true.B
      }
    }
    is(sMark) { state := sWait }
    is(sWait) { when(barrier.io.clear) { state := sLoad } }
  }
  queue.io.deq.ready := io.reader.fire || start
  io.idle            := !queue.io.deq.valid && state === sLoad && coming === 0.U && !pending

  when(io.flush) {
    state  := sLoad
    coming := 0.U
    index  := 0.U
    blank  := true.B
    empty  := true.B
  }
}
