// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Decoupled, Fill, Valid, is, log2Ceil, switch}

/** Elements of a VarWidth stream to be looked at; holds still while they are. */
class StreamScanRequest(p: VectorParams) extends Bundle {
  val stream = UInt(4.W)

  /** The stream's format; where its next element and that one's width begin; elements that are left. */
  val format   = new StreamFormat
  val position = UInt((p.xLen + 3).W)
  val aux      = UInt(p.xLen.W)
  val left     = UInt(p.xLen.W)

  /** Elements to look at, at least one. */
  val limit = UInt(p.vlBits.W)

  /** They are unpacked to lanes of 8 << `eew` bits, and not only consumed. */
  val unpack = Bool()
  val eew    = UInt(2.W)
}

/** What was found. */
class StreamScanResult(p: VectorParams) extends Bundle {

  /** Elements that are there, and the position behind them. */
  val passed   = UInt(p.vlBits.W)
  val position = UInt((p.xLen + 3).W)

  /** There are no more: the stream ends; the next one is an error, for this reason; or this byte cannot be read. */
  val ended  = Bool()
  val broken = Bool()
  val reason = UInt(3.W)
  val fault  = Bool()
  val cause  = UInt(5.W)
  val byte   = UInt(p.xLen.W)
}

class StreamScanIO(p: VectorParams) extends Bundle {

  /** Looks from the first cycle of `active` on until `done`; begins anew after a cycle without. */
  val active  = Input(Bool())
  val request = Input(new StreamScanRequest(p))
  val done    = Output(Bool())
  val result  = Output(new StreamScanResult(p))

  /** A stream buffer's pointers, in the same cycle: those of the widths with `aux`. */
  val aux   = Output(Bool())
  val tail  = Input(UInt(32.W))
  val end   = Input(UInt(32.W))
  val known = Input(Bool())

  /** Waits for delivery to this stream buffer. */
  val lacks = Output(Valid(UInt(3.W)))

  val check = new VectorCheckIO(p)

  /** Streams in memory; streams in stream buffers, when nobody else reads. */
  val load       = Decoupled(new VectorLoadRequest(p))
  val loadAnswer = Input(Valid(UInt(p.memoryBits.W)))
  val read       = Output(Valid(new StreamReadRequest))
  val granted    = Input(Bool())
  val readAnswer = Input(UInt(p.memoryBits.W))

  /** An answer of memory is awaited. */
  val loading = Output(Bool())

  val clear = Input(Bool())
}

/** Finds out in the commit stage how many of the elements that an instruction asks for are there (docs/varve/isa.md
  * 4.3, docs/varve/unit.md 5.5): widths are read, as many at once as an element group has bytes, and added up. If all
  * their data are there, that was it. Else it looks at one element a cycle, and decides exactly.
  */
class StreamScan(p: VectorParams) extends Module {
  require(p.pup, "StreamScan is of VarVE-pup")
  val io = IO(new StreamScanIO(p))

  private val chunk     = p.dBytes
  private val chunkBits = log2Ceil(chunk + 1)
  private val sumBits   = log2Ceil(chunk * 64 + 1)

  private object State extends ChiselEnum {
    // Asks for widths; waits for them; adds them up; looks for their data. Looks at one element; at its data's bytes;
    // asks for its data; waits for them; looks at the value. Has decided.
    val Ask, Answer, Sum, Data, Element, Byte, Fetch, Fetched, Judge, Done = Value
  }
  private val state  = RegInit(State.Ask)
  private val begun  = RegInit(false.B)
  private val want   = io.request
  private val format = want.format
  private val buffer = format.buffer

  private val result = Reg(new StreamScanResult(p))
  private val aux    = Reg(UInt(p.xLen.W))
  private val single = Reg(Bool())
  private val widths = Reg(UInt((8 * chunk).W))
  private val count  = Reg(UInt(chunkBits.W))
  private val sum    = Reg(UInt(sumBits.W))
  private val plain  = Reg(Bool())
  private val window = Reg(UInt(72.W))
  io.done   := begun && state === State.Done
  io.result := result

  // ---- What there is at most ------------------------------------------------------------------------------------------------
  private val rest     = want.limit - result.passed
  private val left     = want.left - result.passed
  private val toEnd    = want.left.andR
  private val most     = Mux(single, 1.U, chunk.U)
  private val ofRest   = Mux(ShortNumbers.less(rest, most), rest, most)(chunkBits - 1, 0)
  private val asked    = Mux(!toEnd && ShortNumbers.isBelow(left, ofRest), left, ofRest)(chunkBits - 1, 0)
  private val noneLeft = !toEnd && left === 0.U

