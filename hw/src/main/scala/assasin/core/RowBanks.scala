// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Cat, Fill, RegEnable, isPow2, log2Ceil}

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
  private val from           = RegEnable(io.read.addr(offsetBits, 0), io.read.enable)
  private val (fromLane, fromOdd)             = (from(offsetBits - 1, 0), from(offsetBits))
  private def byteOf(row: UInt, i: Int): UInt = row(8 * i + 7, 8 * i)

  // The lanes from the first byte's on are of its row, those below of the next one. A byte more than a row is the next
  // row's in the lane of the first.
  private val window = Cat((0 until rowBytes).reverse.map { i =>
    Mux(fromOdd ^ (i.U < fromLane), byteOf(odd, i), byteOf(even, i))
  })
  private val above = Seq(odd, even).map(row => VecInit(Seq.tabulate(rowBytes)(byteOf(row, _)))(fromLane))
  io.read.data := Cat(Mux(fromOdd, above(1), above(0)), ByteRotate.down(window, fromLane))(8 * readBytes - 1, 0)

  private val (writeRows, isOdd) = rows(io.write.addr)

  private val lane = (io.write.addr(offsetBits - 1, 0) >> log2Ceil(granule)).asUInt

  // What is written begins in a lane of the first row and goes on from lane 0 of the second.
  private val mask = (io.write.mask << lane).pad(2 * lanes)(2 * lanes - 1, 0)
  private val turned =
    if (granule == 1) ByteRotate.up(io.write.data.pad(8 * rowBytes)(8 * rowBytes - 1, 0), lane)
    else Fill(lanes, io.write.data)

  /** Lane `i` of a row. A byte more than a row lies in the second row in the lane of the first byte. */
  private def written(second: Bool, i: Int): UInt = {
    val bits = 8 * granule
    val byte = turned((i + 1) * bits - 1, i * bits)
    if (writeBytes <= rowBytes) byte
    else Mux(second && lane === i.U, io.write.data(8 * writeBytes - 1, 8 * rowBytes), byte)
  }
  for ((bank, row, isSecond) <- Seq((banks(0), writeRows(0), isOdd), (banks(1), writeRows(1), !isOdd))) {
    val chosen = Mux(isSecond, mask(2 * lanes - 1, lanes), mask(lanes - 1, 0))
    when(io.writeEn && chosen.orR) {
      bank.write(row, VecInit(Seq.tabulate(lanes)(written(isSecond, _))), chosen.asBools)
    }
  }
}
