// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, Mux1H, MuxLookup, PopCount, is, log2Ceil, switch}

/** Stream instructions in the commit stage (docs/varve/isa.md 3.3 and 4.5, docs/varve/unit.md 5.3).
  *
  * One passes at once if all elements that it may touch are there, or have room. That is found a cycle ahead, and again
  * in every cycle until it is so. Near the end of a stream, of its room or of memory it looks at one element after the
  * other, or counts the bits of a pack's mask, and then decides exactly.
  */
class StreamGate(p: VectorParams) extends Module {
  val io = IO(new StreamGateIO(p))

  private val posBits  = p.xLen + 3
  private val bitsBits = p.vlBits + 6

  private val check   = Module(new StreamCheck(p))
  private val known   = check.io.known
  private val found   = check.io.found
  private val k       = found.word
  private val readers = Module(new StreamReaders(p))
  private val outcome = Module(new StreamOutcome(p))

  // VRCNUM looks at one stream of its set after the other.
  private val renewal  = if (p.full) Some(Module(new StripRenewal(p))) else None
  private val recounts = renewal.fold(false.B)(_.io.turn.valid)
  private val turn     = renewal.fold(0.U(4.W))(_.io.turn.bits)

  // ---- Decision ---------------------------------------------------------------------------------------------------------------
  private object State extends ChiselEnum {
    // Looks at all elements at once; at one element; at one byte; counts a mask's bits; decides on the counted elements;
    // has decided. VRCNUM chooses the next stream of its set; looks it up. Of streams with widths: StreamScan looks at
    // the elements; looks up where the widths of a declared stream begin; looks whether there is room for all widths; reads
    // an element's bit of the mask, reads the element, adds its width; decides on the counted elements' widths. Takes a
    // register of VarVE-full before. Of
    // Huffman streams: HuffmanScan decodes the elements; the table is loaded.
    val Fast, Element, Byte, Count, Counted, Decided, Choose, Load, Scan, Aux, Room, Mask, Take, Read, Add, CountedAux,
        Decode, Table = Value
  }
  private val state = RegInit(State.Fast)
  private val fast  = state === State.Fast

  private val format =
    Mux(k.declare, io.commit.at.varve.get.format(13, 0).asTypeOf(new StreamFormat), found.common.format)
  private val buffer  = format.buffer
  private val output  = k.output
  private val looks   = k.unpack || k.consume
  private val byMask  = k.unpack && k.full && k.masked
  private val moves   = looks && !(k.unpack && k.full)
  private val flushes = k.endOutput && found.common.bitpos =/= 0.U

  // Values have their own widths. Where those of a declared stream begin in a stream buffer.
  private val kind     = Mux(k.declare, k.kind, found.common.kind)
  private val variable = kind === StreamKind.Variable.U
  private val auxHead  = Reg(UInt(32.W))

  // Values have Huffman codes.
  private val huffman = kind === StreamKind.Huffman.U
  private val ownBits = variable || huffman
  private val bank    = RegInit(false.B)

  // Of a pack of such values: there may be too little room for their widths; bits of the counted elements; the number of
  // the next one, itself, and whether all have been counted.
  private val packsOwn = k.pack && ownBits
  private val short    = RegInit(false.B)
  private val tallied  = Reg(UInt(bitsBits.W))
  private val index    = Reg(UInt(p.vlBits.W))
  private val widest   = if (p.full) 64 else p.eLen
  private val element  = Reg(UInt(widest.W))
  private val exact    = Reg(Bool())

  // Element after element: what has been seen of them, and how many to look at; a pack's, how many there are.
  private val seen     = Reg(new StreamScanResult(p))
  private val position = seen.position
  private val limit    = Reg(UInt(p.vlBits.W))
  private val counted  = Reg(UInt(p.vlBits.W))
  private val group    = Reg(UInt((p.egBits + 1).W))

