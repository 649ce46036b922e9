// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

/** What [[IntegerUnit]] computes of `a` (vs2) and `b` (vs1, scalar or immediate). */
object IntegerFunction {
  val Add          = 0  // a + b
  val Subtract     = 1  // a - b
  val SubtractFrom = 2  // b - a
  val And          = 3
  val Or           = 4
  val Xor          = 5
  val MinUnsigned  = 6
  val Min          = 7
  val MaxUnsigned  = 8
  val Max          = 9
  val Merge        = 10 // b where the mask bit is 1, else a
  val MoveB        = 11
  val MoveA        = 12
  val bits         = 4
}
