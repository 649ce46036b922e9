// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Decoupled, Fill, Mux1H, MuxLookup, PopCount, PriorityEncoder, Valid, is, log2Ceil, switch}

import assasin.contract.Cause

class StreamGateIO(p: VectorParams) extends Bundle {
  val offer  = Input(new VectorOffer(p))
  val commit = Flipped(new StreamCommitIO(p))

  /** Vector loads or stores, packs for memory are under way. */
  val loads   = Input(Bool())
  val stores  = Input(Bool())
  val packing = Input(Bool())

  val table  = new StreamTableLookIO(p)
  val input  = new StreamInputLookIO
  val output = new StreamOutputLookIO
  val sLog2  = Input(UInt(2.W))

  /** Used while nothing is under way; a cycle of the window, in which it is not `granted`, waits. */
  val mask    = new ElementReadIO(p)
  val granted = Input(Bool())

  /** Happens at the end of this cycle, as the instruction leaves. */
  val declare = Valid(new StreamDeclare(p))
  val advance = Valid(new StreamAdvance(p))
  val reserve = Valid(new StreamReserve(p))
  val enter   = Valid(new StreamName)
  val close   = Valid(new StreamName)
  val raise   = Valid(new StreamName)

  /** A stream ends: rd takes the number of its elements; or VRCNUM's rd NumE. */
  val resultReady = Input(Bool())
  val result      = Valid(new VectorResult(p))

  val strip = if (p.full) Some(new StripGateIO(p)) else None

  /** Huffman streams (not of VarVE-full). */
  val huffman = if (p.full) None else Some(new HuffmanGateIO(p))

  /** Looks at widths of streams in memory; of those in stream buffers, when nobody else reads. */
  val load        = Decoupled(new VectorLoadRequest(p))
  val loadAnswer  = Input(Valid(UInt(p.memoryBits.W)))
  val read        = Output(Valid(new StreamReadRequest))
  val readGranted = Input(Bool())
  val readAnswer  = Input(UInt(p.memoryBits.W))

  /** An answer of memory is awaited. */
  val loading = Output(Bool())

  /** The instruction in the commit stage waits for the number of a strip; for memory, or for older accesses to it. */
  val waitsStrip  = Output(Bool())
  val waitsMemory = Output(Bool())

  /** Elements that are taken at the end of this cycle; with `counted` a VRCNUM's among them. */
  val taken   = Output(UInt((p.vlBits + 1).W))
  val counted = Output(Bool())

  val clear = Input(Bool())
}

/** What Huffman streams need besides. */
class HuffmanGateIO(p: VectorParams) extends Bundle {

  /** Symbols are looked up while nothing is under way. */
  val tables = Flipped(new HuffmanTablesIO)

  /** An element of an unpack has been decoded. As many unpacks are under way as there are banks of them. */
  val element = Output(Valid(new SymbolWrite(p)))
  val full    = Input(Bool())

  /** An unpack of decoded elements leaves. */
  val unpack = Output(Bool())
}

/** What VarVE-full needs besides. */
class StripGateIO(p: VectorParams) extends Bundle {
  private val countBits = log2Ceil(p.elements + 1)

  /** Registers that hold vectors of VarVE-full, and PACKED, behind the instruction that leaves; NumE and whether VRCNUM
    * may read it.
    */
  val variable = Input(UInt(32.W))
  val packed   = Input(Bool())
  val numE     = Input(UInt(countBits.W))
  val settled  = Input(Bool())

  /** VRCNUM may leave before that. It leaves, so or not. */
  val mayLeave = Input(Bool())
  val renew    = Output(Bool())
  val early    = Output(Bool())

  /** The oldest of those that left early: NumE of its strip; it has moved its streams. Whether there are any, and
    * elements by which they may move streams.
    */
  val resolved = Flipped(Valid(UInt(countBits.W)))
  val taken    = Output(Bool())
  val pending  = Input(Bool())
  val ahead    = Input(UInt((countBits + 1).W))

  /** Elements of the register packed, and length of the mask. Used while nothing is under way. */
  val register = Output(UInt(5.W))
  val yielded  = Input(UInt(countBits.W))
  val mask     = Output(UInt(5.W))
  val length   = Input(UInt(countBits.W))

  /** NumE is written by the window. */
  val renumber = Input(Bool())

