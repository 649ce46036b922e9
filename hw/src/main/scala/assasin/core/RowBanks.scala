// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Cat, isPow2, log2Ceil}

/** A read of [[RowBanks]], seen from the reader. */
class RowBanksReadIO(addressBits: Int, rowBytes: Int) extends Bundle {

  /** Without it nothing is read, and `data` means nothing in the next cycle. */
  val enable = Output(Bool())

  /** Any byte. */
  val addr = Output(UInt(addressBits.W))

  /** In the next cycle: the bytes from `addr` on, those behind the memory's last byte from its first on. */
  val data = Input(UInt((8 * rowBytes).W))
}

/** A write of [[RowBanks]]. */
class RowBanksWrite(addressBits: Int, rowBytes: Int) extends Bundle {

  /** Any byte. */
  val addr = UInt(addressBits.W)

  /** From the addressed byte on. */
  val data = UInt((8 * rowBytes).W)

  /** Bytes of `data` to write. */
  val mask = UInt(rowBytes.W)
}

/** Ports of [[RowBanks]]. */
class RowBanksIO(addressBits: Int, rowBytes: Int) extends Bundle {
  val read    = Flipped(new RowBanksReadIO(addressBits, rowBytes))
  val writeEn = Input(Bool())
  val write   = Input(new RowBanksWrite(addressBits, rowBytes))
}

/** Memory of two banks, for the even and the odd rows: so a row's worth of bytes is read or written at any byte address
  * in one cycle. One read and one write port; a read in the cycle of a write to the same row gives either value.
  *
  * @param bytes
  *   size, a power of two
  * @param rowBytes
  *   bytes of a row, a power of two of at least 8
  */
class RowBanks(bytes: Int, rowBytes: Int) extends Module {
  require(isPow2(rowBytes) && rowBytes >= 8, s"rowBytes = $rowBytes: choose a power of two of at least 8")
  require(isPow2(bytes) && bytes >= 4 * rowBytes, s"bytes = $bytes: choose a power of two of at least ${4 * rowBytes}")
  private val addressBits = log2Ceil(bytes)
  private val offsetBits  = log2Ceil(rowBytes)
  private val rowBits     = 8 * rowBytes

  val io = IO(new RowBanksIO(addressBits, rowBytes))

  private val banks = Seq.fill(2)(SyncReadMem(bytes / rowBytes / 2, Vec(rowBytes, UInt(8.W))))

  /** The rows of the two banks that hold the bytes from `addr` on, and whether the first of them is an odd one. */
  private def rows(addr: UInt): (Seq[UInt], Bool) = {
    val row = addr(addressBits - 1, offsetBits)
    (Seq(((row +& 1.U) >> 1)(addressBits - offsetBits - 2, 0), row(row.getWidth - 1, 1)), row(0))
  }

  private val (readRows, _)  = rows(io.read.addr)
  private val Seq(even, odd) = banks.zip(readRows).map { case (bank, row) => bank.read(row, io.read.enable).asUInt }
  private val from           = RegNext(io.read.addr(offsetBits, 0))
  private val pair           = Mux(from(offsetBits), Cat(even, odd), Cat(odd, even))
  io.read.data := (pair >> Cat(from(offsetBits - 1, 0), 0.U(3.W)))(rowBits - 1, 0)

  private val (writeRows, isOdd) = rows(io.write.addr)
  private val offset             = io.write.addr(offsetBits - 1, 0)
  private val data               = (io.write.data << Cat(offset, 0.U(3.W))).pad(2 * rowBits)
  private val mask               = (io.write.mask << offset).pad(2 * rowBytes)
  private def half(value: UInt, second: Bool): UInt = {
    val bits = value.getWidth / 2
    Mux(second, value(2 * bits - 1, bits), value(bits - 1, 0))
  }
  for ((bank, row, second) <- Seq((banks(0), writeRows(0), isOdd), (banks(1), writeRows(1), !isOdd))) {
    val chosen = half(mask, second)
    when(io.writeEn && chosen.orR) {
      bank.write(row, half(data, second).asTypeOf(Vec(rowBytes, UInt(8.W))), chosen.asBools)
    }
  }
}