  private val elementEnd                = position +& found.common.format.valueBits
  private def bitsTo(limit: UInt): SInt = (Cat(limit, 0.U(3.W)) - position(34, 0)).asSInt
  private val restToEnd                 = bitsTo(io.input.end)
  private val more                      = found.left =/= seen.passed || found.left.andR
  private val elementWidth              = found.common.format.valueBits
  private val cut                       = buffer && io.input.known && ShortNumbers.isBelow(restToEnd, elementWidth)
  private val padding = !ShortNumbers.isPositive(restToEnd) || (found.left.andR && ShortNumbers.isBelow(restToEnd, 8.U))
  private val notYet  = buffer && !cut && ShortNumbers.isBelow(bitsTo(io.input.tail), elementWidth)

  private val countedBits = Mux(ownBits, tallied, (counted * found.common.format.valueBits)(bitsBits - 1, 0))
  private val countedEnd  = found.start +& countedBits
  private val countedFits = {
    val bytes = io.output.tail - found.start(34, 3)
    !bytes(31) && !ShortNumbers.isBelow(Cat(bytes, 0.U(3.W)), countedBits +& found.start(2, 0))
  }

  // Room for widths.
  private val auxCount = Mux(state === State.Room, found.count, counted)
  private val auxFits = {
    val bytes = io.output.tail - found.aux(31, 0)
    !bytes(31) && !ShortNumbers.isBelow(bytes, auxCount)
  }

  // An element's own width.
  private val logMost = StreamOp.logMost(k.full, format.mb, io.commit.at.config.vsew)
  private val elementBits = {
    val logs = 0 to log2Ceil(widest / 8)
    val cut = MuxLookup(logMost, element)(logs.init.map { log =>
      val low = element((8 << log) - 1, 0)
      log.U -> Cat(Fill(widest - (8 << log), !format.unsigned && low((8 << log) - 1)), low)
    })
    LaneWidths(cut, logs.last, format.unsigned).head
  }

  // Or its code's: looked for as the element is read.
  private val codes    = readers.io.codes
  private val codeBits = codes.look.length
  codes.look.set := found.common.table
  codes.look.symbol := {
    val read  = io.mask.element(HuffmanCode.widestValue - 1, 0)
    val byte  = Cat(Fill(8, read(7) && !format.unsigned), read(7, 0))
    val fixed = Mux(io.commit.at.config.vsew(1, 0) === 0.U, byte, read)
    io.strip.fold(fixed)(s => Mux(k.full, s.values.value(HuffmanCode.widestValue - 1, 0), fixed)) &
      ((1.U << format.valueBits(4, 0)) - 1.U)(HuffmanCode.widestValue - 1, 0)
  }

  private def byteOf(bit: UInt): UInt = (bit >> 3)(p.xLen - 1, 0)
  io.commit.check.valid := io.commit.held && io.commit.mine && known && found.legal && !buffer && (k.pack || k.unpack || flushes) &&
    state =/= State.Count && state =/= State.Decided && (found.count =/= 0.U || flushes)
  io.commit.check.write := output
  io.commit.check.first := Mux(
    flushes,
    found.common.bytepos,
    Mux1H(
      Seq(
        (fast || state === State.Counted)                  -> byteOf(found.start),
        (state === State.Element)                          -> byteOf(position),
        (state === State.Byte)                             -> seen.byte,
        (state === State.Count || state === State.Decided) -> 0.U
      )
    )
  )
  private val bitsEnd = Mux1H(
    Seq(
      fast                      -> found.end,
      (state === State.Element) -> elementEnd(posBits - 1, 0),
      (state === State.Counted) -> countedEnd(posBits - 1, 0)
    )
  )
  io.commit.check.last := Mux(
    flushes,
    found.common.bytepos,
    Mux1H(
      Seq(
        (fast || state === State.Element || state === State.Counted) -> byteOf(bitsEnd - 1.U),
        (state === State.Byte)                                       -> seen.byte,
        (state === State.Count || state === State.Decided)           -> 0.U
      )
    )
  )
  readers.io.check.ok    := io.commit.check.ok
  readers.io.check.hold  := io.commit.check.hold
  readers.io.check.cause := io.commit.check.cause
  private val reads = state === State.Scan || state === State.Decode || state === State.Table
  when(reads) {
    io.commit.check.valid := readers.io.check.valid
    io.commit.check.write := readers.io.check.write
    io.commit.check.first := readers.io.check.first
    io.commit.check.last  := readers.io.check.last
  }
  when(state === State.Room || state === State.CountedAux) {
    io.commit.check.first := found.aux
    io.commit.check.last  := found.aux + auxCount - 1.U
  }
  when(state === State.Mask || state === State.Take || state === State.Read || state === State.Add) {
    io.commit.check.valid := false.B
  }
  private val faults = !io.commit.check.ok && !io.commit.check.hold

