// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import chisel3._

/** CRC-32C (Castagnoli), reflected, as combinational steps. A CRC begins with [[Initial]]; its value is the complement
  * of the last step's result.
  */
object Crc32c {
  val Initial: UInt = "hFFFFFFFF".U(32.W)

  private val Polynomial = 0x82f63b78L

  /** What one bit of the data, alone, leaves behind after `bits` steps. */
  private def trace(bit: Int, bits: Int): BigInt =
    (bit until bits).foldLeft(0L) { (v, i) =>
      val out = if (i == bit) (v & 1) ^ 1 else v & 1
      (v >> 1) ^ (if (out == 1) Polynomial else 0L)
    }

  /** The CRC after four bytes, lowest first. */
  def word(crc: UInt, data: UInt): UInt = step(crc, data, 32)

  /** The CRC after eight bytes, lowest first. */
  def doubleWord(crc: UInt, data: UInt): UInt = step(crc, data, 64)

  private def step(crc: UInt, data: UInt, bits: Int): UInt = {
    val mixed  = data ^ crc.pad(bits)
    val traces = Seq.tabulate(bits)(trace(_, bits))
    VecInit
      .tabulate(32) { j =>
        val mask = traces.zipWithIndex.map { case (t, i) => if (t.testBit(j)) BigInt(1) << i else BigInt(0) }.sum
        (mixed & mask.U(bits.W)).xorR
      }
      .asUInt
  }
}
