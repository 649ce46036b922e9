// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

import chisel3._

/** Finds the errors of codewords from their remainders. Each of three stages works on a codeword of its own: syndromes
  * and key equation, search. The next remainder is divided while the key equation's result waits for the search.
  */
class BchDecoder(p: CodeParams) extends Module {
  require(p.strengths.nonEmpty, "strengths is empty: there is no code to decode")
  val io = IO(new DecoderIO(p))

  private val syndromes   = Module(new Syndromes(p))
  private val keyEquation = Module(new KeyEquation(p))
  private val search      = Module(new RootSearch(p))
  syndromes.io.strength   := io.strength
  keyEquation.io.strength := io.strength
  search.io.strength      := io.strength

  syndromes.io.in <> io.in
  keyEquation.io.codeword <> syndromes.io.codeword
  keyEquation.io.syndrome <> syndromes.io.syndrome
  syndromes.io.finished := keyEquation.io.finished
  search.io.locator <> keyEquation.io.locator
  keyEquation.io.word    := search.io.word
  search.io.coefficients := keyEquation.io.coefficients
  io.error <> search.io.error
  io.result := search.io.result
  io.quiet  := syndromes.io.idle && keyEquation.io.idle && search.io.idle
}
