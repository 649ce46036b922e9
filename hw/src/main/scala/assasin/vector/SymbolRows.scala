// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Fill, MuxLookup, Valid, log2Ceil}

/** A decoded element. */
class SymbolWrite(p: VectorParams) extends Bundle {
  val bank  = Bool()
  val index = UInt(p.vlBits.W)
  val value = UInt(p.eLen.W)

  /** log2 of the bytes of its lane. */
  val eew = UInt(2.W)
}

/** Which element group of a bank. */
class SymbolRead(p: VectorParams) extends Bundle {
  val bank = Bool()
  val row  = UInt(log2Ceil(SymbolRows.rows(p)).W)
}

class SymbolRowsIO(p: VectorParams) extends Bundle {
  val write = Flipped(Valid(new SymbolWrite(p)))
  val read  = Flipped(Valid(new SymbolRead(p)))

  /** In the next cycle. */
  val row = Output(UInt(p.dLen.W))
}

object SymbolRows {

  /** Element groups of a bank: those of a group of eight registers, or of lanes of 16 bits for all elements of a
    * register of VarVE-full.
    */
  def rows(p: VectorParams): Int = (8 * p.egsPerRegister).max(2 * p.slotsOfByte)
}

/** Elements of Huffman streams between the commit stage, which decodes them, and the unpack path: two banks. */
class SymbolRows(p: VectorParams) extends Module {
  val io = IO(new SymbolRowsIO(p))

  private val rows    = SyncReadMem(2 * SymbolRows.rows(p), Vec(p.dBytes, UInt(8.W)))
  private val element = io.write.bits
  private val logD    = log2Ceil(p.dBytes)
  private val rowBits = log2Ceil(SymbolRows.rows(p))
  private val byte    = (element.index << element.eew)(rowBits + logD - 1, 0)
  private val logs    = 0 to log2Ceil(p.eLen / 8)
  private val data = MuxLookup(element.eew, 0.U(p.dLen.W))(logs.map { log =>
    log.U -> Fill(p.dBytes >> log, element.value((8 << log) - 1, 0))
  })
  private val lane = ((1.U << (1.U << element.eew)) - 1.U)(7, 0)
  private val mask = (lane << byte(logD - 1, 0))(p.dBytes - 1, 0)
  when(io.write.valid) {
    rows.write(element.bank ## byte(rowBits + logD - 1, logD), data.asTypeOf(Vec(p.dBytes, UInt(8.W))), mask.asBools)
  }
  io.row := rows.read(io.read.bits.bank ## io.read.bits.row, io.read.valid).asUInt
}
