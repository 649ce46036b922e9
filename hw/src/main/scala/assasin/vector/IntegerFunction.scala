// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

/** What the execute path computes of `a` (vs2) and `b` (vs1, scalar or immediate). */
object IntegerFunction {
  val Add               = 0  // a + b
  val Subtract          = 1  // a - b
  val SubtractFrom      = 2  // b - a
  val And               = 3
  val Or                = 4
  val Xor               = 5
  val MinUnsigned       = 6
  val Min               = 7
  val MaxUnsigned       = 8
  val Max               = 9
  val Merge             = 10 // b where the mask bit is 1, else a
  val MoveB             = 11
  val MoveA             = 12
  val AddCarry          = 13 // a + b + mask bit; the flag is the carry
  val SubtractBorrow    = 14 // a - b - mask bit; the flag is the borrow
  val Equal             = 16 // flags
  val NotEqual          = 17
  val LessUnsigned      = 18 // a < b
  val Less              = 19
  val LessEqualUnsigned = 20
  val LessEqual         = 21
  val GreaterUnsigned   = 22
  val Greater           = 23
  val ShiftLeft         = 24 // a by the low bits of b
  val ShiftRight        = 25
  val ShiftRightSigned  = 26
  val bits              = 5
}
