// SPDX-License-Identifier: BSD-3-Clause
package assasin.cache

import chisel3._
import chisel3.util.{Cat, Decoupled, Enum, OHToUInt, PriorityEncoder, Queue, RegEnable, Valid, is, log2Ceil, switch}

/** Ports of [[L2Cache]]. */
class L2CacheIO(p: CacheParams) extends Bundle {

  /** From the L1 cache, and to it. */
  val l1    = Flipped(new LinePortIO(p.lineBits))
  val snoop = new SnoopIO(p.lineBits)

  /** Writes of lines from outside, passed on to DRAM. */
  val stage = Flipped(Decoupled(new LineWrite(p.lineBits)))

  /** A line for the drain, and its beats. */
  val drainLine = Flipped(Decoupled(UInt(p.lineBits.W)))
  val drainBeat = Valid(UInt(64.W))

  /** A line that may be of use. */
  val prefetch = Flipped(Decoupled(UInt(p.lineBits.W)))

  /** DRAM, see [[LineDramIO]]. */
  val read    = Decoupled(UInt(p.lineBits.W))
  val beat    = Flipped(Valid(UInt(64.W)))
  val write   = Decoupled(new LineWrite(p.lineBits))
  val evict   = Decoupled(UInt(64.W))
  val probe   = Output(UInt(p.lineBits.W))
  val writing = Input(Bool())

  /** Drop everything as soon as nothing is under way. Held until `flushed`, which stays until `flush` falls. */
  val flush   = Input(Bool())
  val flushed = Output(Bool())

  /** Pulses: a read of L1 goes on to DRAM; a prefetch does. */
  val missed     = Output(Bool())
  val prefetched = Output(Bool())
  val idle       = Output(Bool())
}

/** Second-level cache of a tile: write back, write allocate, tree pseudo-LRU; holds lines independently of the L1 cache
  * above it. It is also where the tile's accesses to DRAM are put in order, one operation after the other:
  *
  *   - lines that have come from DRAM; they are kept unless a write has overtaken them;
  *   - reads and victims of the L1 cache;
  *   - writes from outside (stage): the line leaves both caches, and reads of it wait until DRAM has answered;
  *   - reads of the drain: from the L1 cache if it holds the line, else from here, else from DRAM;
  *   - prefetches.
  *
  * An operation that would have to wait for an earlier access to DRAM is begun again later, except that lines are put
  * out while the operation that needs their place waits.
  *
  * @param reads
  *   reads of DRAM under way at most
  */
class L2Cache(p: CacheParams, reads: Int) extends Module {
  private val ways = p.ways
  require(ways % 8 == 0 && p.tagBits <= 6, s"$p: a word of the tag memory holds eight ways of 8 bits")
  private val readBits = log2Ceil(reads)
  require((1 << readBits) == reads && reads >= 4, s"reads = $reads: choose a power of two of at least 4")

  val io = IO(new L2CacheIO(p))

  // ---- Memories -------------------------------------------------------------------------------------------------------------
  private class Way extends Bundle {
    val valid = Bool()
    val dirty = Bool()
    val tag   = UInt(6.W)
  }
  private val tags = Seq.fill(ways / 8)(SyncReadMem(p.sets, UInt(64.W)))
  private val lrus = SyncReadMem(p.sets, UInt((ways - 1).W))
  private val data = SyncReadMem(p.sets * ways * 8, UInt(64.W))

  // ---- The operation in hand ------------------------------------------------------------------------------------------------
  private val oInstall :: oFetch :: oVictim :: oStage :: oDrain :: oPrefetch :: Nil = Enum(6)
  private val sIdle :: sSnoop :: sAnswer :: sSnooped :: sLook :: sAct :: sRead :: sPutOut :: sWrite :: sFlush :: Nil =
    Enum(10)

