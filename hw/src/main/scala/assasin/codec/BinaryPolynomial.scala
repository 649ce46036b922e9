// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

/** Polynomials over GF(2) as integers: bit k is the coefficient of x^k^. */
object BinaryPolynomial {
  def degree(a: BigInt): Int = a.bitLength - 1

  def multiply(a: BigInt, b: BigInt): BigInt =
    (0 until b.bitLength).filter(b.testBit).foldLeft(BigInt(0))((sum, k) => sum ^ (a << k))

  def remainder(a: BigInt, divisor: BigInt): BigInt =
    (a.bitLength - 1 to degree(divisor) by -1).foldLeft(a) { (rest, k) =>
      if (rest.testBit(k)) rest ^ (divisor << (k - degree(divisor))) else rest
    }
}
