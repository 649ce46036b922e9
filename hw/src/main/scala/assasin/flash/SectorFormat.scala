package assasin.flash

/** Sizes of a sector, see docs/medium.md. */
object SectorFormat {

  /** Data and metadata bytes of a codeword, and both together. */
  val DataBytes: Int     = 1024
  val MetadataBytes: Int = 4
  val MessageBytes: Int  = DataBytes + MetadataBytes

  /** Codewords, and words of eight data bytes, of a sector. */
  val Codewords: Int = 4
  val Words: Int     = Codewords * DataBytes / 8

  /** Parity bytes of a codeword on a bus with `beatBytes` bytes a beat: 14 bits for each bit that can be corrected, 7
    * less in all from 65 on.
    */
  def parityBytes(t: Int, beatBytes: Int): Int = {
    val degree = if (t > 64) 14 * t - 7 else 14 * t
    val bytes  = (degree + 7) / 8
    (bytes + beatBytes - 1) / beatBytes * beatBytes
  }
}