  private def toByte(at: UInt): UInt = (at >> 3)(p.xLen - 1, 0)
  private val toAuxEnd               = (io.end - aux(31, 0)).asSInt
  private val toAuxTail              = (io.tail - aux(31, 0)).asSInt
  private val auxThere               = Mux(io.known && toAuxEnd < toAuxTail, toAuxEnd, toAuxTail)
  private val auxSome                = ShortNumbers.isPositive(auxThere)
  private val auxEnds                = io.known && !ShortNumbers.isPositive(toAuxEnd)
  private val auxCount = Mux(ShortNumbers.isBelow(auxThere, asked), auxThere.asUInt(chunkBits - 1, 0), asked)

  // Whether `bits` more are there in the stream buffer.
  private def bitsTo(limit: UInt): SInt = (Cat(limit, 0.U(3.W)) - result.position(34, 0)).asSInt
  private val bitsToEnd                 = bitsTo(io.end)
  private val bitsToTail                = bitsTo(io.tail)

  // The widest value that can be there; one that need not be looked at.
  private val most64  = Mux(format.mb === 3.U, 64.U(7.W), (8.U(7.W) << format.mb)(6, 0))
  private val laneLog = Mux(want.unpack && want.eew < format.mb, want.eew, format.mb)
  private val narrow  = (8.U(10.W) << laneLog)(6, 0)

  private val width   = widths(7, 0)
  private val tooWide = width > most64
  private val wide    = want.unpack && width > (8.U(10.W) << want.eew)(7, 0)
  private val bits    = width(6, 0)
  private val inData  = state === State.Data
  private val element = state === State.Element
  private val byByte  = state === State.Byte
  // Bits of the values that are looked at, all together or one.
  private val amount   = Mux(inData, sum, bits)
  private val ends     = result.position + amount
  private val touches  = want.unpack && amount =/= 0.U
  private val faults   = !io.check.ok && !io.check.hold
  private val asksWide = inData || element
  io.check.valid := io.active && begun && !buffer &&
    (state === State.Ask && rest =/= 0.U && !noneLeft || byByte || (asksWide && touches && !(element && tooWide)))
  io.check.write := false.B
  io.check.first := Mux(state === State.Ask, aux, Mux(byByte, result.byte, toByte(result.position)))
  io.check.last := Mux(
    state === State.Ask,
    aux + asked - 1.U,
    Mux(byByte, result.byte, toByte(ends(p.xLen + 2, 0) - 1.U))
  )

  io.aux := !asksWide
  private val lacksAux  = state === State.Ask && rest =/= 0.U && !noneLeft && !auxSome && !auxEnds
  private val past      = amount =/= 0.U && io.known && ShortNumbers.isBelow(bitsToEnd, amount)
  private val lacking   = amount =/= 0.U && ShortNumbers.isBelow(bitsToTail, amount)
  private val lacksBits = element && !tooWide && !past && lacking
  io.lacks.valid := io.active && begun && buffer && (lacksAux || lacksBits)
  io.lacks.bits  := Mux(element, want.stream(2, 0), format.aux)

  // ---- Reads ----------------------------------------------------------------------------------------------------------------
  private val loading   = RegInit(false.B)
  private val dropping  = RegInit(false.B)
  private val reading   = RegNext(io.read.valid && io.granted, false.B)
  private val fetches   = state === State.Fetch
  private val fetchAt   = toByte(result.position)
  private val asks      = state === State.Ask && rest =/= 0.U && !noneLeft
  private val fetchLast = toByte(ends(p.xLen + 2, 0) - 1.U) - fetchAt
  io.load.valid       := io.active && begun && !buffer && !loading && !io.clear && (asks && io.check.ok || fetches)
  io.load.bits.addr   := Mux(fetches, fetchAt, aux)
  io.load.bits.bytes  := Mux(fetches, (fetchLast(3, 0) + 1.U)(3, 0), asked)
  io.read.valid       := io.active && begun && buffer && !io.clear && (asks && auxSome || fetches)
  io.read.bits.stream := Mux(fetches, want.stream(2, 0), format.aux)
  io.read.bits.pos    := Mux(fetches, fetchAt(31, 0), aux(31, 0))
  private val goes     = io.load.fire || (io.read.valid && io.granted)
  private val answered = Mux(buffer, reading, io.loadAnswer.valid && !dropping)
  private val answer   = Mux(buffer, io.readAnswer, io.loadAnswer.bits)
  loading := io.load.fire || (loading && !io.loadAnswer.valid)
  // What was asked for before the instruction was cancelled.
  dropping   := (loading && !io.loadAnswer.valid || io.load.fire) && (dropping || !io.active || io.clear)
  io.loading := loading

