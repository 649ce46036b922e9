// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

import chisel3._
import chisel3.util.{Decoupled, Valid}

/** One erroneous bit of a message. */
class CodecError extends Bundle {
  val id = UInt(8.W)

  /** 8 * byte of the codeword + (7 - bit number in the byte): counted in sending order. */
  val bit = UInt(14.W)
}

/** What became of a codeword. */
class CodecResult extends Bundle {
  val id = UInt(8.W)

  /** Errors found, also those in parity. */
  val count  = UInt(7.W)
  val failed = Bool()
}

class DecoderIO(p: CodeParams) extends Bundle {

  /** Index into CODE_INFO; changes only while quiet. */
  val strength = Input(UInt(3.W))

  /** For each codeword the beats of its errors' remainder, highest power first, with 0 behind the parity bits, and then
    * a beat with its id; a codeword's beats come without a gap. Every codeword gives one result, in the order taken.
    */
  val in = Flipped(Decoupled(UInt(p.beatBits.W)))

  /** Bits to invert, in no certain order; errors in parity are not shown. A codeword that fails may have shown some. */
  val error = Decoupled(new CodecError)

  /** After the codeword's last error has been taken. */
  val result = Valid(new CodecResult)

  /** There is no codeword in the decoder: nothing happens in it before `in` is valid. */
  val quiet = Output(Bool())
}
