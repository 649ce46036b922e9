// SPDX-License-Identifier: BSD-3-Clause
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
}
