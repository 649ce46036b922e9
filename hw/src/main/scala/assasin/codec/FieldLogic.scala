// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

import chisel3._

/** GF(2^14^) in hardware. */
object FieldLogic {
  import GaloisField.{alpha, bits}

  def apply(): UInt = UInt(bits.W)

  private def sum(terms: Seq[UInt]): UInt = terms.reduce(_ ^ _)

  /** a * alpha^n^, for a constant n. */
  def times(a: UInt, n: Int): UInt =
    if (n == 0) a else sum((0 until bits).map(k => Mux(a(k), alpha(n + k).U(bits.W), 0.U)))

  /** The same for a small n, step by step: alpha and its inverse have few bits, so that most bits of `a` only move. */
  def timesNear(a: UInt, n: Int): UInt = {
    val (moved, entering, constant) =
      if (n > 0) (a(bits - 2, 0) ## 0.U(1.W), a(bits - 1), alpha(bits)) else (a(bits - 1, 1), a(0), alpha(-1))
    if (n == 0) a
    else if (n.abs > 24) times(a, n)
    else timesNear(moved ^ Mux(entering, constant.U(bits.W), 0.U), n - n.sign)
  }

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

  /** Sum over the elements of `words`, lowest first, of element k * alpha^(k n)^, for a small n, by Horner's rule
    * within a word and over the words.
    */
  def evaluate(words: Seq[UInt], n: Int): UInt = {
    val perWord                                = words.head.getWidth / bits
    def horner(terms: Seq[UInt], n: Int): UInt = terms.reduceRight((term, above) => term ^ timesNear(above, n))
    horner(words.map(w => horner((0 until perWord).map(k => w(bits * k + bits - 1, bits * k)), n)), perWord * n)
  }
}