  // ---- Steps ----------------------------------------------------------------------------------------------------------------
  private def pass(by: UInt, to: UInt): Unit = {
    result.passed   := result.passed + by
    result.position := to(p.xLen + 2, 0)
    aux             := aux + by
  }
  private def breaks(reason: UInt): Unit = {
    result.broken := true.B
    result.reason := reason
    state         := State.Done
  }
  // The elements before are delivered first, so which byte it is matters for the first only.
  private def faulty(byte: UInt): Unit = {
    result.fault := !(want.unpack && result.passed =/= 0.U)
    result.cause := io.check.cause
    result.byte  := byte
    state        := State.Done
  }
  private def next(): Unit = {
    widths := widths >> 8
    count  := count - 1.U
    pass(1.U, ends)
    state := Mux(count === 1.U, State.Ask, State.Element)
  }
  private val masked = Seq.tabulate(chunk)(i => Mux(count > i.U, widths(8 * i + 7, 8 * i), 0.U))

  // A value's bits from that of a lane's highest on, or above: all as the highest bit of it.
  private val value   = (window >> result.position(2, 0))(63, 0)
  private val lane    = (8.U(7.W) << want.eew)(6, 0)
  private val inValue = Cat((0 until 64).map(i => bits > i.U).reverse)
  private val inLane  = Cat((0 until 64).map(i => lane > i.U).reverse)
  private val top     = !format.unsigned && (value & (inLane & ~(inLane >> 1))).orR
  private val fits    = ((value ^ Fill(64, top)) & inValue & ~inLane) === 0.U

  when(!io.active) {
    begun := false.B
  }.elsewhen(!begun) {
    begun           := true.B
    result.passed   := 0.U
    result.position := want.position
    result.ended    := false.B
    result.broken   := false.B
    result.fault    := false.B
    aux             := want.aux
    single          := false.B
    state           := State.Ask
  }.otherwise {
    switch(state) {
      is(State.Ask) {
        when(rest === 0.U) {
          state := State.Done
        }.elsewhen(noneLeft || (buffer && auxEnds)) {
          result.ended := true.B
          state        := State.Done
        }.elsewhen(goes) {
          count := Mux(buffer, auxCount, asked)
          state := State.Answer
        }.elsewhen(!buffer && faults) {
          when(single)(faulty(aux))
          single := true.B
        }
      }
      is(State.Answer) {
        when(answered) {
          widths := answer(8 * chunk - 1, 0)
          state  := State.Sum
        }
      }
      is(State.Sum) {
        sum   := VecInit(masked.map(_.pad(sumBits))).reduceTree(_ + _)
        plain := VecInit(masked.map(_ <= narrow)).asUInt.andR
        state := State.Data
      }
      is(State.Data) {
        val there = plain && Mux(buffer, !past && !lacking, !touches || io.check.ok)
        when(there) {
          pass(count, ends)
          state := State.Ask
        }.elsewhen(!plain || buffer || !io.check.hold)(state := State.Element)
      }
      is(State.Element) {
        when(tooWide) {
          breaks(2.U)
        }.elsewhen(buffer && past) {
          breaks(1.U)
        }.elsewhen(Mux(buffer, !lacking, !touches || io.check.ok)) {
          when(wide)(state := State.Fetch).otherwise(next())
        }.elsewhen(!buffer && faults) {
          result.byte := toByte(result.position)
          state       := State.Byte
        }
      }
      is(State.Byte) {
        when(io.check.ok)(result.byte := result.byte + 1.U).elsewhen(faults)(faulty(result.byte))
      }
      is(State.Fetch)(when(goes)(state := State.Fetched))
      is(State.Fetched) {
        when(answered) {
          window := answer(71, 0)
          state  := State.Judge
        }
      }
      is(State.Judge)(when(fits)(next()).otherwise(breaks(2.U)))
    }
  }
  when(io.clear)(begun := false.B)
}
