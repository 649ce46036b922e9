// SPDX-License-Identifier: BSD-3-Clause
package assasin.cache

import chisel3._
import chisel3.util.{Cat, Decoupled, Enum, Mux1H, OHToUInt, PriorityEncoder, UIntToOH, Valid, is, log2Ceil, switch}

import assasin.core.DmemReq

/** Ports of [[L1Cache]]. */
class L1CacheIO(p: CacheParams) extends Bundle {

  /** The core's access; `addr` is an offset in the region. At most one is under way, but the next one may come in the
    * cycle of the answer.
    */
  val req = Flipped(Decoupled(new DmemReq))

  /** The aligned word; for stores an answer without meaning. */
  val resp = Valid(UInt(32.W))

  val lower = new LinePortIO(p.lineBits)
  val snoop = Flipped(new SnoopIO(p.lineBits))

  /** Drop everything as soon as nothing is under way. Held until `flushed`, which stays until `flush` falls. */
  val flush   = Input(Bool())
  val flushed = Output(Bool())

  /** An access waits for its line, or for a line that still comes in. */
  val waiting = Output(Bool())

  /** The number of a line that is missed, once a miss, in the cycle after it was found out. */
  val miss = Valid(UInt(p.lineBits.W))
  val idle = Output(Bool())
}

/** First-level data cache: write back, write allocate, tree pseudo-LRU. A hit is answered in the next cycle, one access
  * a cycle. A miss puts the victim out, asks for the line, and is answered when its word is there; the next access
  * waits until the line is complete.
  */
class L1Cache(p: CacheParams) extends Module {
  private val ways = p.ways

  val io = IO(new L1CacheIO(p))

  private val sRun :: sEvict :: sEvictData :: sAsk :: sFill :: sInstall :: sFlush :: Nil = Enum(7)

  private val state = RegInit(sRun)

  // ---- Memories -------------------------------------------------------------------------------------------------------------
  // A row of 8 bytes of every way at a time; tags of a set in one row.
  private val data = Seq.fill(ways)(SyncReadMem(p.sets * 8, UInt(64.W)))
  private val tags = SyncReadMem(p.sets, Vec(ways, UInt(p.tagBits.W)))

  /** What changes with a hit is looked up in its cycle (LUT RAM). */
  private class Meta extends Bundle {
    val valid = UInt(ways.W)
    val dirty = UInt(ways.W)
    val lru   = UInt((ways - 1).W)
  }
  private val metas = Mem(p.sets, new Meta)

  // ---- The access in MEM ----------------------------------------------------------------------------------------------------
  private val req    = Reg(new DmemReq)
  private val lookup = RegInit(false.B) // the tags of `req` have been read in the cycle before
  private val set    = req.addr(5 + p.setBits, 6)
  private val tag    = req.addr(p.regionBits - 1, 6 + p.setBits)
  private val line   = req.addr(p.regionBits - 1, 6)
  private val meta   = metas(set)

  private val snooping  = RegInit(false.B)
  private val snoopLook = RegInit(false.B) // the tags of the snooped line have been read in the cycle before
  private val snoopReq  = Reg(new SnoopReq(p.lineBits))

  private val rowTags = Wire(Vec(ways, UInt(p.tagBits.W)))
  private val rows    = Wire(Vec(ways, UInt(64.W)))
  private val hits    = VecInit(rowTags.map(_ === tag)).asUInt & meta.valid
  private val hit     = hits.orR

  // The word of a store in the cycle before is not in the memory yet.
  private val lastStore = RegInit(false.B)
  private val lastRow   = Reg(UInt((p.regionBits - 3).W))
  private val lastData  = Reg(UInt(64.W))

  private def merge(old: UInt): UInt = {
    val mask  = Mux(req.addr(2), Cat(req.mask, 0.U(4.W)), req.mask.pad(8))
    val bytes = (0 until 8).map(i => Mux(mask(i), req.wdata(8 * (i % 4) + 7, 8 * (i % 4)), old(8 * i + 7, 8 * i)))
    Mux(req.write, Cat(bytes.reverse), old)
  }
  private def half(word: UInt): UInt = Mux(req.addr(2), word(63, 32), word(31, 0))

  private val word =
    Mux(lastStore && lastRow === req.addr(p.regionBits - 1, 3), lastData, Mux1H(hits, rows))
  private val merged = merge(word)

