// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

/** GF(2^14^), the field of the page code, as integers: bit k of an element is the coefficient of x^k^, alpha = x. */
object GaloisField {
  val bits: Int = 14

  /** x^14^ + x^10^ + x^6^ + x + 1 */
  val primitive: Int = 0x4443

  /** Order of alpha: the most bits a codeword can have. */
  val order: Int = (1 << bits) - 1

  private def timesAlpha(a: Int): Int = {
    val doubled = a << 1
    if ((doubled >> bits) != 0) doubled ^ primitive else doubled
  }
  private val powers: Array[Int]  = Iterator.iterate(1)(timesAlpha).take(order).toArray
  private val logs: Map[Int, Int] = powers.zipWithIndex.toMap

  /** alpha^n^; n may be negative. */
  def alpha(n: Int): Int = powers(Math.floorMod(n, order))

  def multiply(a: Int, b: Int): Int = if (a == 0 || b == 0) 0 else alpha(logs(a) + logs(b))

  /** The exponents of alpha^j^'s conjugates: j, 2j, 4j, ... */
  def conjugates(j: Int): Set[Int] = Iterator.iterate(j % order)(e => (2 * e) % order).take(bits).toSet

  /** Minimal polynomial of alpha^j^ over GF(2); bit k is the coefficient of x^k^. */
  def minimalPolynomial(j: Int): BigInt = {
    // Coefficients in GF(2^14), lowest first; the product of all (x + conjugate) has only 0 and 1.
    val product = conjugates(j).foldLeft(Vector(1)) { (poly, e) =>
      val shifted = 0 +: poly
      val scaled  = poly.map(multiply(_, alpha(e))) :+ 0
      shifted.zip(scaled).map { case (a, b) => a ^ b }
    }
    product.zipWithIndex.map { case (c, k) => BigInt(c) << k }.sum
  }
}
