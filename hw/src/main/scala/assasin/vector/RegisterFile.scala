// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Valid, log2Ceil}

/** A write of bytes of an element group. */
class RegisterWrite(p: VectorParams) extends Bundle {
  val eg   = UInt(p.egBits.W)
  val data = UInt(p.dLen.W)
  val mask = UInt(p.dBytes.W)
}

/** A read in the same cycle. */
class RegisterReadIO(p: VectorParams) extends Bundle {
  val eg   = Output(UInt(p.egBits.W))
  val data = Input(UInt(p.dLen.W))
}

class RegisterFileIO(p: VectorParams) extends Bundle {

  /** vs1, vs2, vd: these see what is written in the same cycle. */
  val operands = Flipped(Vec(3, new RegisterReadIO(p)))

  /** A store's data, an index, the window: sees what has been written before this cycle. */
  val element = Flipped(new ElementReadIO(p))

  val write = Input(Valid(new RegisterWrite(p)))

  /** v0, with what is written in the same cycle. */
  val v0 = Output(UInt(p.vLen.W))
}

/** The 32 vector registers as rows of DLEN bits, and a copy of v0. Contents are undefined after power-up. */
class RegisterFile(p: VectorParams) extends Module {
  val io = IO(new RegisterFileIO(p))

  private def bytes(data: UInt) = VecInit(Seq.tabulate(p.dBytes)(i => data(8 * i + 7, 8 * i)))
  private val rows              = Mem(p.egs, Vec(p.dBytes, UInt(8.W)))
  private val write             = io.write.bits
  when(io.write.valid)(rows.write(write.eg, bytes(write.data), write.mask.asBools))

  for (read <- io.operands) {
    val through = io.write.valid && write.eg === read.eg
    val row     = rows(read.eg)
    read.data := Cat(
      Seq.tabulate(p.dBytes)(i => Mux(through && write.mask(i), write.data(8 * i + 7, 8 * i), row(i))).reverse
    )
  }
  private val row   = rows(io.element.eg).asUInt
  private val words = VecInit(Seq.tabulate(p.dLen / p.eLen)(i => row(p.eLen * (i + 1) - 1, p.eLen * i)))
  private val logE  = log2Ceil(p.eLen / 8)
  io.element.data := row
  io.element.element := words(
    if (p.dLen > p.eLen) io.element.byte(log2Ceil(p.dBytes) - 1, logE) else 0.U
  ) >> (io.element.byte(logE - 1, 0) ## 0.U(3.W))

  // The part of v0 that a write of its element group changes.
  private val v0 = Reg(Vec(p.egsPerRegister, Vec(p.dBytes, UInt(8.W))))
  private val seen = VecInit(Seq.tabulate(p.egsPerRegister) { eg =>
    val hit = io.write.valid && write.eg === eg.U
    VecInit(
      Seq.tabulate(p.dBytes)(i => Mux(hit && write.mask(i), write.data(8 * i + 7, 8 * i), v0(eg)(i)))
    )
  })
  for (eg <- 0 until p.egsPerRegister) when(io.write.valid && write.eg === eg.U)(v0(eg) := seen(eg))
  io.v0 := seen.asUInt
}
