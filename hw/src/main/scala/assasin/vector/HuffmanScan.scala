// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, Reverse, Valid, is, log2Ceil, switch}

class HuffmanScanIO(p: VectorParams) extends StreamScanIO(p) {

  /** The stream's table, as [[HuffmanTablesIO]] has it. */
  val bits    = Output(UInt(HuffmanCode.longest.W))
  val length  = Input(UInt(4.W))
  val longest = Input(UInt(4.W))
  val symbol  = Input(UInt(HuffmanCode.widestValue.W))

  /** An element that is there: of an unpack it becomes a lane. */
  val element = Output(Valid(new SymbolWrite(p)))
  val bank    = Input(Bool())
}

/** Decodes a Huffman stream's elements in the commit stage, one a cycle, until as many have been found as are asked
  * for, or there are no more (docs/varve/isa.md 4.3 and 5.3, docs/varve/unit.md 5.5). The bits come in windows of
  * [[VectorParams.memoryBits]].
  */
class HuffmanScan(p: VectorParams) extends Module {
  val io = IO(new HuffmanScanIO(p))

  private val posBits   = p.xLen + 3
  private val thereBits = log2Ceil(p.memoryBits + 1)

  // At memory's end bytes are looked at one by one: as many as hold the longest code.
  private val fewBytes = 3

  private object State extends ChiselEnum {
    // Asks for a window; looks which of a few bytes can be read; asks for these; waits for them; decodes; waits for
    // delivery; looks at the last symbol and ends; has ended.
    val Ask, Byte, Few, Answer, Decode, Lack, End, Done = Value
  }

  /** What ends the window's bits: nothing but its size, the stream's end, what is delivered, memory. */
  private object Bound extends ChiselEnum {
    val Size, Stream, Delivery, Memory = Value
  }

  /** Why there are no more elements. */
  private object Stop extends ChiselEnum {
    val Enough, Ended, Broken, Fault = Value
  }
  private val state  = RegInit(State.Ask)
  private val begun  = RegInit(false.B)
  private val bound  = Reg(Bound())
  private val stop   = Reg(Stop())
  private val want   = io.request
  private val buffer = want.format.buffer
  private val result = Reg(new StreamScanResult(p))

  // What is decoded next: its position and number; the bits that are there from it on.
  private val at      = Reg(UInt(posBits.W))
  private val number  = Reg(UInt(p.vlBits.W))
  private val window  = Reg(UInt(p.memoryBits.W))
  private val there   = Reg(UInt(thereBits.W))
  private val few     = Reg(UInt(2.W))
  private val reason  = Reg(UInt(3.W))
  private val cause   = Reg(UInt(5.W))
  private val badByte = Reg(UInt(p.xLen.W))
  io.done   := begun && state === State.Done
  io.result := result

  // ---- Windows --------------------------------------------------------------------------------------------------------------
  private val loading  = RegInit(false.B)
  private val dropping = RegInit(false.B)
  private val runs     = io.active && begun
  private val reading  = RegNext(io.read.valid && io.granted, false.B)
  private val atByte   = (at >> 3)(p.xLen - 1, 0)
  private val atBit    = at(2, 0)
  private val fewByte  = atByte + few

  io.check.valid := runs && !buffer && (state === State.Ask || state === State.Byte)
  io.check.write := false.B
  io.check.first := Mux(state === State.Byte, fewByte, atByte)
  io.check.last  := Mux(state === State.Byte, fewByte, atByte + (p.memoryBytes - 1).U)
  private val faults = !io.check.ok && !io.check.hold

  private def bytesTo(limit: UInt): SInt = (limit - at(34, 3)).asSInt
  private val toEnd                      = bytesTo(io.end)
  private val toTail                     = bytesTo(io.tail)
  private val endFirst                   = io.known && toEnd <= toTail
  private val bitsThere                  = (Cat(Mux(endFirst, io.end, io.tail), 0.U(3.W)) - at(34, 0)).asSInt
  private val most                       = p.memoryBits.U(thereBits.W) - atBit
  private val someThere                  = ShortNumbers.isPositive(bitsThere)

  io.load.valid := runs && !buffer && !loading && !io.clear && (state === State.Ask && io.check.ok || state === State.Few)
  io.load.bits.addr   := atByte
  io.load.bits.bytes  := Mux(state === State.Few, few, p.memoryBytes.U)
  io.read.valid       := runs && buffer && !io.clear && state === State.Ask && someThere
  io.read.bits.stream := want.stream(2, 0)
  io.read.bits.pos    := atByte(31, 0)
  private val answered = Mux(buffer, reading, io.loadAnswer.valid && loading && !dropping)
  loading := io.load.fire || (loading && !io.loadAnswer.valid)
  // What was asked for before the instruction was cancelled.
  dropping   := (loading && !io.loadAnswer.valid || io.load.fire) && (dropping || !io.active || io.clear)
  io.loading := loading

  io.aux         := false.B
  io.lacks.valid := runs && state === State.Lack
  io.lacks.bits  := want.stream(2, 0)

  // What is read begins with the next code's byte, what was decoded with the code.
  private val comes   = state === State.Answer
  private val answer  = Mux(buffer, io.readAnswer, io.loadAnswer.bits)
  private val skips   = Mux(comes, atBit, io.length)
  private val shifted = BarrelShift.right(Mux(comes, answer, window), skips, p.memoryBits)

