// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import scala.util.Random

/** 32-bit operands for arithmetic tests. */
object Operands {
  val edges: Seq[Int] =
    Seq(0, 1, 2, 3, -1, -2, Int.MaxValue, Int.MinValue, Int.MinValue + 1, 0xff, 0x100, 0xffff, 0x10000)

  /** An edge value or a random one of any magnitude. */
  def pick(random: Random): Int =
    if (random.nextBoolean()) edges(random.nextInt(edges.size)) else random.nextInt() >>> random.nextInt(32)

  def unsigned(value: Int): BigInt = BigInt(value) & 0xffffffffL
}
