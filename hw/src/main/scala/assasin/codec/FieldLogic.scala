// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

import chisel3._
import chisel3.util.Cat

/** GF(2^14^) in hardware. */
object FieldLogic {
  import GaloisField.{alpha, bits}

  def apply(): UInt = UInt(bits.W)

  private def sum(terms: Seq[UInt]): UInt = terms.reduce(_ ^ _)

  /** a * alpha^n^, for a constant n. */
  def times(a: UInt, n: Int): UInt =
    if (n == 0) a else sum((0 until bits).map(k => Mux(a(k), alpha(n + k).U(bits.W), 0.U)))

  /** For each bit of a * alpha^n^: which bits of `a` it is the sum of. */
  def masks(n: Int): Seq[Int] = (0 until bits).map { row =>
    (0 until bits).map(k => ((alpha(n + k) >> row) & 1) << k).sum
  }

  /** a^2^ */
  def square(a: UInt): UInt = sum((0 until bits).map(k => Mux(a(k), alpha(2 * k).U(bits.W), 0.U)))

  /** Product of two polynomials, before it is reduced: twice an element's bits, less one. */
  def product(a: UInt, b: UInt): UInt = sum((0 until bits).map(k => Mux(b(k), (a << k).pad(2 * bits - 1), 0.U)))

  /** The element that a product stands for. */
  def reduce(product: UInt): UInt =
    sum(product(bits - 1, 0) +: (bits until 2 * bits - 1).map(k => Mux(product(k), alpha(k).U(bits.W), 0.U)))

  /** Sum of multiples(k) over the bits k that are set in `a`: a * m, if multiples(k) is m * alpha^k^. */
  def select(a: Seq[Bool], multiples: Seq[UInt]): UInt = sum(a.zip(multiples).map { case (on, m) => Mux(on, m, 0.U) })

  /** Sum over the elements of `words`, lowest first, of element k * alpha^(k n)^. */
  def evaluate(words: Seq[UInt], n: Int): UInt = {
    val perWord = words.head.getWidth / bits
    Cat((bits - 1 to 0 by -1).map { row =>
      sum(words.zipWithIndex.map { case (word, w) =>
        val mask = (0 until perWord).map(k => BigInt(masks((w * perWord + k) * n)(row)) << (bits * k)).sum
        word & mask.U(word.getWidth.W)
      }).xorR
    })
  }
}
