// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Cat, Fill, isPow2, log2Ceil}

/** A read of [[RowBanks]], seen from the reader. */
class RowBanksReadIO(addressBits: Int, readBytes: Int) extends Bundle {

  /** Without it nothing is read, and `data` means nothing in the next cycle. */
  val enable = Output(Bool())

  /** Any byte. */
  val addr = Output(UInt(addressBits.W))

  /** In the next cycle: the bytes from `addr` on, those behind the ring's last byte from its first on. */
  val data = Input(UInt((8 * readBytes).W))
}

/** A write of [[RowBanks]]. */
class RowBanksWrite(addressBits: Int, writeBytes: Int, granule: Int) extends Bundle {

  /** A multiple of `granule`. */
  val addr = UInt(addressBits.W)

  /** From the addressed byte on. */
  val data = UInt((8 * writeBytes).W)

  /** Granules of `data` to write. */
  val mask = UInt((writeBytes / granule).W)
}

/** Ports of [[RowBanks]]. */
class RowBanksIO(addressBits: Int, readBytes: Int, writeBytes: Int, granule: Int, rings: Boolean) extends Bundle {
  val read    = Flipped(new RowBanksReadIO(addressBits, readBytes))
  val writeEn = Input(Bool())
  val write   = Input(new RowBanksWrite(addressBits, writeBytes, granule))

  /** Bytes of a ring, less 1. */
  val ringMask = if (rings) Some(Input(UInt(addressBits.W))) else None
}

/** Memory of two banks, for the even and the odd rows: so a row's worth of bytes, and one byte more, is read or written
  * at any byte address in one cycle. One read and one write port; a read in the cycle of a write to the same row gives
  * either value.
  *
  * @param bytes
  *   size, a power of two
  * @param rowBytes
  *   bytes of a row, a power of two of at least 8
  * @param readBytes
  *   bytes of a read, at most `rowBytes` + 1
  * @param writeBytes
  *   bytes of a write, likewise
  * @param granule
  *   bytes that a write is aligned to, and what its mask resolves: 1, or 8 with `writeBytes` 8
  * @param rings
  *   the memory is divided into equal rings of a power of two of bytes, at least four rows each; else it is one ring
  */
class RowBanks(bytes: Int, rowBytes: Int, readBytes: Int, writeBytes: Int, granule: Int = 1, rings: Boolean = false)
    extends Module {
  require(isPow2(rowBytes) && rowBytes >= 8, s"rowBytes = $rowBytes: choose a power of two of at least 8")
  require(isPow2(bytes) && bytes >= 4 * rowBytes, s"bytes = $bytes: choose a power of two of at least ${4 * rowBytes}")
  for ((name, size) <- Seq("readBytes" -> readBytes, "writeBytes" -> writeBytes))
    require(size >= 1 && size <= rowBytes + 1, s"$name = $size: choose 1 to ${rowBytes + 1}")
  require(
    granule == 1 || granule == 8 && writeBytes == 8,
    s"granule = $granule, writeBytes = $writeBytes: choose granule 1, or both 8"
  )
  private val addressBits = log2Ceil(bytes)
  private val offsetBits  = log2Ceil(rowBytes)
  private val rowIndex    = addressBits - offsetBits
  private val lanes       = rowBytes / granule

  val io = IO(new RowBanksIO(addressBits, readBytes, writeBytes, granule, rings))

  private val banks = Seq.fill(2)(SyncReadMem(bytes / rowBytes / 2, Vec(lanes, UInt((8 * granule).W))))

  /** The rows of the two banks that hold the bytes from `addr` on, and whether the first of them is an odd one. */
  private def rows(addr: UInt): (Seq[UInt], Bool) = {
    val row = addr(addressBits - 1, offsetBits)
    val even = io.ringMask match {
      case None       => ((row +& 1.U) >> 1)(rowIndex - 2, 0)
      case Some(mask) =>
        // Bits of the row that number it inside its ring; the others stay when the ring's last row is passed.
        val inside = mask(addressBits - 1, offsetBits + 1)
        val next   = ((row +& 1.U) >> 1)(rowIndex - 2, 0)
        (next & inside) | (row(rowIndex - 1, 1) & ~inside)
    }
    (Seq(even, row(rowIndex - 1, 1)), row(0))
  }

  private val (readRows, _)  = rows(io.read.addr)
  private val Seq(even, odd) = banks.zip(readRows).map { case (bank, row) => bank.read(row, io.read.enable).asUInt }
  private val from           = RegNext(io.read.addr(offsetBits, 0))
  private val pair           = Mux(from(offsetBits), Cat(even, odd), Cat(odd, even))
  io.read.data := (pair >> Cat(from(offsetBits - 1, 0), 0.U(3.W)))(8 * readBytes - 1, 0)

  private val (writeRows, isOdd) = rows(io.write.addr)

  /** `value`, of one bit or 8 * `granule` bits a lane, moved to the lanes that the write's address names. */
  private def place(value: UInt, laneBits: Int): UInt = {
    val lane = io.write.addr(offsetBits - 1, 0) >> log2Ceil(granule)
    val bits = 2 * lanes * laneBits
    (value << (if (laneBits == 1) lane else Cat(lane, 0.U(log2Ceil(laneBits).W)))).pad(bits)(bits - 1, 0)
  }
  // A write of one lane goes to all of them, and the mask chooses.
  private val data = if (granule == 1) place(io.write.data, 8) else Fill(2 * lanes, io.write.data)
  private val mask = place(io.write.mask, 1)
  private def half(value: UInt, second: Bool): UInt = {
    val bits = value.getWidth / 2
    Mux(second, value(2 * bits - 1, bits), value(bits - 1, 0))
  }
  for ((bank, row, second) <- Seq((banks(0), writeRows(0), isOdd), (banks(1), writeRows(1), !isOdd))) {
    val chosen = half(mask, second)
    when(io.writeEn && chosen.orR) {
      bank.write(row, half(data, second).asTypeOf(Vec(lanes, UInt((8 * granule).W))), chosen.asBools)
    }
  }
}