  private val state = RegInit(sIdle)
  private val op    = Reg(UInt(3.W))
  private val line  = Reg(UInt(p.lineBits.W))
  private val set   = line(p.setBits - 1, 0)
  private val tag   = (line >> p.setBits).pad(6)
  private val entry = Reg(Vec(ways, new Way))
  private val lru   = Reg(UInt((ways - 1).W))
  private val hit   = Reg(Bool())
  private val way   = Reg(UInt(p.wayBits.W)) // the hit, else the one to replace
  private val old   = Reg(new Way)           // what is in `way`
  private val beat  = RegInit(0.U(3.W))

  // ---- Reads of DRAM under way, in order --------------------------------------------------------------------------------------
  private val forProgram :: forPrefetch :: forDrain :: Nil = Enum(3)
  private class Reading extends Bundle {
    val line = UInt(p.lineBits.W)
    val use  = UInt(2.W)

    /** A write has overtaken it: may not be kept. */
    val stale = Bool()
  }
  private val ring     = Reg(Vec(reads, new Reading))
  private val under    = RegInit(VecInit.fill(reads)(false.B))
  private val come     = RegInit(VecInit.fill(reads)(false.B)) // all of it
  private val newest   = RegInit(0.U(readBits.W))
  private val arriving = RegInit(0.U(readBits.W))
  private val oldest   = RegInit(0.U(readBits.W))
  private val inBeat   = RegInit(0.U(3.W))
  private val lines    = Mem(reads * 8, UInt(64.W))

  /** Which reads under way are of line `l`. */
  private def of(l: UInt): Seq[Bool] = ring.zip(under).map { case (r, u) => u && r.line === l }
  private val same = VecInit(of(line).zip(ring).map { case (m, r) => m && !r.stale && r.use =/= forDrain }).asUInt
  private val room = !under(newest)
  // A prefetch leaves two places.
  private val roomToSpare = room && !under(newest + 1.U) && !under(newest + 2.U)

