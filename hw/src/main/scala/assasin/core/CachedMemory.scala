// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Cat, log2Ceil}

import assasin.cache.{CacheParams, Dcpt, DrainLines, L1Cache, L2Cache, LineDram, Stager}
import assasin.contract.AddressMap
import assasin.stream.SoftPointers

/** Everything in the tile's part of DRAM, behind L1 and L2 (Baseline), with `arch.prefetcher` also a prefetcher
  * (Prefetch). Region: program data, input rings, output rings, as the windows CORE_SPAD, CORE_ISB and CORE_OSB follow
  * each other; then free memory.
  */
class CachedMemory(p: StreamCoreParams) extends TileMemory(p) {
  private val shape      = CacheParams.l1
  private val lineBits   = shape.lineBits
  private val regionBits = shape.regionBits
  private val offsetBits = log2Ceil(bytes)
  require(
    spadBits == offsetBits && p.spadBase % (BigInt(1) << regionBits) == 0,
    s"spadBase = ${p.spadBase}: the windows follow each other from a multiple of ${1 << regionBits} on"
  )

  private val l1       = Module(new L1Cache(CacheParams.l1))
  private val l2       = Module(new L2Cache(CacheParams.l2, reads = 8))
  private val dram     = Module(new LineDram(lineBits, reads = 8, writes = 8))
  private val stager   = Module(new Stager(lineBits))
  private val lines    = Module(new DrainLines(bytes))
  private val pointers = Module(new SoftPointers(bytes))
  pointers.io.partition := io.partition
  pointers.io.core <> io.soft.get
  pointers.io.ports <> io.pointers
  pointers.io.mark := dram.io.marked

  // ---- Crossbar: to DRAM ----------------------------------------------------------------------------------------------------
  private val beat     = io.beat.bits
  private val inSpad   = !beat.toStream && beat.toSpad
  private val dropped  = inSpad && io.run
  private val stage    = stager.io.beat
  private val inOffset = inputOffset(beat)
  io.beat.ready     := stage.ready || dropped
  stage.valid       := io.beat.valid && !dropped
  stage.bits.offset := Mux(inSpad, beat.addr(spadBits - 1, 0), Cat(1.U(1.W), inOffset))
  stage.bits.data   := beat.data
  stage.bits.bytes  := beat.bytes
  stage.bits.last   := beat.last
  stage.bits.mark   := beat.toStream && beat.mark
  stage.bits.slot   := slot(inOffset)

  // ---- Loads and stores -----------------------------------------------------------------------------------------------------
  private val request = io.dmem.req
  private val addr    = request.bits.addr
  private val inData  = addr(31, regionBits) === (AddressMap.CoreData.base >> regionBits).U
  private val inSmall =
    addr(31, spadBits + 2) === (p.spadBase >> (spadBits + 2)).U && addr(spadBits + 1, spadBits) =/= 3.U
  private val inside = inData || inSmall
  private val fault  = RegNext(request.fire && !inside, false.B)
  l1.io.req.valid         := request.valid && inside
  l1.io.req.bits          := request.bits
  request.ready           := !inside || l1.io.req.ready
  io.dmem.resp.valid      := fault || l1.io.resp.valid
  io.dmem.resp.bits.err   := fault
  io.dmem.resp.bits.rdata := l1.io.resp.bits

  // ---- Caches ---------------------------------------------------------------------------------------------------------------
  l2.io.l1 <> l1.io.lower
  l1.io.snoop <> l2.io.snoop
  l2.io.stage <> stager.io.write
  dram.io.read <> l2.io.read
  dram.io.write <> l2.io.write
  dram.io.data(0) <> stager.io.data
  dram.io.data(1) <> l2.io.evict
  dram.io.probe := l2.io.probe
  l2.io.writing := dram.io.writing
  l2.io.beat    := dram.io.beat
  dram.io.base  := tileBase
  io.dram.get <> dram.io.dram

  // ---- Drain ----------------------------------------------------------------------------------------------------------------
  lines.io.partition := io.partition
  lines.io.read <> io.drain
  lines.io.forget       := io.between
  lines.io.beat         := l2.io.drainBeat
  l2.io.drainLine.valid := lines.io.line.valid
  // The output rings are the third part of the region.
  l2.io.drainLine.bits := Cat(2.U(2.W), lines.io.line.bits)
  lines.io.line.ready  := l2.io.drainLine.ready

  // ---- Start: what has come before is in DRAM, then the caches are emptied ------------------------------------------------------
  private val settled = RegInit(false.B)
  when(!io.start) {
    settled := false.B
  }.elsewhen(stager.io.idle && dram.io.writesIdle && !io.draining) {
    settled := true.B
  }
  private val flush = io.start && settled
  l1.io.flush := flush
  l2.io.flush := flush

  // ---- Prefetcher -----------------------------------------------------------------------------------------------------------
  private val prefetcherFlushed = if (p.soc.arch.prefetcher) {
    val prefetcher = Module(new Dcpt(lineBits))
    prefetcher.io.train.valid     := l1.io.miss.valid
    prefetcher.io.train.bits.pc   := io.pc
    prefetcher.io.train.bits.line := l1.io.miss.bits
    prefetcher.io.flush           := flush
    l2.io.prefetch <> prefetcher.io.line
    prefetcher.io.flushed
  } else {
    l2.io.prefetch.valid := false.B
    l2.io.prefetch.bits  := 0.U
    true.B
  }
  io.ready := l1.io.flushed && l2.io.flushed && prefetcherFlushed

  io.busy              := !l1.io.idle || !l2.io.idle || !dram.io.idle || !stager.io.idle
  io.counts.waitMem    := l1.io.waiting
  io.counts.l1Miss     := l1.io.miss.valid
  io.counts.l2Miss     := l2.io.missed
  io.counts.prefetched := l2.io.prefetched
}