  private val allThere =
    (!flushes && found.count === 0.U) || (!(looks && ownBits || k.pack && variable) && (output || found.enough) && Mux(
      buffer,
      found.fits,
      k.consume || io.commit.check.ok
    ))

  // Nothing of memory streams may pass vector loads and stores: a declaration sees all older stores, a pack no younger
  // access.
  private val inOrder = Mux(
    k.declare,
    buffer || output || !(io.stores || io.packing),
    !(k.pack || flushes) || buffer || !(io.loads || io.stores)
  )
  private val quiet   = !(k.declare || k.endInput || k.endOutput) || !found.busy
  private val writesX = k.endInput || k.endOutput
  private val answers = writesX || k.count
  // What moves IHEAD of a stream itself goes behind a VRCNUM that moved it.
  private val turns = moves && io.strip.fold(false.B)(_.table.moving)
  // What a VRCNUM that left early has not done yet: unpacks of VarVE-full, packs and further VRCNUMs need not wait for it.
  private val pending = io.strip.fold(false.B)(s => s.pending || RegNext(s.pending, false.B))
  private val alone   = pending && !(k.unpack && k.full || k.pack || k.count)
  private val free    = io.commit.room && inOrder && quiet && !turns && !alone && (!answers || io.resultReady)
  private val region  = looks || k.pack || flushes

  private val decided = state === State.Decided
  private val strip   = io.strip
  private val numE    = strip.fold(0.U(p.vlBits.W))(_.numE.pad(p.vlBits))
  private val early   = renewal.fold(false.B)(_.io.early)
  private val settles = renewal.fold(false.B)(_.io.settles)
  private val unasked = renewal.fold(false.B)(_.io.unasked)
  private val traps   = outcome.io.traps
  outcome.io.at      := io.commit.at
  outcome.io.found   := found
  outcome.io.decided := decided
  outcome.io.seen    := seen
  outcome.io.quiet   := quiet
  outcome.io.length  := strip.fold(0.U)(_.length)
  io.commit.mine     := StreamWord.is(io.commit.at.insn)
  io.commit.packing  := io.packing
  io.commit.done := io.commit.held && known && Mux(
    decided,
    (outcome.io.failed || free) && !recounts,
    fast && (traps || (free && (!region || allThere) && (!k.count || early || (settles && !unasked)) &&
      !(k.declare && (variable && buffer || huffman))))
  )

  check.io.offer  := io.offer
  check.io.at     := io.commit.at
  check.io.held   := io.commit.held
  check.io.done   := io.commit.done
  check.io.enters := io.commit.enters
  check.io.renew  := fast || state === State.Load
  check.io.pointers.valid := state === State.Aux || state === State.Room || state === State.CountedAux ||
    readers.io.aux
  check.io.pointers.bits := format.aux
  check.io.turn.valid    := recounts
  check.io.turn.bits     := turn
  check.io.variable      := strip.fold(0.U)(_.variable)
  check.io.packed        := strip.fold(false.B)(_.packed)
  check.io.open          := strip.fold(0.U)(_.table.open)
  check.io.sLog2         := io.sLog2
  check.io.ahead         := strip.fold(0.U)(_.ahead)
  check.io.moves         := renewal.fold(0.U)(_.io.moves)
  check.io.clear         := io.clear
  check.io.table <> io.table
  check.io.input <> io.input
  check.io.output <> io.output