  // ---- Elements -------------------------------------------------------------------------------------------------------------
  io.bits := Reverse(window(HuffmanCode.longest - 1, 0))
  private val enough  = number === want.limit
  private val noMore  = !want.left.andR && want.left === number
  private val decodes = runs && state === State.Decode && !enough && !noMore
  private val hit     = decodes && io.length =/= 0.U && !ShortNumbers.less(there, io.length)
  private val wrong   = decodes && !hit && io.length === 0.U && !ShortNumbers.less(there, io.longest)

  // The symbol of what was decoded in the last cycle, and the position behind it.
  private val held    = RegInit(false.B)
  private val heldEnd = RegNext(at + io.length)
  held := hit
  private val valueBits = want.format.valueBits(4, 0)
  private val widest    = HuffmanCode.widestValue
  private val signBit   = !want.format.unsigned && (io.symbol >> (valueBits - 1.U))(0)
  private val above     = (Fill(widest, 1.U(1.W)) << valueBits)(widest - 1, 0)
  private val value     = Cat(Fill(p.eLen - widest, signBit), io.symbol | Mux(signBit, above, 0.U))
  // Only lanes of 8 bits may be too narrow.
  private val wide = want.unpack && want.eew === 0.U &&
    value(widest - 1, 8) =/= Fill(widest - 8, !want.format.unsigned && value(7))
  io.element.valid      := runs && held && !wide && want.unpack
  io.element.bits.bank  := io.bank
  io.element.bits.index := result.passed
  io.element.bits.value := value
  io.element.bits.eew   := want.eew

  private def stops(why: Stop.Type): Unit = {
    stop  := why
    state := State.End
  }

  when(!io.active) {
    begun := false.B
  }.elsewhen(!begun) {
    begun           := true.B
    result.passed   := 0.U
    result.position := want.position
    result.ended    := false.B
    result.broken   := false.B
    result.fault    := false.B
    at              := want.position
    number          := 0.U
    there           := 0.U
    bound           := Bound.Size
    held            := false.B
    // Without an element that is asked for nothing is read.
    state := State.Decode
  }.otherwise {
    switch(state) {
      is(State.Ask) {
        few := 0.U
        when(buffer) {
          there := Mux(
            !someThere,
            0.U,
            Mux(ShortNumbers.isBelow(bitsThere, most), bitsThere.asUInt(thereBits - 1, 0), most)
          )
          bound := Mux(ShortNumbers.isAbove(bitsThere, most), Bound.Size, Mux(endFirst, Bound.Stream, Bound.Delivery))
          when(!someThere)(state := State.Decode).elsewhen(io.granted)(state := State.Answer)
        }.elsewhen(io.load.fire) {
          there := most
          bound := Bound.Size
          state := State.Answer
        }.elsewhen(faults)(state := State.Byte)
      }
      is(State.Byte) {
        cause   := io.check.cause
        badByte := fewByte
        bound   := Bound.Memory
        there   := Mux(few === 0.U, 0.U, (few ## 0.U(3.W)) - atBit)
        when(few === fewBytes.U) {
          bound := Bound.Size
          state := State.Few
        }.elsewhen(io.check.ok)(few := few + 1.U).elsewhen(faults) {
          state := Mux(few === 0.U, State.Decode, State.Few)
        }
      }
      is(State.Few)(when(io.load.fire)(state := State.Answer))
      is(State.Answer) {
        when(answered) {
          window := shifted
          state  := State.Decode
        }
      }
      is(State.Decode) {
        when(hit) {
          window := shifted
          there  := there - io.length
          at     := at + io.length
          number := number + 1.U
        }.elsewhen(enough) {
          stops(Stop.Enough)
        }.elsewhen(noMore) {
          stops(Stop.Ended)
        }.elsewhen(wrong) {
          reason := 3.U
          stops(Stop.Broken)
        }.elsewhen(bound === Bound.Size) {
          state := State.Ask
        }.elsewhen(bound === Bound.Stream) {
          reason := 1.U
          stops(Mux(there === 0.U, Stop.Ended, Stop.Broken))
        }.elsewhen(bound === Bound.Delivery) {
          state := State.Lack
        }.otherwise(stops(Stop.Fault))
      }
      is(State.Lack) {
        when(endFirst || ShortNumbers.isAbove(bitsThere, there))(state := State.Ask)
      }
      is(State.End) {
        result.ended  := stop === Stop.Ended
        result.broken := stop === Stop.Broken
        result.reason := reason
        // The elements before are delivered first, so which byte it is matters for the first only.
        result.fault := stop === Stop.Fault && !(want.unpack && number =/= 0.U)
        result.cause := cause
        result.byte  := badByte
        state        := State.Done
      }
    }
    when(held) {
      when(wide) {
        result.ended  := false.B
        result.broken := true.B
        result.reason := 2.U
        result.fault  := false.B
        held          := false.B
        state         := State.Done
      }.otherwise {
        result.passed   := result.passed + 1.U
        result.position := heldEnd
      }
    }
  }
  when(io.clear)(begun := false.B)
}
