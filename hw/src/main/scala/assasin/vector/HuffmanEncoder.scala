// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.Valid

/** The code of a symbol, its first bit lowest. */
class HuffmanEntry extends Bundle {
  val set    = Bool()
  val symbol = UInt(8.W)
  val code   = UInt(HuffmanCode.longest.W)
  val length = UInt(4.W)
}

class HuffmanLookIO extends Bundle {
  val set    = Output(Bool())
  val symbol = Output(UInt(HuffmanCode.widestValue.W))

  /** One cycle later: the symbol's code, its first bit lowest, and the code's bits; 0 if it has none. */
  val code   = Input(UInt(HuffmanCode.longest.W))
  val length = Input(UInt(4.W))
}

class HuffmanEncoderIO extends Bundle {

  /** The set forgets its symbols; a symbol gets its code, which has one already (`known`). */
  val forget = Flipped(Valid(Bool()))
  val put    = Flipped(Valid(new HuffmanEntry))
  val known  = Output(Bool())

  val look = Flipped(new HuffmanLookIO)
}

/** Codes by symbol, of the two table sets (docs/varve/unit.md 5.5): symbols below 256. */
class HuffmanEncoder extends Module {
  val io = IO(new HuffmanEncoderIO)

  private val symbols = 256
  private val codes   = SyncReadMem(HuffmanCode.sets * symbols, UInt((HuffmanCode.longest + 4).W))
  private val has     = Reg(Vec(HuffmanCode.sets, UInt(symbols.W)))
  private val put     = io.put.bits
  io.known := (has(put.set) >> put.symbol)(0)
  for ((set, i) <- has.zipWithIndex) {
    when(io.put.valid && put.set === i.U)(set           := set | (1.U << put.symbol)(symbols - 1, 0))
    when(io.forget.valid && io.forget.bits === i.U)(set := 0.U)
  }
  when(io.put.valid)(codes.write(put.set ## put.symbol, put.length ## put.code))

  private val low   = io.look.symbol(7, 0)
  private val found = io.look.symbol(HuffmanCode.widestValue - 1, 8) === 0.U && (has(io.look.set) >> low)(0)
  private val entry = codes.read(io.look.set ## low)
  io.look.code   := entry(HuffmanCode.longest - 1, 0)
  io.look.length := Mux(RegNext(found), entry(HuffmanCode.longest + 3, HuffmanCode.longest), 0.U)
}