  // ---- Miss -----------------------------------------------------------------------------------------------------------------
  private val way       = Reg(UInt(p.wayBits.W))
  private val victimTag = Reg(UInt(p.tagBits.W))
  private val beat      = RegInit(0.U(3.W))
  private val noInstall = Reg(Bool())
  private val answered  = Reg(Bool())      // the answer of a miss
  private val answer    = Reg(UInt(32.W))
  private val sending   = RegInit(false.B) // a row of the victim comes out
  private val missed    = lookup && !hit && state === sRun

  private val free     = ~meta.valid
  private val victim   = Mux(free.orR, PriorityEncoder(free), PseudoLru.victim(meta.lru, ways))
  private val fillData = merge(io.lower.fill.bits.data)
  private val isWord   = beat === req.addr(5, 3)

  answered  := false.B
  lastStore := false.B
  sending   := false.B

  io.req.ready            := (state === sRun) && !snooping && !io.snoop.req.valid
  io.resp.valid           := state === sRun && lookup && hit || answered
  io.resp.bits            := Mux(answered, answer, half(word))
  io.lower.req.valid      := state === sEvict && (meta.dirty >> way)(0) || state === sAsk
  io.lower.req.bits.line  := Mux(state === sEvict, Cat(victimTag, set), line)
  io.lower.req.bits.write := state === sEvict
  io.lower.wdata.valid    := sending
  io.lower.wdata.bits := (rows: Seq[UInt]).zipWithIndex.map { case (r, i) => Mux(way === i.U, r, 0.U) }.reduce(_ | _)
  io.miss.valid       := RegNext(missed, false.B)
  io.miss.bits        := line
  // From the first cycle without the answer on.
  io.waiting := state =/= sRun && state =/= sFlush && (lookup || io.req.valid) || missed
  io.idle    := state === sRun && !(lookup && !hit) && !snooping

  private val metaWrite = WireDefault(false.B)
  private val metaSet   = WireDefault(set)
  private val metaNext  = WireDefault(meta)
  private val wayOh     = UIntToOH(way, ways)

  private val flushed = RegInit(false.B)
  private val walk    = RegInit(0.U(p.setBits.W))
  io.flushed := flushed && io.flush
  when(!io.flush) { flushed := false.B }

  switch(state) {
    is(sRun) {
      when(lookup && hit) {
        lookup         := false.B
        metaWrite      := true.B
        metaNext.lru   := PseudoLru.touch(meta.lru, OHToUInt(hits), ways)
        metaNext.dirty := meta.dirty | Mux(req.write, hits, 0.U)
        when(req.write) {
          lastStore := true.B
          lastRow   := req.addr(p.regionBits - 1, 3)
          lastData  := merged
        }
      }.elsewhen(lookup) {
        way       := victim
        victimTag := rowTags(victim)
        state     := Mux((meta.valid & meta.dirty & UIntToOH(victim, ways)).orR, sEvict, sAsk)
      }.elsewhen(io.flush && !flushed && !snooping) {
        state := sFlush
        walk  := 0.U
      }
    }
    is(sEvict) {
      // A snoop may have dropped it by now.
      when(io.lower.req.fire) {
        state := sEvictData
        beat  := 0.U
      }.elsewhen(!(meta.dirty & wayOh).orR) {
        state := sAsk
      }
    }
    is(sEvictData) {
      beat    := beat + 1.U
      sending := true.B
      when(beat === 7.U) {
        metaWrite      := true.B
        metaNext.valid := meta.valid & ~wayOh
        metaNext.dirty := meta.dirty & ~wayOh
        state          := sAsk
      }
    }
    is(sAsk) {
      beat      := 0.U
      noInstall := false.B
      when(io.lower.req.fire) {
        // A clean victim stays until here.
        metaWrite      := true.B
        metaNext.valid := meta.valid & ~wayOh
        state          := sFill
      }
    }
    is(sFill) {
      when(io.lower.fill.valid) {
        beat := beat + 1.U
        when(isWord) {
          answered := true.B
          answer   := half(fillData)
          lookup   := false.B
        }
        when(beat === 7.U) {
          state := sInstall
          when(!io.lower.fill.bits.keep) { noInstall := true.B }
        }
      }
    }
    is(sInstall) {
      when(!snoopLook) {
        metaWrite      := true.B
        metaNext.valid := Mux(noInstall, meta.valid & ~wayOh, meta.valid | wayOh)
        metaNext.dirty := Mux(noInstall || !req.write, meta.dirty & ~wayOh, meta.dirty | wayOh)
        metaNext.lru   := PseudoLru.touch(meta.lru, way, ways)
        state          := sRun
      }
    }
    is(sFlush) {
      walk           := walk + 1.U
      metaWrite      := true.B
      metaSet        := walk
      metaNext.valid := 0.U
      metaNext.dirty := 0.U
      metaNext.lru   := 0.U
      when(walk.andR) {
        state   := sRun
        flushed := true.B
      }
    }
  }
  when(io.req.fire) {
    req    := io.req.bits
    lookup := true.B
  }

