// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

class SlotMultiplierIO(bytes: Int) extends Bundle {

  /** The factor that is extended over all bytes of its element, the one that is taken byte by byte, and the sum so far:
    * at first the factors and 0. A byte's sum has 5 bits that belong to the byte above.
    */
  val a   = Input(Vec(bytes, UInt(8.W)))
  val b   = Input(Vec(bytes, UInt(8.W)))
  val sum = Input(Vec(bytes, UInt(SlotMultiplier.sumBits.W)))

  /** Bytes that begin an element, and bytes of the same element below each byte. */
  val first  = Input(Vec(bytes, Bool()))
  val byteId = Input(Vec(bytes, UInt(3.W)))

  /** The byte is the highest of a signed factor. */
  val signed = Input(Bool())

  /** The same behind this step. */
  val nextA   = Output(Vec(bytes, UInt(8.W)))
  val nextB   = Output(Vec(bytes, UInt(8.W)))
  val nextSum = Output(Vec(bytes, UInt(SlotMultiplier.sumBits.W)))
}

/** A step of the multiplication of elements of up to 8 whole bytes (docs/varve/unit.md 6.6): adds the products of all
  * bytes of a with the lowest byte of b, moves a upwards by a byte and b downwards. All is modulo the element's bytes.
  * Combinational.
  */
class SlotMultiplier(bytes: Int) extends Module {
  val io = IO(new SlotMultiplierIO(bytes))

  private val byte     = ElementSlots.fromFirst(io.b, io.byteId, 8)
  private val products = io.a.zip(byte).map { case (x, y) => x * y }
  for (s <- 0 until bytes) {
    def below(of: => UInt): UInt = if (s == 0) 0.U(8.W) else Mux(io.first(s), 0.U(8.W), of)
    val under                    = below(io.a((s - 1) max 0))
    // A negative highest byte counts 256 less: a, a byte higher, is subtracted, which adds its complement and 1.
    val negative   = io.signed && byte(s)(7)
    val subtracted = Mux(negative, ~under, 0.U(8.W))
    val one        = negative && (if (s == 0) true.B else io.first(s))
    io.nextSum(s) := io.sum(s) + products(s)(7, 0) + below(products((s - 1) max 0)(15, 8)) + subtracted + one
    io.nextA(s)   := under
    io.nextB(s)   := (if (s + 1 < bytes) io.b(s + 1) else 0.U)
  }
}

object SlotMultiplier {

  /** 8 steps add two bytes, and one of them a byte and 1: less than 2^13. */
  val sumBits = 13
}