  // What was found a cycle before no longer changes.
  private val still = io.commit.idle && RegNext(io.commit.idle, false.B)

  // How many elements a pack looks at; the mask's bits below it that lie in element group `group`.
  private val packs = strip.fold(io.commit.at.config.vl) { s =>
    Mux(k.full, Mux(s.yielded < s.numE, s.yielded, s.numE).pad(p.vlBits), io.commit.at.config.vl)
  }
  private val maskPart = {
    val below = LaneWidths.ones(packs, p.vLen)
    if (p.egsPerRegister == 1) below else (below >> (group * p.dLen.U))(p.dLen - 1, 0)
  }
  private val logD      = log2Ceil(p.dBytes)
  private val readsMask = state === State.Count || state === State.Mask
  private val maskGroup = Mux(state === State.Mask, (index >> log2Ceil(p.dLen)).asUInt, group)
  private val inGroup   = (index << io.commit.at.config.vsew(1, 0))(p.vlBits + 1, 0)
  io.mask.eg := Mux(
    readsMask,
    k.mask * p.egsPerRegister.U + maskGroup,
    k.register * p.egsPerRegister.U + (inGroup >> logD)
  )(p.egBits - 1, 0)
  io.mask.byte := inGroup(logD - 1, 0)

  when(io.commit.held && io.commit.mine && known && found.legal && !io.commit.done) {
    switch(state) {
      is(State.Fast) {
        seen.reason   := 1.U
        seen.passed   := 0.U
        seen.position := found.start
        seen.ended    := false.B
        seen.broken   := false.B
        seen.fault    := false.B
        seen.byte     := Mux(flushes, found.common.bytepos, byteOf(found.start))
        group         := 0.U
        counted       := 0.U
        limit         := found.count
        when(k.declare && variable && buffer && !traps && quiet)(state                    := State.Aux)
        when(k.declare && huffman && !traps && quiet && !(io.stores || io.packing))(state := State.Table)
        // The mask's length is known when nothing is under way. An element is looked at in any case.
        when(byMask)(
          limit := strip.fold(0.U(p.vlBits.W))(s => Mux(s.length === 0.U, 1.U, s.length.pad(p.vlBits)))
        )
        when(looks && !allThere && !traps && !pending && (!byMask || io.commit.idle)) {
          when(variable) {
            state := State.Scan
          }.elsewhen(huffman) {
            when(!io.huffman.full)(state := State.Decode)
          }.elsewhen(byMask || Mux(buffer, !found.enough || found.toEnd, !found.enough || faults)) {
            state := State.Element
          }
        }
        when(settles && unasked)(state := State.Choose)
        exact                          := false.B
        tallied                        := 0.U
        index                          := 0.U
        when(packsOwn && !allThere && !traps) {
          when(still && (short || Mux(buffer, !found.fits, faults))) {
            exact := true.B
            state := Mux(packs === 0.U, State.Counted, Mux(k.full, State.Take, Mux(k.masked, State.Mask, State.Read)))
          }.elsewhen(Mux(buffer, found.fits, io.commit.check.ok)) {
            short := false.B
            state := State.Room
          }
        }
        when(k.pack && !ownBits && !allThere && (k.masked || k.full) && still)(state := State.Count)
        when(k.pack && !ownBits && !allThere && !k.masked && !k.full && !buffer && faults && still && inOrder)(
          state := State.Byte
        )
        when(flushes && !buffer && faults && quiet && inOrder && !traps)(state := State.Byte)
      }
      is(State.Element) {
        when(seen.passed === limit || !more) {
          seen.ended := seen.passed =/= limit
          state      := State.Decided
        }.elsewhen(cut) {
          seen.ended  := padding
          seen.broken := !padding
          state       := State.Decided
        }.elsewhen(Mux(buffer, !notYet, k.consume || k.count || io.commit.check.ok)) {
          seen.passed   := seen.passed + 1.U
          seen.position := elementEnd(posBits - 1, 0)
        }.elsewhen(!buffer && faults) {
          seen.byte := byteOf(position)
          state     := State.Byte
          // The elements before are delivered first, so which byte it is matters for the first only.
          when(k.unpack && seen.passed =/= 0.U)(state := State.Decided)
        }
      }
      is(State.Byte) {
        when(io.commit.check.ok)(seen.byte := seen.byte + 1.U).elsewhen(faults) {
          seen.fault := true.B
          seen.cause := io.commit.check.cause
          state      := State.Decided
        }
      }
      is(State.Count) {
        when(io.granted) {
          counted := counted + PopCount(Mux(k.masked, io.mask.data, ((BigInt(1) << p.dLen) - 1).U) & maskPart)
          group   := group + 1.U
          when(group === (p.egsPerRegister - 1).U)(state := State.Counted)
        }
      }
      is(State.Counted) {
        when(counted === 0.U) {
          state := State.Decided
        }.elsewhen(countedBits === 0.U || Mux(buffer, countedFits, io.commit.check.ok)) {
          state := Mux(variable, State.CountedAux, State.Decided)
        }.elsewhen(!buffer && faults)(state := State.Byte)
      }
      is(State.Room) {
        when(Mux(buffer, auxFits, io.commit.check.ok))(state := State.Decided).elsewhen(buffer || faults) {
          short := true.B
          state := State.Fast
        }
      }
      is(State.Mask) {
        when(io.granted) {
          state := State.Read
          when(!io.mask.data(index(log2Ceil(p.dLen) - 1, 0))) {
            index := index + 1.U
            state := Mux(index + 1.U === packs, State.Counted, State.Mask)
          }
        }
      }
      is(State.Take)(when(io.granted)(state := Mux(k.masked, State.Mask, State.Read)))
      is(State.Read) {
        when(io.granted) {
          element := strip.fold(io.mask.element)(s => Mux(k.full, s.values.value, io.mask.element))
          index   := index + 1.U
          state   := State.Add
        }
      }
      is(State.Add) {
        tallied := tallied + Mux(huffman, codeBits, elementBits)
        counted := counted + 1.U
        state   := Mux(index === packs, State.Counted, Mux(k.masked, State.Mask, State.Read))
      }
      is(State.CountedAux) {
        when(Mux(buffer, auxFits, io.commit.check.ok))(state := State.Decided).elsewhen(!buffer && faults) {
          seen.byte := found.aux
          state     := State.Byte
        }
      }
      is(State.Scan, State.Decode, State.Table) {
        when(readers.io.done) {
          seen  := readers.io.result
          state := State.Decided
        }
      }
      is(State.Aux) {
        // Who ended a stream may still move its Head.
        auxHead                    := Mux(output, io.output.head, io.input.head)
        when(!io.table.busy)(state := State.Decided)
      }
      is(State.Choose) {
        state := Mux(renewal.fold(false.B)(_.io.more), State.Load, State.Decided)
      }
      is(State.Load) {
        seen.reason   := 1.U
        seen.passed   := 0.U
        seen.position := check.io.position
        seen.ended    := false.B
        seen.broken   := false.B
        seen.fault    := false.B
        limit         := numE
        state := MuxLookup(io.table.common.kind, State.Element)(
          Seq(StreamKind.Variable.U -> State.Scan, StreamKind.Huffman.U -> State.Decode)
        )
      }
    }
  }
  // What VRCNUM has found of a stream.
  private val asked = io.commit.held && k.count && decided && recounts
  when(asked)(state := State.Choose)
  when(io.commit.leaves || io.commit.forgets || io.clear) {
    state := State.Fast
    short := false.B
  }