  val table = Flipped(new StripTableIO(p))
}

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

  // VRCNUM looks at one stream of its set after the other.
  private val recounts = RegInit(false.B)
  private val turn     = Reg(UInt(4.W))
  private val check    = Module(new StreamCheck(p))
  private val known    = check.io.known
  private val found    = check.io.found
  private val k        = found.word

  // ---- Decision ---------------------------------------------------------------------------------------------------------------
  private object State extends ChiselEnum {
    // Looks at all elements at once; at one element; at one byte; counts a mask's bits; decides on the counted elements;
    // has decided. VRCNUM chooses the next stream of its set; looks it up. Of streams with widths: StreamScan looks at
    // the elements; looks up where the widths of a declared stream begin; looks whether there is room for all widths; reads
    // an element's bit of the mask, reads the element, adds its width; decides on the counted elements' widths. Of
    // Huffman streams: HuffmanScan decodes the elements; the table is loaded.
    val Fast, Element, Byte, Count, Counted, Decided, Choose, Load, Scan, Aux, Room, Mask, Read, Add, CountedAux,
        Decode, Table = Value
  }
  private val state = RegInit(State.Fast)
  private val fast  = state === State.Fast

  private val format =
    Mux(k.declare, io.commit.at.varve.get.format(13, 0).asTypeOf(new StreamFormat), found.common.format)
  private val buffer  = format.buffer
  private val output  = k.output
  private val looks   = k.unpack || k.consume
  private val moves   = looks && !(k.unpack && k.full)
  private val flushes = k.endOutput && found.common.bitpos =/= 0.U

  // Values have their own widths. Where those of a declared stream begin in a stream buffer.
  private val kind     = if (p.full) StreamKind.Fixed.U else Mux(k.declare, k.kind, found.common.kind)
  private val variable = kind === StreamKind.Variable.U
  private val auxHead  = Reg(UInt(32.W))
  private val scan     = Module(new StreamScan(p))

  // Values have Huffman codes.
  private val huffman = kind === StreamKind.Huffman.U
  private val ownBits = variable || huffman
  private val decoder = if (p.full) None else Some(Module(new HuffmanScan(p)))
  private val loader  = if (p.full) None else Some(Module(new HuffmanLoad(p)))
  private val bank    = RegInit(false.B)

  // Of a pack of such values: there may be too little room for their widths; bits of the counted elements; the number of
  // the next one, itself, and whether all have been counted.
  private val packsOwn = k.pack && ownBits
  private val short    = RegInit(false.B)
  private val tallied  = Reg(UInt(bitsBits.W))
  private val index    = Reg(UInt(p.vlBits.W))
  private val element  = Reg(UInt(p.eLen.W))
  private val exact    = Reg(Bool())

  // Element after element.
  private val passed   = Reg(UInt(p.vlBits.W))
  private val position = Reg(UInt(posBits.W))
  private val byte     = Reg(UInt(p.xLen.W))
  private val counted  = Reg(UInt(p.vlBits.W))
  private val group    = Reg(UInt((p.egBits + 1).W))

  // Elements to look at. VRCNUM's: of the streams in its set that the strip has not unpacked, which are left.
  private val limit = Reg(UInt(p.vlBits.W))
  private val set   = Reg(UInt(12.W))

  // How it ended: by the stream's end, by an error in the stream, by memory.
  private val ended    = Reg(Bool())
  private val broken   = Reg(Bool())
  private val why      = Reg(UInt(3.W))
  private val fault    = Reg(Bool())
  private val faultFor = Reg(UInt(5.W))

  private val elementEnd = position +& found.common.format.valueBits
  private def bitsTo(limit: UInt): SInt = {
    val bytes = (limit - position(34, 3)).asSInt
    Cat(bytes, 0.U(3.W)).asSInt - position(2, 0).zext
  }
  private val restToEnd    = bitsTo(io.input.end)
  private val more         = found.left =/= passed || found.left.andR
  private val elementWidth = found.common.format.valueBits.zext
  private val cut          = buffer && io.input.known && restToEnd < elementWidth
  private val padding      = restToEnd <= 0.S || (found.left.andR && restToEnd < 8.S)
  private val notYet       = buffer && !cut && bitsTo(io.input.tail) < elementWidth

  private val countedBits = Mux(ownBits, tallied, (counted * found.common.format.valueBits)(bitsBits - 1, 0))
  private val countedEnd  = found.start +& countedBits
  private val countedFits = {
    val bytes = io.output.tail - found.start(34, 3)
    !bytes(31) && Cat(bytes, 0.U(3.W)) >= (countedBits +& found.start(2, 0))
  }

  // Room for widths.
  private val auxCount = Mux(state === State.Room, found.count, counted)
  private val auxFits = {
    val bytes = io.output.tail - found.aux(31, 0)
    !bytes(31) && bytes >= auxCount
  }

  // An element's own width.
  private val logMost = {
    val eew = io.commit.at.config.vsew(1, 0)
    Mux(format.mb < eew, format.mb, eew)
  }
  private val elementBits = {
    val logs = 0 to log2Ceil(p.eLen / 8)
    val cut = MuxLookup(logMost, element)(logs.init.map { log =>
      val low = element((8 << log) - 1, 0)
      log.U -> Cat(Fill(p.eLen - (8 << log), !format.unsigned && low((8 << log) - 1)), low)
    })
    LaneWidths(cut, logs.last, format.unsigned).head
  }

  // Or its code's: looked for as the element is read.
  private val codeBits = io.huffman.fold(0.U(4.W))(_.tables.look.length)
  for (huffman <- io.huffman) {
    val read = io.mask.element(HuffmanCode.widestValue - 1, 0)
    val byte = Cat(Fill(8, read(7) && !format.unsigned), read(7, 0))
    huffman.tables.look.set := found.common.table
    huffman.tables.look.symbol := Mux(io.commit.at.config.vsew(1, 0) === 0.U, byte, read) &
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
        (state === State.Byte)                             -> byte,
        (state === State.Count || state === State.Decided) -> 0.U
      )
    )
  )
  io.commit.check.last := Mux(
    flushes,
    found.common.bytepos,
    Mux1H(
      Seq(
        fast                                               -> byteOf(found.end - 1.U),
        (state === State.Element)                          -> byteOf(elementEnd(posBits - 1, 0) - 1.U),
        (state === State.Byte)                             -> byte,
        (state === State.Counted)                          -> byteOf(countedEnd(posBits - 1, 0) - 1.U),
        (state === State.Count || state === State.Decided) -> 0.U
      )
    )
  )
  scan.io.check.ok    := io.commit.check.ok
  scan.io.check.hold  := io.commit.check.hold
  scan.io.check.cause := io.commit.check.cause
  when(state === State.Scan) {
    io.commit.check.valid := scan.io.check.valid
    io.commit.check.first := scan.io.check.first
    io.commit.check.last  := scan.io.check.last
  }
  for (decoder <- decoder; loader <- loader) {
    for ((check, at) <- Seq(decoder.io.check -> State.Decode, loader.io.check -> State.Table)) {
      check.ok    := io.commit.check.ok
      check.hold  := io.commit.check.hold
      check.cause := io.commit.check.cause
      when(state === at) {
        io.commit.check.valid := check.valid
        io.commit.check.write := false.B
        io.commit.check.first := check.first
        io.commit.check.last  := check.last
      }
    }
  }
  when(state === State.Room || state === State.CountedAux) {
    io.commit.check.first := found.aux
    io.commit.check.last  := found.aux + auxCount - 1.U
  }
  when(state === State.Mask || state === State.Read || state === State.Add)(io.commit.check.valid := false.B)
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
  private val tooMany = k.consume && found.tooMany
  private val errs    = found.common.pending =/= 0.U && (looks || (writesX && quiet))
  private val region  = looks || k.pack || flushes

  private val traps   = !found.legal || tooMany || errs
  private val decided = state === State.Decided
  private val strip   = io.strip
  private val numE    = strip.fold(0.U(p.vlBits.W))(_.numE.pad(p.vlBits))
  private val unasked = strip.fold(0.U(12.W))(s => Mux(s.numE === 0.U, 0.U, k.set & ~s.table.unpacked))
  private val recount = k.count && strip.fold(false.B)(_.settled)
  private val early =
    strip.fold(false.B)(s => k.count && s.mayLeave && !s.settled && (k.set & ~s.table.unpacked) === 0.U)
  private val failed = !k.count && (fault || (broken && (k.consume || passed === 0.U)) || (ended && k.consume))
  io.commit.mine    := StreamWord.is(io.commit.at.insn)
  io.commit.packing := io.packing
  io.commit.done := io.commit.held && known && Mux(
    decided,
    (failed || free) && !recounts,
    fast && (traps || (free && (!region || allThere) && (!k.count || early || (recount && unasked === 0.U)) &&
      !(k.declare && (variable && buffer || huffman))))
  )

  check.io.offer  := io.offer
  check.io.at     := io.commit.at
  check.io.held   := io.commit.held
  check.io.done   := io.commit.done
  check.io.enters := io.commit.enters
  check.io.renew  := fast || state === State.Load
  check.io.pointers.valid := state === State.Aux || state === State.Room || state === State.CountedAux ||
    (state === State.Scan && scan.io.aux)
  check.io.pointers.bits := format.aux
  check.io.turn.valid    := recounts
  check.io.turn.bits     := turn
  check.io.variable      := strip.fold(0.U)(_.variable)
  check.io.packed        := strip.fold(false.B)(_.packed)
  check.io.open          := strip.fold(0.U)(_.table.open)
  check.io.sLog2         := io.sLog2
  check.io.ahead         := strip.fold(0.U)(_.ahead)
  check.io.moves         := 0.U
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
  private val maskPart =
    (((1.U << packs) - 1.U)(p.vLen - 1, 0) >> (group * p.dLen.U))(p.dLen - 1, 0)
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
        why      := 1.U
        passed   := 0.U
        position := found.start
        ended    := false.B
        broken   := false.B
        fault    := false.B
        byte     := Mux(flushes, found.common.bytepos, byteOf(found.start))
        group    := 0.U
        counted  := 0.U
        limit    := found.count
        set      := unasked
        when(k.declare && variable && buffer && !traps && quiet)(state                    := State.Aux)
        when(k.declare && huffman && !traps && quiet && !(io.stores || io.packing))(state := State.Table)
        when(looks && !allThere && !traps && !pending) {
          when(variable) {
            state := State.Scan
          }.elsewhen(huffman) {
            when(!io.huffman.fold(false.B)(_.full))(state := State.Decode)
          }.elsewhen(k.unpack && k.full && k.masked) {
            // The mask's length is known when nothing is under way. An element is looked at in any case.
            limit := strip.fold(0.U(p.vlBits.W))(s => Mux(s.length === 0.U, 1.U, s.length.pad(p.vlBits)))
            when(io.commit.idle)(state := State.Element)
          }.elsewhen(Mux(buffer, !found.enough || found.toEnd, !found.enough || faults))(state := State.Element)
        }
        when(recount && unasked =/= 0.U)(state := State.Choose)
        exact                                  := false.B
        tallied                                := 0.U
        index                                  := 0.U
        when(packsOwn && !allThere && !traps) {
          when(still && (short || Mux(buffer, !found.fits, faults))) {
            exact := true.B
            state := Mux(k.masked, State.Mask, State.Read)
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
        when(passed === limit || !more) {
          ended := passed =/= limit
          state := State.Decided
        }.elsewhen(cut) {
          ended  := padding
          broken := !padding
          state  := State.Decided
        }.elsewhen(Mux(buffer, !notYet, k.consume || k.count || io.commit.check.ok)) {
          passed   := passed + 1.U
          position := elementEnd(posBits - 1, 0)
        }.elsewhen(!buffer && faults) {
          byte  := byteOf(position)
          state := State.Byte
          // The elements before are delivered first, so which byte it is matters for the first only.
          when(k.unpack && passed =/= 0.U)(state := State.Decided)
        }
      }
      is(State.Byte) {
        when(io.commit.check.ok)(byte := byte + 1.U).elsewhen(faults) {
          fault    := true.B
          faultFor := io.commit.check.cause
          state    := State.Decided
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
            state := Mux(index + 1.U === found.count, State.Counted, State.Mask)
          }
        }
      }
      is(State.Read) {
        when(io.granted) {
          element := io.mask.element
          index   := index + 1.U
          state   := State.Add
        }
      }
      is(State.Add) {
        tallied := tallied + Mux(huffman, codeBits, elementBits)
        counted := counted + 1.U
        state   := Mux(index === found.count, State.Counted, Mux(k.masked, State.Mask, State.Read))
      }
      is(State.CountedAux) {
        when(Mux(buffer, auxFits, io.commit.check.ok))(state := State.Decided).elsewhen(!buffer && faults) {
          byte  := found.aux
          state := State.Byte
        }
      }
      is(State.Scan) {
        when(scan.io.done) {
          passed   := scan.io.result.passed
          position := scan.io.result.position
          ended    := scan.io.result.ended
          broken   := scan.io.result.broken
          why      := scan.io.result.reason
          fault    := scan.io.result.fault
          faultFor := scan.io.result.cause
          byte     := scan.io.result.byte
          state    := State.Decided
        }
      }
      is(State.Decode) {
        for (decoder <- decoder) when(decoder.io.done) {
          passed   := decoder.io.result.passed
          position := decoder.io.result.position
          ended    := decoder.io.result.ended
          broken   := decoder.io.result.broken
          why      := decoder.io.result.reason
          fault    := decoder.io.result.fault
          faultFor := decoder.io.result.cause
          byte     := decoder.io.result.byte
          state    := State.Decided
        }
      }
      is(State.Table) {
        for (loader <- loader) when(loader.io.done) {
          broken   := !loader.io.good
          why      := 4.U
          fault    := loader.io.fault
          faultFor := loader.io.cause
          byte     := loader.io.byte
          state    := State.Decided
        }
      }
      is(State.Aux) {
        // Who ended a stream may still move its Head.
        auxHead                    := Mux(output, io.output.head, io.input.head)
        when(!io.table.busy)(state := State.Decided)
      }
      is(State.Choose) {
        turn     := PriorityEncoder(set)
        recounts := set =/= 0.U
        state    := Mux(set === 0.U, State.Decided, State.Load)
      }
      is(State.Load) {
        passed   := 0.U
        position := check.io.position
        ended    := false.B
        broken   := false.B
        fault    := false.B
        limit    := numE
        state    := State.Element
      }
    }
  }
  // What VRCNUM has found of a stream.
  private val asked = io.commit.held && k.count && decided && recounts
  when(asked) {
    set      := set & ~(1.U(16.W) << turn)(11, 0)
    recounts := false.B
    state    := State.Choose
  }
  when(io.commit.leaves || io.commit.forgets || io.clear) {
    state    := State.Fast
    recounts := false.B
    short    := false.B
  }

  // ---- What comes of it -------------------------------------------------------------------------------------------------------
  private val isTrap = Mux(decided, failed, traps)
  private val most =
    strip.fold(found.count)(s => Mux(k.full && k.masked && s.length < found.count, s.length.pad(p.vlBits), found.count))
  private val stops  = Mux(decided && looks, Mux(passed < most, passed, most), found.count)
  private val endPos = Mux(decided && looks, position, found.end)
  io.commit.illegal := known && !found.legal
  io.commit.trap    := isTrap
  private val reason = Mux(errs && !decided, found.common.pending, why)
  private val inData = Mux(decided, broken && !fault, errs && !tooMany)
  io.commit.cause := Mux(
    !found.legal,
    2.U,
    Mux(fault && decided, faultFor, Mux(inData, Cause.StreamData.U, Cause.StreamRange.U))
  )
  io.commit.tval := Mux(
    !found.legal,
    io.commit.at.insn,
    Mux(
      fault && decided,
      byte,
      Mux(inData, Cat(reason, 0.U(3.W), output, k.stream), io.commit.at.rs1)
    )
  )
  private val good = !isTrap
  io.commit.late        := good && k.rd =/= 0.U && (k.pack || answers)
  io.commit.setVl.valid := good && k.unpack && !k.full && stops < io.commit.at.config.vl
  io.commit.setVl.bits  := stops
  private val lacks = (state === State.Scan && scan.io.lacks.valid) ||
    (state === State.Decode && decoder.fold(false.B)(_.io.lacks.valid)) || Mux(
      fast,
      region && buffer && !traps && !allThere && !(looks && pending) && !((looks || k.pack) && ownBits) && !(looks && (!found.enough || found.toEnd || k.full && k.masked)) && !(k.pack && (k.masked || k.full)),
      (state === State.Element && notYet && passed =/= limit && more) ||
        (state === State.Counted && buffer && counted =/= 0.U && countedBits =/= 0.U && !countedFits) ||
        (state === State.CountedAux && buffer && !auxFits)
    )
  io.commit.waits.valid       := io.commit.held && io.commit.mine && known && found.legal && !io.commit.done && lacks
  io.commit.waits.bits.output := output
  io.commit.waits.bits.stream := Mux1H(
    Seq(
      (state === State.Scan)                               -> scan.io.lacks.bits,
      (state === State.CountedAux)                         -> format.aux,
      (state =/= State.Scan && state =/= State.CountedAux) -> Mux(recounts, turn, k.stream)
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
  io.advance.bits.position := endPos

  private val undone      = io.commit.held && io.commit.mine && known && found.legal && !io.commit.done
  private val recounted   = strip.fold(false.B)(_.table.recount.valid)
  private val recountedBy = strip.fold(0.U(p.vlBits.W))(_.table.recount.bits.count.pad(p.vlBits))
  // As long as a strip before has no number, nobody knows which data an unpack needs.
  private val unplaced = fast && k.unpack && k.full && pending && !allThere
  io.waitsStrip  := undone && (fast && k.count && !early && !recount || unplaced || turns || alone)
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
  io.raise.valid := io.commit.leaves && io.commit.mine && found.legal && errs && writesX

  io.result.valid     := happens && answers && k.rd =/= 0.U && !early
  io.result.bits.rd   := k.rd
  io.result.bits.data := Mux(k.count, numE, found.common.done)

  private val op = io.commit.op
  op          := 0.U.asTypeOf(op)
  op.path     := Mux(output, VectorPath.Pack.U, VectorPath.Unpack.U)
  op.vd       := k.register
  op.vs1      := k.mask
  op.vs2      := Mux(k.pack, k.rd, 0.U)
  op.readsVs1 := k.pack && k.masked
  op.writes   := k.unpack
  op.eew      := io.commit.at.config.vsew(1, 0)
  op.groups   := Mux(io.commit.at.config.vlmul(2), 0.U, io.commit.at.config.vlmul(1, 0))
  op.evl      := Mux(k.pack, found.count, Mux(k.unpack, stops, 0.U))
  op.scalar   := Mux(k.endOutput, found.common.bytepos, byteOf(found.start))
  op.first    := Mux(k.endInput, found.common.bytepos + 1.U, byteOf(endPos))
  op.last     := byteOf(endPos - 1.U)
  private val use = op.use.get
  use.stream    := k.stream
  use.buffer    := buffer
  use.huffman   := huffman && (k.unpack || k.pack)
  use.table     := found.common.table
  use.bank      := bank
  use.valueBits := Mux(variable, (8.U << logMost)(6, 0), found.common.format.valueBits)
  use.unsigned  := found.common.format.unsigned
  use.bitpos    := Mux(k.endOutput, found.common.bitpos, found.start(2, 0))
  use.flush     := k.endOutput
  use.exact     := counts
  use.partial   := found.partial
  use.variable  := variable && (k.unpack || k.consume || k.pack)
  use.aux       := format.aux
  use.auxHead   := (found.aux + stops)(31, 0)
  use.mb        := format.mb
  op.stride     := found.aux
  // What has been decoded lies in lanes.
  when(huffman && k.unpack) {
    use.valueBits := (8.U << op.eew)(6, 0)
    use.bitpos    := 0.U
  }

  scan.io.active           := io.commit.held && known && state === State.Scan
  scan.io.request.stream   := k.stream
  scan.io.request.format   := format
  scan.io.request.position := found.start
  scan.io.request.aux      := found.aux
  scan.io.request.left     := found.left
  scan.io.request.limit    := found.count
  scan.io.request.unpack   := k.unpack
  scan.io.request.eew      := io.commit.at.config.vsew(1, 0)
  scan.io.tail             := io.input.tail
  scan.io.end              := io.input.end
  scan.io.known            := io.input.known
  scan.io.clear            := io.clear
  scan.io.load <> io.load
  scan.io.loadAnswer    := io.loadAnswer
  io.read               := scan.io.read
  scan.io.granted       := io.readGranted
  scan.io.readAnswer    := io.readAnswer
  io.loading            := scan.io.loading
  io.declare.bits.table := huffman && found.table
  for (decoder <- decoder; loader <- loader; huffman <- io.huffman) {
    val tables = huffman.tables
    decoder.io.active                   := io.commit.held && known && state === State.Decode
    decoder.io.request                  := scan.io.request
    decoder.io.tail                     := io.input.tail
    decoder.io.end                      := io.input.end
    decoder.io.known                    := io.input.known
    decoder.io.granted                  := io.readGranted
    decoder.io.readAnswer               := io.readAnswer
    decoder.io.clear                    := io.clear
    decoder.io.length                   := tables.length
    decoder.io.longest                  := tables.longest
    decoder.io.symbol                   := tables.symbol
    decoder.io.bank                     := bank
    when(decoder.io.read.valid)(io.read := decoder.io.read)

    loader.io.active             := io.commit.held && known && state === State.Table
    loader.io.address            := io.commit.at.varve.get.aux
    loader.io.request.set        := found.table
    loader.io.request.symbolBits := format.valueBits
    loader.io.request.output     := output
    loader.io.built              := tables.idle
    loader.io.builtGood          := tables.good
    loader.io.clear              := io.clear

    tables.fill  := loader.io.fill
    tables.build := loader.io.build
    tables.set   := found.common.table
    tables.bits  := decoder.io.bits
    // Nothing is built for an instruction that was cancelled.
    tables.clear := io.clear || !loader.io.active

    // One of the three reads memory at a time, also if an answer comes for an instruction that was cancelled.
    val loads  = Seq(scan.io.load, decoder.io.load, loader.io.load)
    val busy   = Seq(scan.io.loading, decoder.io.loading, loader.io.loading)
    val others = busy.indices.map(i => busy.zipWithIndex.filter(_._2 != i).map(_._1).reduce(_ || _))
    io.load.valid := loads.zip(others).map { case (load, other) => load.valid && !other }.reduce(_ || _)
    io.load.bits  := Mux(loads(0).valid, loads(0).bits, Mux(loads(1).valid, loads(1).bits, loads(2).bits))
    for ((load, other)  <- loads.zip(others)) load.ready := io.load.ready && !other
    for ((answer, mine) <- Seq(scan.io.loadAnswer, decoder.io.loadAnswer, loader.io.loadAnswer).zip(busy)) {
      answer.valid := io.loadAnswer.valid && mine
      answer.bits  := io.loadAnswer.bits
    }
    io.loading := busy.reduce(_ || _)

    huffman.element           := decoder.io.element
    huffman.unpack            := happens && use.huffman && k.unpack && io.commit.dispatches
    when(huffman.unpack)(bank := !bank)
  }

  for (s <- io.strip) {
    s.register := k.register
    s.mask     := k.mask
    // VRCNUMs that left early move their streams one after the other; no other one gives a result then.
    val moves = Module(new StripPending)
    s.renew                    := happens && k.count
    s.early                    := early
    s.taken                    := s.resolved.valid && io.resultReady
    moves.io.enter.valid       := s.renew && early
    moves.io.enter.bits.set    := k.set
    moves.io.enter.bits.rd     := k.rd
    moves.io.leave             := s.taken
    moves.io.stream            := io.table.stream
    moves.io.clear             := io.clear
    check.io.moves             := moves.io.moves
    s.table.renew              := s.renew
    s.table.recount.valid      := s.taken || (s.renew && !early)
    s.table.recount.bits.set   := Mux(s.taken, moves.io.oldest.set, k.set)
    s.table.recount.bits.count := Mux(s.taken, s.resolved.bits, s.numE)
    s.table.recount.bits.early := s.taken
    when(s.taken) {
      io.result.valid     := moves.io.oldest.rd =/= 0.U
      io.result.bits.rd   := moves.io.oldest.rd
      io.result.bits.data := s.resolved.bits
    }
    s.table.stage.valid       := asked
    s.table.stage.bits.stream := turn
    s.table.stage.bits.count  := passed(log2Ceil(p.elements + 1) - 1, 0)
    s.table.stage.bits.reason := Mux(ended, 7.U, Mux(broken, 1.U, 0.U))
    s.table.unpack            := k.unpack && k.full
    s.table.renumber          := s.renumber
    val full = op.variable.get
    full.active                          := k.full && (k.unpack || k.pack)
    full.setsCount                       := k.full && k.unpack
    full.mb                              := found.common.format.mb
    full.moves                           := found.moves
    when(k.full && k.unpack)(op.readsVs1 := k.masked)
    when(k.full)(op.groups               := 0.U)
  }
}
