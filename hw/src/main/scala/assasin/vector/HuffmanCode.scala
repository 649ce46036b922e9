// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** A canonical code (docs/varve/isa.md 5.3). A code of L bits counts as a number of 15 bits, its first bit the highest;
  * element L - 1 is of length L.
  */
class HuffmanCode extends Bundle {

  /** What the codes of at most L bits stay below. */
  val limit = Vec(HuffmanCode.longest, UInt((HuffmanCode.longest + 1).W))

  /** Number of the symbol of a code of L bits, less that code as a number of L bits, modulo 256. */
  val base = Vec(HuffmanCode.longest, UInt(HuffmanCode.indexBits.W))

  /** Bits of the longest code that there may be. */
  val longest = UInt(4.W)
}

object HuffmanCode {

  /** Bits of the longest code, and of the number of a symbol. */
  val longest   = 15
  val indexBits = 8

  /** Table sets. */
  val sets = 2

  /** Words of a table in memory; the first one of symbols, of which a word holds two; the first one of counts. */
  val words       = 138
  val symbolWord  = 10
  val countWord   = 2
  val magic       = 0x4856
  val widestValue = 16
}