  // ---- What comes of it -------------------------------------------------------------------------------------------------------
  private val stops = outcome.io.stops
  io.commit.illegal := known && !found.legal
  io.commit.trap    := outcome.io.trap
  io.commit.cause   := outcome.io.cause
  io.commit.tval    := outcome.io.tval
  io.commit.setVl   := outcome.io.setVl
  private val good = !outcome.io.trap
  io.commit.late := good && k.rd =/= 0.U && (k.pack || answers)
  private val lacks = readers.io.lacks.valid || Mux(
    fast,
    region && buffer && !traps && !allThere && !(looks && pending) && !((looks || k.pack) && ownBits) && !(looks && (!found.enough || found.toEnd || k.full && k.masked)) && !(k.pack && (k.masked || k.full)),
    (state === State.Element && notYet && seen.passed =/= limit && more) ||
      (state === State.Counted && buffer && counted =/= 0.U && countedBits =/= 0.U && !countedFits) ||
      (state === State.CountedAux && buffer && !auxFits)
  )
  io.commit.waits.valid       := io.commit.held && io.commit.mine && known && found.legal && !io.commit.done && lacks
  io.commit.waits.bits.output := output
  io.commit.waits.bits.stream := Mux1H(
    Seq(
      reads                                  -> readers.io.lacks.bits,
      (state === State.CountedAux)           -> format.aux,
      (!reads && state =/= State.CountedAux) -> Mux(recounts, turn, k.stream)
    )
  )

