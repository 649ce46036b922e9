// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

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

  // MultiplyUnit; `c` is the third operand.
  val MultiplyLow                = 32 // a * b
  val MultiplyHighUnsigned       = 33
  val MultiplyHigh               = 34
  val MultiplyHighSignedUnsigned = 35 // a is signed, b is not
  val MultiplyAdd                = 36 // c + a * b
  val MultiplySubtract           = 37 // c - a * b
  val MultiplyFraction           = 38 // a * b / 2^(SEW - 1), signed, rounded

  // DivideUnit: a / b.
  val DivideUnsigned    = 40
  val Divide            = 41
  val RemainderUnsigned = 42
  val Remainder         = 43

  // FixedPointUnit. Bit 0: signed; bit 1 of sums: a - b instead of a + b.
  val SaturateAddUnsigned      = 48
  val SaturateAdd              = 49
  val SaturateSubtractUnsigned = 50
  val SaturateSubtract         = 51
  val AverageAddUnsigned       = 52
  val AverageAdd               = 53
  val AverageSubtractUnsigned  = 54
  val AverageSubtract          = 55
  val ScaleRight               = 56 // shift with rounding
  val ScaleRightSigned         = 57
  val ClipUnsigned             = 58 // shift with rounding, then half as many bits with saturation
  val Clip                     = 59

  // MaskUnit: bits of mask registers. Those with bit 2 look for the first active 1.
  val CountOnes    = 64
  val Iota         = 65 // of each element: how many active ones are below it
  val Index        = 66 // of each element
  val FindFirst    = 68
  val SetBefore    = 69 // vmsbf
  val SetIncluding = 70 // vmsif
  val SetOnly      = 71 // vmsof

  // PermuteUnit.
  val SlideUp    = 72
  val SlideDown  = 73
  val Slide1Up   = 74
  val Slide1Down = 75
  val Gather     = 76 // indices in vs1, of SEW bits
  val Gather16   = 77 // indices in vs1, of 16 bits
  val GatherOne  = 78 // the index is the scalar
  val Compress   = 79

  val bits = 7

  /** The unit that computes a function. */
  def isShift(function: UInt): Bool    = function(6, 3) === (ShiftLeft >> 3).U
  def isMultiply(function: UInt): Bool = function(6, 3) === (MultiplyLow >> 3).U
  def isDivide(function: UInt): Bool   = function(6, 3) === (DivideUnsigned >> 3).U
  def isFixed(function: UInt): Bool    = function(6, 4) === (SaturateAddUnsigned >> 4).U
  def isMask(function: UInt): Bool     = function(6, 3) === (CountOnes >> 3).U
  def isPermute(function: UInt): Bool  = function(6, 3) === (SlideUp >> 3).U

  /** Those of three stages. */
  def isLong(function: UInt): Bool = isMultiply(function) || isFixed(function)

  /** Products of which more than the low half matters. */
  def isHighProduct(function: UInt): Bool =
    Seq(MultiplyHighUnsigned, MultiplyHigh, MultiplyHighSignedUnsigned, MultiplyFraction)
      .map(function === _.U)
      .reduce(_ || _)

  /** Shifts to the right that copy the sign. */
  def shiftsSigned(function: UInt): Bool =
    function === ShiftRightSigned.U || function === ScaleRightSigned.U || function === Clip.U
}
