// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Cat, MuxLookup}

import assasin.CoreExtensions

/** Ports of [[AesUnit]]. */
class AesUnitIO extends Bundle {

  /** The byte of `b` that is used, and where its result goes. */
  val byte = Input(UInt(2.W))

  /** Inverse cipher. */
  val decrypt = Input(Bool())

  /** With the column mix: a middle round. */
  val mix = Input(Bool())
  val a   = Input(UInt(32.W))
  val b   = Input(UInt(32.W))
  val out = Output(UInt(32.W))
}

/** AES32ESI, AES32ESMI (Zkne), AES32DSI, AES32DSMI (Zknd), combinational: one byte of a round's output column. */
class AesUnit(e: CoreExtensions) extends Module {
  require(e.zkne || e.zknd, "no AES instruction to be made")
  val io = IO(new AesUnitIO)

  private val source = MuxLookup(io.byte, 0.U(8.W))(Seq.tabulate(4)(i => i.U -> io.b(8 * i + 7, 8 * i)))

  private def lookup(table: Seq[Int]): UInt = VecInit(table.map(_.U(8.W)))(source)

  /** Product in GF(2^8) with a constant. */
  private def times(x: UInt, factor: Int): UInt = {
    val powers = Iterator.iterate(x)(p => Cat(p(6, 0), 0.U(1.W)) ^ Mux(p(7), 0x1b.U(8.W), 0.U)).take(4).toSeq
    powers.zipWithIndex.collect { case (p, i) if (factor >> i & 1) != 0 => p }.reduce(_ ^ _)
  }
  private def column(x: UInt, factors: Seq[Int]): UInt =
    Mux(io.mix, Cat(factors.map(times(x, _))), x.pad(32))

  private def forward = column(lookup(AesSbox.forward), Seq(3, 1, 1, 2))
  private def inverse = column(lookup(AesSbox.inverse), Seq(11, 13, 9, 14))

  private val word =
    if (e.zkne && e.zknd) Mux(io.decrypt, inverse, forward) else if (e.zkne) forward else inverse
  private val placed =
    MuxLookup(io.byte, word)(Seq.tabulate(4)(i => i.U -> word.rotateLeft(8 * i)))
  io.out := io.a ^ placed
}

/** Substitution tables of FIPS 197, computed from their definition. */
object AesSbox {

  /** Product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1. */
  private def product(a: Int, b: Int): Int =
    (0 until 8)
      .foldLeft((0, a)) { case ((sum, power), bit) =>
        (if ((b >> bit & 1) != 0) sum ^ power else sum, (power << 1 ^ (if ((power & 0x80) != 0) 0x11b else 0)) & 0xff)
      }
      ._1

  private def substitute(x: Int): Int = {
    val i = (0 until 256).find(product(x, _) == 1).getOrElse(0)
    (1 to 4).foldLeft(i ^ 0x63)((sum, n) => sum ^ ((i << n | i >> (8 - n)) & 0xff))
  }

  val forward: Seq[Int] = (0 until 256).map(substitute)
  val inverse: Seq[Int] = (0 until 256).map(x => forward.indexOf(x))
}