  io.commit.dispatches := good && Mux1H(
    Seq(
      k.unpack                                         -> (stops =/= 0.U || k.full),
      k.consume                                        -> (stops =/= 0.U && buffer),
      k.endInput                                       -> (buffer && found.common.bitpos =/= 0.U),
      k.endOutput                                      -> flushes,
      k.pack                                           -> true.B,
      (!k.unpack && !k.consume && !writesX && !k.pack) -> false.B
    )
  )

  private val happens = io.commit.leaves && io.commit.mine && good
  io.declare.valid        := happens && k.declare
  io.declare.bits.output  := output
  io.declare.bits.stream  := k.stream
  io.declare.bits.kind    := k.kind
  io.declare.bits.format  := format
  io.declare.bits.bytepos := Mux(buffer, found.head, io.commit.at.rs1)
  io.declare.bits.bitpos  := Mux(buffer, io.commit.at.rs1(2, 0), 0.U)
  io.declare.bits.left    := io.commit.at.rs2
  io.declare.bits.auxpos  := Mux(variable, Mux(buffer, auxHead, io.commit.at.varve.get.aux), 0.U)

  io.advance.valid         := happens && moves
  io.advance.bits.stream   := k.stream
  io.advance.bits.count    := stops
  io.advance.bits.position := outcome.io.endPos

  private val undone      = io.commit.held && io.commit.mine && known && found.legal && !io.commit.done
  private val recounted   = strip.fold(false.B)(_.table.recount.valid)
  private val recountedBy = strip.fold(0.U(p.vlBits.W))(_.table.recount.bits.count.pad(p.vlBits))
  // As long as a strip before has no number, nobody knows which data an unpack needs.
  private val unplaced = fast && k.unpack && k.full && pending && !allThere
  io.waitsStrip  := undone && (fast && k.count && !early && !settles || unplaced || turns || alone)
  io.waitsMemory := undone && (!inOrder || (io.commit.check.valid && io.commit.check.hold) || io.loading)
  io.counted     := recounted
  io.taken       := Mux(recounted, recountedBy, 0.U) +& Mux(io.advance.valid && k.unpack, stops, 0.U)

  io.reserve.valid       := happens && k.pack
  io.reserve.bits.stream := k.stream
  private val counts = decided && (!ownBits || exact)
  io.reserve.bits.bits  := Mux(counts, countedBits, found.bits)
  io.reserve.bits.count := Mux(variable, Mux(counts, counted, found.count), 0.U)

  for (name <- Seq(io.enter, io.close, io.raise)) {
    name.bits.output := output
    name.bits.stream := k.stream
  }
  io.enter.valid := happens && io.commit.dispatches
  io.close.valid := happens && writesX
  io.raise.valid := io.commit.leaves && io.commit.mine && found.legal && outcome.io.errs && writesX

  io.result.valid     := happens && answers && k.rd =/= 0.U && !early
  io.result.bits.rd   := k.rd
  io.result.bits.data := Mux(k.count, numE, found.common.done)

