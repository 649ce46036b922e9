// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

import chisel3._

/** Finds the errors of codewords from their remainders. */
class BchDecoder(p: CodeParams) extends Module {
  require(p.strengths.nonEmpty, "strengths is empty: there is no code to decode")
  val io = IO(new DecoderIO(p))
  io <> DontCare
}
