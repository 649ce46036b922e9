// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

/** The binary BCH code that corrects `t` bits of a codeword (docs/medium.md, "Code"). */
case class BchCode(t: Int) {
  require(t >= 1 && t <= 120, s"t = $t: choose 1 to 120, the counts that 7 bits of a completion hold")

  /** Minimal polynomials of alpha, alpha^3^, ... alpha^(2t-1)^ in that order, with repetitions. */
  val minimalPolynomials: Seq[BigInt] = (1 until 2 * t by 2).map(GaloisField.minimalPolynomial)

  /** Least common multiple of the minimal polynomials. */
  val generator: BigInt = minimalPolynomials.distinct.foldLeft(BigInt(1))(BinaryPolynomial.multiply)

  /** Parity bits. */
  val degree: Int = BinaryPolynomial.degree(generator)

  /** Bytes that hold parity bits. */
  val usedBytes: Int = (degree + 7) / 8

  /** Parity bytes of a codeword on the bus. */
  def parityBytes(beatBytes: Int): Int = (usedBytes + beatBytes - 1) / beatBytes * beatBytes

  /** Bits behind the last parity bit, up to the end of the last beat. */
  def padding(beatBytes: Int): Int = 8 * parityBytes(beatBytes) - degree
}