  private val maker = Module(new StreamOp(p))
  maker.io.at     := io.commit.at
  maker.io.found  := found
  maker.io.stops  := stops
  maker.io.endPos := outcome.io.endPos
  maker.io.counts := counts
  maker.io.bank   := bank
  io.commit.op    := maker.io.op

  private val looked = io.commit.held && known
  readers.io.scans            := looked && state === State.Scan
  readers.io.decodes          := looked && state === State.Decode
  readers.io.loads            := looked && state === State.Table
  readers.io.request.stream   := Mux(recounts, turn, k.stream)
  readers.io.request.format   := format
  readers.io.request.position := found.start
  readers.io.request.aux      := found.aux
  readers.io.request.left     := found.left
  readers.io.request.limit    := limit
  readers.io.request.unpack   := k.unpack
  // A value of VarVE-full has room in any case.
  readers.io.request.eew := {
    val eew = io.commit.at.config.vsew(1, 0)
    Mux(huffman, StreamOp.symbolLog(k.full, format, eew), Mux(k.full, 3.U, eew))
  }
  readers.io.table.set        := found.table
  readers.io.table.symbolBits := format.valueBits
  readers.io.table.output     := output
  readers.io.address          := io.commit.at.varve.get.aux
  readers.io.tail             := io.input.tail
  readers.io.end              := io.input.end
  readers.io.known            := io.input.known
  readers.io.loadAnswer       := io.loadAnswer
  readers.io.granted          := io.readGranted
  readers.io.readAnswer       := io.readAnswer
  readers.io.clear            := io.clear
  io.load <> readers.io.load
  io.read               := readers.io.read
  io.loading            := readers.io.loading
  io.declare.bits.table := huffman && found.table
  io.huffman.tables <> codes.tables
  codes.set                    := found.common.table
  codes.bank                   := bank
  io.huffman.element           := codes.element
  io.huffman.unpack            := happens && huffman && k.unpack && io.commit.dispatches
  when(io.huffman.unpack)(bank := !bank)

  for (s <- io.strip; renew <- renewal.map(_.io)) {
    renew.word        := k
    renew.leaves      := happens && k.count
    renew.numE        := s.numE
    renew.settled     := s.settled
    renew.mayLeave    := s.mayLeave
    renew.unpacked    := s.table.unpacked
    renew.counted     := s.table.counted
    renew.resolved    := s.resolved
    renew.begin       := undone && fast
    renew.choose      := undone && state === State.Choose
    renew.looked      := asked
    renew.stop        := io.commit.leaves || io.commit.forgets || io.clear
    renew.resultReady := io.resultReady
    renew.stream      := io.table.stream
    renew.clear       := io.clear

    s.values.take  := state === State.Take && io.granted
    s.values.index := index(log2Ceil(p.elements) - 1, 0)

    s.register                 := k.register
    s.mask                     := k.mask
    s.renew                    := happens && k.count
    s.early                    := early
    s.taken                    := renew.moved.valid
    s.table.renew              := s.renew
    s.table.recount.valid      := s.taken || (s.renew && !early)
    s.table.recount.bits.set   := Mux(s.taken, renew.moved.bits.set, k.set)
    s.table.recount.bits.count := Mux(s.taken, s.resolved.bits, s.numE)
    s.table.recount.bits.early := s.taken
    // No other instruction gives a result then.
    when(s.taken) {
      io.result.valid     := renew.moved.bits.rd =/= 0.U
      io.result.bits.rd   := renew.moved.bits.rd
      io.result.bits.data := s.resolved.bits
    }
    s.table.stage.valid       := asked
    s.table.stage.bits.stream := turn
    s.table.stage.bits.count  := seen.passed(log2Ceil(p.elements + 1) - 1, 0)
    s.table.stage.bits.bits   := (seen.position - found.start)(s.table.stage.bits.bits.getWidth - 1, 0)
    // Memory that cannot be read: of widths, or of codes.
    s.table.stage.bits.reason := Mux(seen.ended || seen.fault, 7.U, Mux(seen.broken, seen.reason, 0.U))
    s.table.unpack            := k.unpack && k.full
    s.table.renumber          := s.renumber
  }
}
