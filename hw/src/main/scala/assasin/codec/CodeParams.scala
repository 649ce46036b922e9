// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

/** What a channel's page codec is elaborated with.
  *
  * @param strengths
  *   bits a codeword that can be corrected, ascending; strength n of the registers is strengths(n - 1), strength 0 is
  *   no code. Without any there is no codec to elaborate.
  * @param beatBytes
  *   bytes a beat of the bus carries: 1, 2 or 4
  * @param lanes
  *   terms of the error locator that the search evaluates at a time: 4, 8, 16 or 32
  * @param messageBytes
  *   bytes of a codeword that the code protects
  */
case class CodeParams(strengths: Seq[Int], beatBytes: Int, lanes: Int = 16, messageBytes: Int = 1028) {
  require(strengths.size <= 7, s"strengths = $strengths: at most 7, the entries of CODE_INFO beside entry 0")
  require(strengths == strengths.distinct.sorted, s"strengths = $strengths: give each once, in ascending order")
  require(Set(1, 2, 4).contains(beatBytes), s"beatBytes = $beatBytes: choose 1, 2 or 4")
  require(Set(4, 8, 16, 32).contains(lanes), s"lanes = $lanes: choose 4, 8, 16 or 32")
  require(
    messageBytes > 0 && messageBytes <= 1028 && messageBytes % beatBytes == 0,
    s"messageBytes = $messageBytes: choose whole beats of $beatBytes bytes, at most 1028 bytes"
  )

  val codes: Seq[BchCode] = strengths.map(BchCode(_))
  for (code <- codes) {
    val bits = 8 * (messageBytes + code.parityBytes(beatBytes) + beatBytes)
    require(bits <= GaloisField.order, s"t = ${code.t}: $bits bits a codeword, the field allows ${GaloisField.order}")
  }

  val beatBits: Int = 8 * beatBytes

  /** Greatest t. */
  def most: Int = strengths.lastOption.getOrElse(0)

  /** Bits of a remainder: those of the strongest code, rounded up to whole beats. */
  val width: Int = (GaloisField.bits * most + beatBits - 1) / beatBits * beatBits

  /** Entry n of CODE_INFO: t and parity bytes; 0 is no code. */
  def info: Seq[(Int, Int)] = (0, 0) +: codes.map(c => (c.t, c.parityBytes(beatBytes)))
}
