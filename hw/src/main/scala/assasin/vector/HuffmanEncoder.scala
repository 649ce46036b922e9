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

/** The symbols 2 * `pair` and 2 * `pair` + 1 of a set. */
class HuffmanPair extends Bundle {
  val set  = Bool()
  val pair = UInt(7.W)
}

class HuffmanLookIO extends Bundle {
  val set    = Output(Bool())
  val symbol = Output(UInt(HuffmanCode.widestValue.W))

  /** One cycle later: the symbol's code, its first bit lowest, and the code's bits; 0 if it has none. */
  val code   = Input(UInt(HuffmanCode.longest.W))
  val length = Input(UInt(4.W))
}

class HuffmanEncoderIO extends Bundle {

  /** A pair of symbols loses its codes, not in the cycle of a `put`; a symbol gets its code, which has one already
    * (`known`).
    */
  val forget = Flipped(Valid(new HuffmanPair))
  val put    = Flipped(Valid(new HuffmanEntry))
  val known  = Output(Bool())

  val look = Flipped(new HuffmanLookIO)
}

/** Codes by symbol, of the two table sets (docs/varve/unit.md 5.5): symbols below 256. Which have one lies in memories
  * too, one of even and one of odd symbols.
  */
class HuffmanEncoder extends Module {
  val io = IO(new HuffmanEncoderIO)

  private val symbols = 256
  private val codes   = SyncReadMem(HuffmanCode.sets * symbols, UInt((HuffmanCode.longest + 4).W))
  private val has     = Seq.fill(2)(Mem(HuffmanCode.sets * symbols / 2, Bool()))
  private val put     = io.put.bits
  private def hasCode(set: Bool, symbol: UInt): Bool = {
    val pair = has.map(_.read(set ## symbol(7, 1)))
    Mux(symbol(0), pair(1), pair(0))
  }
  io.known := hasCode(put.set, put.symbol)
  for ((of, odd) <- has.zipWithIndex) {
    when(io.forget.valid || (io.put.valid && put.symbol(0) === odd.U)) {
      of.write(
        Mux(io.forget.valid, io.forget.bits.set ## io.forget.bits.pair, put.set ## put.symbol(7, 1)),
        !io.forget.valid
      )
    }
  }
  when(io.put.valid)(codes.write(put.set ## put.symbol, put.length ## put.code))

  private val low   = io.look.symbol(7, 0)
  private val found = io.look.symbol(HuffmanCode.widestValue - 1, 8) === 0.U && hasCode(io.look.set, low)
  private val entry = codes.read(io.look.set ## low)
  io.look.code   := entry(HuffmanCode.longest - 1, 0)
  io.look.length := Mux(RegNext(found), entry(HuffmanCode.longest + 3, HuffmanCode.longest), 0.U)
}