  // ---- Snoops: in every state but those that use the read ports, write tags or wipe ---------------------------------------------
  // The tags' memory does not say what a row reads in the cycle that writes it.
  private val snoopSet   = snoopReq.line(p.setBits - 1, 0)
  private val snoopMeta  = metas(snoopSet)
  private val snoopHits  = VecInit(rowTags.map(_ === snoopReq.line >> p.setBits)).asUInt & snoopMeta.valid
  private val snoopWay   = Reg(UInt(p.wayBits.W))
  private val snoopRead  = RegInit(false.B)
  private val snoopBeat  = RegInit(0.U(3.W))
  private val snoopComes = RegNext(snoopRead, false.B)

  io.snoop.req.ready := !snooping && !missed && state =/= sEvictData && !sending && state =/= sInstall && state =/= sFlush
  when(io.snoop.req.fire) {
    snooping  := true.B
    snoopLook := true.B
    snoopReq  := io.snoop.req.bits
  }
  when(snoopLook) {
    snoopLook := false.B
    snoopWay  := OHToUInt(snoopHits)
    snoopRead := snoopHits.orR && !snoopReq.drop
    snoopBeat := 0.U
    when(snoopReq.drop || !snoopHits.orR) { snooping := false.B }
    when(snoopReq.drop) {
      metaWrite      := true.B
      metaSet        := snoopSet
      metaNext.valid := snoopMeta.valid & ~snoopHits
      metaNext.dirty := snoopMeta.dirty & ~snoopHits
      metaNext.lru   := snoopMeta.lru
      when(snoopReq.line === line && (state === sFill || state === sInstall)) { noInstall := true.B }
    }
  }
  when(snoopRead) {
    snoopBeat := snoopBeat + 1.U
    when(snoopBeat === 7.U) {
      snoopRead := false.B
      snooping  := false.B
    }
  }
  io.snoop.done.valid := snoopLook
  io.snoop.done.bits  := snoopHits.orR
  io.snoop.data.valid := snoopComes
  io.snoop.data.bits := (rows: Seq[UInt]).zipWithIndex
    .map { case (r, i) => Mux(snoopWay === i.U, r, 0.U) }
    .reduce(_ | _)

  // ---- Memory ports ---------------------------------------------------------------------------------------------------------
  private val evicting = state === sEvictData
  private val readRow = Mux(
    snoopRead,
    Cat(snoopSet, snoopBeat),
    Mux(evicting, Cat(set, beat), io.req.bits.addr(5 + p.setBits, 3))
  )
  private val readSet =
    Mux(io.snoop.req.fire, io.snoop.req.bits.line(p.setBits - 1, 0), io.req.bits.addr(5 + p.setBits, 6))
  private val readData = io.req.fire || snoopRead || evicting
  private val filling  = state === sFill && io.lower.fill.valid
  private val storing  = state === sRun && lookup && hit && req.write
  private val writeRow = Cat(set, Mux(filling, beat, req.addr(5, 3)))
  private val writeOh  = Mux(filling, wayOh, Mux(storing, hits, 0.U))
  private val written  = Mux(filling, Mux(isWord, fillData, io.lower.fill.bits.data), merged)
  for (i <- 0 until ways) {
    rows(i) := data(i).read(readRow, readData)
    when(writeOh(i)) { data(i).write(writeRow, written) }
  }
  rowTags := tags.read(readSet, io.req.fire || io.snoop.req.fire)
  when(state === sInstall) { tags.write(set, VecInit.fill(ways)(tag), wayOh.asBools) }
  when(metaWrite) { metas(metaSet) := metaNext }

  require(log2Ceil(ways) == p.wayBits)
}