  private val came = ring(arriving)
  when(io.beat.valid) {
    lines(arriving ## inBeat) := io.beat.bits
    inBeat                    := inBeat + 1.U
    when(inBeat === 7.U) {
      come(arriving) := true.B
      arriving       := arriving + 1.U
    }
  }
  private val unwanted   = ring(oldest).stale || ring(oldest).use === forDrain
  private val installing = op === oInstall && state =/= sIdle
  private val release    = WireDefault(come(oldest) && unwanted && !installing)
  when(release) {
    under(oldest) := false.B
    come(oldest)  := false.B
    oldest        := oldest + 1.U
  }
  private def ask(use: UInt): Unit = {
    ring(newest).line  := line
    ring(newest).use   := use
    ring(newest).stale := false.B
    under(newest)      := true.B
    newest             := newest + 1.U
    io.read.valid      := true.B
  }

  // ---- Words that are read: memory, register, destination ---------------------------------------------------------------------
  private val toL1 :: toDrain :: toEvict :: Nil = Enum(3)
  private val reading                           = state === sRead || state === sPutOut
  private val target                            = Mux(state === sPutOut, toEvict, Mux(op === oDrain, toDrain, toL1))
  private val memoryValid                       = RegNext(reading, false.B)
  private val memoryTarget                      = RegNext(target)
  private val wordValid                         = RegNext(memoryValid, false.B)
  private val wordTarget                        = RegNext(memoryTarget)
  private val word                              = RegEnable(data.read(Cat(set, way, beat), reading), memoryValid)

  private val evicted = Module(new Queue(UInt(64.W), 8))
  evicted.io.enq.valid := wordValid && wordTarget === toEvict
  evicted.io.enq.bits  := word
  io.evict <> evicted.io.deq

  private val l1Word = wordValid && wordTarget === toL1
  io.l1.fill.valid     := l1Word || io.beat.valid && came.use === forProgram
  io.l1.fill.bits.data := Mux(l1Word, word, io.beat.bits)
  io.l1.fill.bits.keep := l1Word || !came.stale

  private val drainWord = wordValid && wordTarget === toDrain
  io.drainBeat.valid := drainWord || io.snoop.data.valid || io.beat.valid && came.use === forDrain
  io.drainBeat.bits  := Mux(drainWord, word, Mux(io.snoop.data.valid, io.snoop.data.bits, io.beat.bits))

  // ---- A victim of L1 on its way in -------------------------------------------------------------------------------------------
  private val victim = Module(new Queue(UInt(64.W), 8))
  victim.io.enq.valid := io.l1.wdata.valid
  victim.io.enq.bits  := io.l1.wdata.bits
  victim.io.deq.ready := state === sWrite && op === oVictim

  // ---- Choice ---------------------------------------------------------------------------------------------------------------
  private val install = come(oldest) && !unwanted
  private val choice = PriorityEncoder(
    Seq(
      install,
      io.l1.req.valid && !io.l1.req.bits.write,
      io.l1.req.valid,
      io.stage.valid,
      io.drainLine.valid,
      io.prefetch.valid && roomToSpare && io.read.ready
    )
  )
  private val any = install || io.l1.req.valid || io.stage.valid || io.drainLine.valid ||
    io.prefetch.valid && roomToSpare && io.read.ready
  private val chosen = VecInit(
    ring(oldest).line,
    io.l1.req.bits.line,
    io.l1.req.bits.line,
    io.stage.bits.line,
    io.drainLine.bits,
    io.prefetch.bits
  )(choice)

  private val walk    = RegInit(0.U(p.setBits.W))
  private val flushed = RegInit(false.B)
  io.flushed := flushed && io.flush
  when(!io.flush) { flushed := false.B }

  // ---- Tags -----------------------------------------------------------------------------------------------------------------
  private val idle   = state === sIdle
  private val lookAt = Mux(idle, chosen, line)(p.setBits - 1, 0)
  private val look   = idle || state === sAnswer
  private val out    = VecInit(tags.flatMap(t => t.read(lookAt, look).asTypeOf(Vec(8, new Way))))
  private val lruOut = lrus.read(lookAt, look)
  private val hits   = VecInit(out.map(w => w.valid && w.tag === tag)).asUInt
  private val free   = VecInit(out.map(!_.valid)).asUInt
  private val wayNext =
    Mux(hits.orR, OHToUInt(hits), Mux(free.orR, PriorityEncoder(free), PseudoLru.victim(lruOut, ways)))
  private val setTags  = WireDefault(false.B)
  private val setLru   = WireDefault(false.B)
  private val newWay   = Wire(new Way)
  private val tagsNext = WireDefault(entry)
  newWay.valid  := op =/= oStage
  newWay.dirty  := op === oVictim
  newWay.tag    := tag
  tagsNext(way) := newWay

  private val flushing = state === sFlush
  private val tagRow   = Mux(flushing, walk, set)
  when(setTags || flushing) {
    tags.zipWithIndex.foreach { case (t, i) =>
      t.write(tagRow, Mux(flushing, 0.U, VecInit(tagsNext.slice(8 * i, 8 * i + 8)).asUInt))
    }
  }
  when(setLru || flushing) { lrus.write(tagRow, Mux(flushing, 0.U, PseudoLru.touch(lru, way, ways))) }

  // ---- Defaults -------------------------------------------------------------------------------------------------------------
  private val oldLine = Cat(old.tag(p.tagBits - 1, 0), set)
  io.l1.req.ready        := false.B
  io.stage.ready         := false.B
  io.drainLine.ready     := false.B
  io.prefetch.ready      := false.B
  io.snoop.req.valid     := state === sSnoop
  io.snoop.req.bits.line := line
  io.snoop.req.bits.drop := op === oStage
  io.read.valid          := false.B
  io.read.bits           := line
  io.write.valid         := false.B
  io.write.bits          := io.stage.bits
  io.probe               := line
  io.missed              := false.B
  io.prefetched          := false.B
  io.idle                := idle && !under.reduce(_ || _) && !wordValid && !memoryValid

  /** The line takes its place: the memory's row, and, when that is dirty, first what is there now. */
  private def place(): Unit = {
    when(!hit && old.valid && old.dirty) {
      when(evicted.io.count === 0.U) {
        io.write.valid          := true.B
        io.write.bits.line      := oldLine
        io.write.bits.first     := 0.U
        io.write.bits.len       := 7.U
        io.write.bits.lastBytes := 8.U
        io.write.bits.source    := LineSource.Evict
        io.write.bits.mark      := false.B
        when(io.write.ready) {
          of(oldLine).zip(ring).foreach { case (m, r) => when(m) { r.stale := true.B } }
          setTags := true.B
          setLru  := true.B
          state   := sPutOut
        }
      }
    }.otherwise {
      setTags := true.B
      setLru  := true.B
      state   := sWrite
    }
  }

  // ---- Steps ----------------------------------------------------------------------------------------------------------------
  switch(state) {
    is(sIdle) {
      beat := 0.U
      walk := 0.U
      op   := choice
      line := chosen
      when(any) {
        state           := Mux(choice === oStage || choice === oDrain, sSnoop, sLook)
        io.l1.req.ready := choice === oVictim
      }.elsewhen(io.flush && !flushed && !under.reduce(_ || _)) {
        state := sFlush
      }
    }
    is(sSnoop) { when(io.snoop.req.ready) { state := sAnswer } }
    is(sAnswer) {
      when(io.snoop.done.valid) {
        when(op === oDrain && io.snoop.done.bits) {
          io.drainLine.ready := true.B
          state              := sSnooped
        }.otherwise {
          state := sLook
        }
      }
    }
    is(sSnooped) {
      when(io.snoop.data.valid) {
        beat := beat + 1.U
        when(beat === 7.U) { state := sIdle }
      }
    }
    is(sLook) {
      entry := out
      lru   := lruOut
      hit   := hits.orR
      way   := wayNext
      old   := out(wayNext)
      state := sAct
    }
    is(sAct) {
      state := sIdle
      switch(op) {
        is(oFetch) {
          when(hit) {
            io.l1.req.ready := true.B
            setLru          := true.B
            state           := sRead
          }.elsewhen(same.orR) {
            // A prefetch under way becomes the read, if none of it has passed; else it will be a hit.
            for ((r, i) <- ring.zipWithIndex) {
              val begun = come(i) || arriving === i.U && (inBeat =/= 0.U || io.beat.valid)
              when(same(i) && r.use === forPrefetch && !begun) {
                r.use           := forProgram
                io.l1.req.ready := true.B
              }
            }
          }.elsewhen(!io.writing && room && io.read.ready) {
            ask(forProgram)
            io.l1.req.ready := true.B
            io.missed       := true.B
          }
        }
        is(oVictim) {
          state := sAct
          place()
        }
        is(oInstall) {
          when(hit) {
            release := true.B
          }.otherwise {
            state := sAct
            place()
          }
        }
        is(oStage) {
          io.write.valid := true.B
          when(io.write.ready) {
            io.stage.ready := true.B
            setTags        := hit
            of(line).zip(ring).foreach { case (m, r) => when(m) { r.stale := true.B } }
          }.otherwise {
            state := sAct
          }
        }
        is(oDrain) {
          when(hit) {
            io.drainLine.ready := true.B
            state              := sRead
          }.elsewhen(!io.writing && room && io.read.ready) {
            ask(forDrain)
            io.drainLine.ready := true.B
          }
        }
        is(oPrefetch) {
          io.prefetch.ready := true.B
          when(!hit && !same.orR && !io.writing) {
            ask(forPrefetch)
            io.prefetched := true.B
          }
        }
      }
    }
    is(sRead) {
      beat := beat + 1.U
      when(beat === 7.U) { state := sIdle }
    }
    is(sPutOut) {
      beat := beat + 1.U
      when(beat === 7.U) { state := sWrite }
    }
    is(sWrite) {
      when(op === oInstall || victim.io.deq.valid) {
        beat := beat + 1.U
        data.write(Cat(set, way, beat), Mux(op === oInstall, lines(oldest ## beat), victim.io.deq.bits))
        when(beat === 7.U) {
          state   := sIdle
          release := op === oInstall
        }
      }
    }
    is(sFlush) {
      walk := walk + 1.U
      when(walk.andR) {
        flushed := true.B
        state   := sIdle
      }
    }
  }
}
