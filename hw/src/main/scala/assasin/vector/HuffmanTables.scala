// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Reverse, Valid, is, switch}

/** A word of a table, as in memory. */
class HuffmanWord extends Bundle {
  val set  = Bool()
  val word = UInt(8.W)
  val data = UInt(32.W)
}

/** The set's words are there. */
class HuffmanBuild extends Bundle {
  val set = Bool()

  /** Bits of a symbol that the declaration asks for; the stream is an output. */
  val symbolBits = UInt(7.W)
  val output     = Bool()
}

class HuffmanTablesIO extends Bundle {
  val fill  = Flipped(Valid(new HuffmanWord))
  val build = Flipped(Valid(new HuffmanBuild))

  /** No table is being built; the last one was good. All words of a set are filled before it is built. */
  val idle = Output(Bool())
  val good = Output(Bool())

  /** What a stream has next, its first bit highest: the bits of its code, 0 if there is none, and in the next cycle its
    * symbol. `longest`: bits of the longest code.
    */
  val set     = Input(Bool())
  val bits    = Input(UInt(HuffmanCode.longest.W))
  val length  = Output(UInt(4.W))
  val longest = Output(UInt(4.W))
  val symbol  = Output(UInt(HuffmanCode.widestValue.W))

  val look = Flipped(new HuffmanLookIO)

  /** Gives up what is being built. */
  val clear = Input(Bool())
}

/** The Huffman tables (docs/varve/isa.md 5.3, docs/varve/unit.md 5.5): their words as memory has them, and what is
  * computed and checked from these, two counts or one symbol a cycle.
  */
class HuffmanTables extends Module {
  val io = IO(new HuffmanTablesIO)

  private object State extends ChiselEnum {
    val Idle, Head, Symbols = Value
  }
  private val state   = RegInit(State.Idle)
  private val good    = RegInit(false.B)
  private val want    = Reg(new HuffmanBuild)
  private val words   = SyncReadMem(HuffmanCode.sets << 8, UInt(32.W))
  private val codes   = Reg(Vec(HuffmanCode.sets, new HuffmanCode))
  private val decoder = Module(new HuffmanDecoder)
  private val encoder = Module(new HuffmanEncoder)

  // What is read in this cycle, and whether what was asked for in the last one is there.
  private val step     = Reg(UInt(9.W))
  private val answered = step =/= 0.U
  private val last     = step - 1.U

  private val symbols = Reg(UInt(9.W))
  private val above   = Reg(UInt(17.W))
  private val index   = Reg(UInt(13.W))
  private val running = Reg(UInt((HuffmanCode.longest + 1).W))

  private val building = state =/= State.Idle
  private val code     = codes(Mux(building, want.set, io.set))
  decoder.io.code := code
  decoder.io.bits := Mux(building, running(HuffmanCode.longest - 1, 0), io.bits)

  private val number = Mux(building, step(7, 0), decoder.io.index)
  private val row    = Mux(state === State.Head, step(7, 0), HuffmanCode.symbolWord.U +& (number >> 1))
  private val word   = words.read(Mux(building, want.set, io.set) ## row)
  private val upper  = RegNext(number(0))
  private val symbol = Mux(upper, word(31, 16), word(15, 0))
  when(io.fill.valid)(words.write(io.fill.bits.set ## io.fill.bits.word, io.fill.bits.data))

  io.idle    := !building
  io.good    := good
  io.length  := decoder.io.length
  io.longest := code.longest
  io.symbol  := symbol
  encoder.io.look <> io.look

  // A bad table has no codes.
  private def end(of: Bool): Unit = {
    state := State.Idle
    good  := of
  }
  private val tooWide = (symbol >> want.symbolBits(4, 0)) =/= 0.U
  private val length  = decoder.io.length
  // As a table is filled the symbols of the one before lose their codes: it has more words than there are pairs.
  encoder.io.forget.valid     := io.fill.valid
  encoder.io.forget.bits.set  := io.fill.bits.set
  encoder.io.forget.bits.pair := io.fill.bits.word(6, 0)
  encoder.io.put.valid        := state === State.Symbols && answered && want.output
  encoder.io.put.bits.set     := want.set
  encoder.io.put.bits.symbol  := symbol(7, 0)
  encoder.io.put.bits.code    := Reverse(running(HuffmanCode.longest - 1, 0))
  encoder.io.put.bits.length  := length
  private val unwritable = want.output && (symbol(15, 8) =/= 0.U || encoder.io.known)

  switch(state) {
    is(State.Head) {
      step := step + 1.U
      when(answered) {
        when(last === 0.U) {
          symbols := word(24, 16)
          when(word(15, 0) =/= HuffmanCode.magic.U || word(31, 16) === 0.U || word(31, 16) > 256.U)(end(false.B))
        }.elsewhen(last === 1.U) {
          codes(want.set).longest := word(3, 0)
          when(
            word(7, 0) === 0.U || word(7, 0) > HuffmanCode.longest.U || word(15, 8) =/= want.symbolBits ||
              word(31, 16) =/= 0.U
          )(end(false.B))
        }.otherwise {
          // Counts of two lengths.
          val counts  = Seq(word(15, 0), word(31, 16))
          val even    = ((last - HuffmanCode.countWord.U) << 1)(3, 0)
          val lengths = Seq(even, even | 1.U)
          var reach   = above
          var behind  = index
          val bads = lengths.zip(counts).map { case (length, count) =>
            val first = (reach << 1)(16, 0)
            val next  = (first + count)(16, 0)
            for (l <- 1 to HuffmanCode.longest) when(length === l.U) {
              codes(want.set).limit(l - 1) := (next << (HuffmanCode.longest - l))(HuffmanCode.longest, 0)
              codes(want.set).base(l - 1)  := behind(7, 0) - first(7, 0)
            }
            val bad = count > 256.U || (count =/= 0.U && (length === 0.U || length > code.longest)) ||
              next > (1.U << length)(15, 0)
            reach = next
            behind = (behind + count)(12, 0)
            bad
          }
          above := reach
          index := behind
          when(bads.reduce(_ || _))(end(false.B))
          when(last === (HuffmanCode.symbolWord - 1).U) {
            state := State.Symbols
            step  := 0.U
            when(bads.reduce(_ || _) || behind =/= symbols)(end(false.B))
          }
        }
      }
    }
    is(State.Symbols) {
      step := step + 1.U
      when(answered) {
        running := running + (1.U << (HuffmanCode.longest.U - length))(HuffmanCode.longest, 0)
        when(tooWide || unwritable)(end(false.B)).elsewhen(step === symbols)(end(true.B))
      }
    }
  }
  when(io.build.valid) {
    state   := State.Head
    want    := io.build.bits
    step    := 0.U
    above   := 0.U
    index   := 0.U
    running := 0.U
  }
  when(io.clear)(state := State.Idle)
}
