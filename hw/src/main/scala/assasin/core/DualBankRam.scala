// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{isPow2, log2Ceil}

/** Read side of [[DualBankRam]], seen from the reader: rows now, words in the next cycle. */
class DualBankReadIO(rowBits: Int) extends Bundle {
  val evenRow = Output(UInt(rowBits.W))
  val oddRow  = Output(UInt(rowBits.W))
  val even    = Input(UInt(32.W))
  val odd     = Input(UInt(32.W))
}

/** Write side of [[DualBankRam]]. */
class DualBankWrite(rowBits: Int) extends Bundle {
  val evenRow = UInt(rowBits.W)
  val oddRow  = UInt(rowBits.W)

  /** Even word in the low half. */
  val data = UInt(64.W)

  /** Bytes of `data` to write. */
  val mask = UInt(8.W)
}

/** Ports of [[DualBankRam]]. */
class DualBankRamIO(rowBits: Int) extends Bundle {
  val read    = Flipped(new DualBankReadIO(rowBits))
  val writeEn = Input(Bool())
  val write   = Input(new DualBankWrite(rowBits))
}

/** Memory of two 32-bit banks, for the even and the odd words: with a row address each, any eight consecutive bytes
  * that start at an even or odd word are read or written in one cycle. One read and one write port; a read in the cycle
  * of a write to the same row gives either value.
  *
  * @param bytes
  *   size, a power of two
  * @param granuleBits
  *   what `mask` resolves: 8, or 32 (a word is written if any of its bytes is)
  */
class DualBankRam(bytes: Int, granuleBits: Int) extends Module {
  require(isPow2(bytes) && bytes >= 16, s"bytes = $bytes: choose a power of two of at least 16")
  require(Set(8, 32).contains(granuleBits), s"granuleBits = $granuleBits: choose 8 or 32")
  private val rows    = bytes / 8
  private val rowBits = log2Ceil(rows)

  val io = IO(new DualBankRamIO(rowBits))

  private def bank(readRow: UInt, writeRow: UInt, data: UInt, mask: UInt): UInt =
    if (granuleBits == 32) {
      val ram = SyncReadMem(rows, UInt(32.W))
      when(io.writeEn && mask.orR) { ram.write(writeRow, data) }
      ram.read(readRow)
    } else {
      val ram = SyncReadMem(rows, Vec(4, UInt(8.W)))
      when(io.writeEn && mask.orR) { ram.write(writeRow, data.asTypeOf(Vec(4, UInt(8.W))), mask.asBools) }
      ram.read(readRow).asUInt
    }

  io.read.even := bank(io.read.evenRow, io.write.evenRow, io.write.data(31, 0), io.write.mask(3, 0))
  io.read.odd  := bank(io.read.oddRow, io.write.oddRow, io.write.data(63, 32), io.write.mask(7, 4))
}
