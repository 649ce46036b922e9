// SPDX-License-Identifier: BSD-3-Clause
package assasin

import assasin.vector.VectorParams

/** What one chip is elaborated with.
  *
  * @param cores
  *   ASSASIN cores, 1..16
  * @param slots
  *   places for accelerators behind the last core, 0..8; they count as tiles, of which there are at most 16
  * @param channels
  *   flash channels, 1..16
  * @param ways
  *   chip enables a channel, 1..16
  * @param luns
  *   LUNs of a chip enable that work at the same time, 1 or 2; with 1 the LUNs of a larger package take turns
  * @param bar0Bits
  *   widest access to BAR0 that the board brings to the chip, 32 or 64 (as two of 32). With 32 there is no controller
  *   memory buffer, because hosts copy submission entries with wider accesses.
  * @param phyBytes
  *   bytes a channel's PHY moves a clock cycle: 1, 2 or 4
  * @param ecc
  *   strengths of the channels' code, ascending: bits a codeword that can be corrected; empty: channels have no code
  * @param tcmBytes
  *   firmware memory, bytes, a multiple of 4096; the contract's window TCM is as large
  * @param imemBytes
  *   instruction memory of an ASSASIN core, bytes
  * @param spadBytes
  *   scratchpad of an ASSASIN core, bytes
  * @param streamBytes
  *   input stream buffer, and again output stream buffer, of an ASSASIN core, bytes
  * @param arch
  *   memory architecture of the ASSASIN cores
  * @param vector
  *   of the ASSASIN cores' vector units, where `arch` has them; whether they have VarVE `arch` says
  * @param trace
  *   adds the retired-instruction port to every core (co-simulation only)
  */
case class SocParams(
    cores: Int = 8,
    slots: Int = 0,
    channels: Int = 8,
    ways: Int = 16,
    luns: Int = 2,
    bar0Bits: Int = 64,
    phyBytes: Int = 1,
    ecc: Seq[Int] = Seq(24, 40, 55, 70),
    tcmBytes: Int = 384 * 1024,
    imemBytes: Int = 32 * 1024,
    spadBytes: Int = 64 * 1024,
    streamBytes: Int = 64 * 1024,
    arch: Architecture = Architecture.AssasinSb,
    vector: VectorParams = VectorParams(),
    trace: Boolean = false
) {
  require(cores >= 1 && cores <= 16, s"cores = $cores: choose 1 to 16")
  require(slots >= 0 && slots <= 8, s"slots = $slots: choose 0 to 8")
  require(cores + slots <= 16, s"cores = $cores, slots = $slots: together at most 16")
  require(channels >= 1 && channels <= 16, s"channels = $channels: choose 1 to 16")
  require(ways >= 1 && ways <= 16, s"ways = $ways: choose 1 to 16")
  require(luns == 1 || luns == 2, s"luns = $luns: choose 1 or 2")
  require(bar0Bits == 32 || bar0Bits == 64, s"bar0Bits = $bar0Bits: choose 32 or 64")
  require(Set(1, 2, 4).contains(phyBytes), s"phyBytes = $phyBytes: choose 1, 2 or 4")
  require(
    ecc.length <= 7 && ecc.forall(t => t >= 1 && t <= 75) && ecc == ecc.distinct.sorted,
    s"ecc = $ecc: choose up to 7 different strengths of 1 to 75, ascending"
  )

  /** Core i receives stream pages from channel i alone. */
  def channelLocal: Boolean = arch.channelLocal
  require(
    !channelLocal || cores == channels,
    s"cores = $cores, channels = $channels: a channel-local chip needs as many cores as channels"
  )

  require(!channelLocal || slots == 0, s"slots = $slots: a channel-local chip has none")

  /** The host has a controller memory buffer. */
  def memoryBuffer: Boolean = bar0Bits == 64

  /** What the crossbar sees: cores, then slots. */
  def tiles: Int = cores + slots

  /** Every core has a port to DRAM. */
  def tileDram: Boolean = arch.dataCache

  /** Tiles whose streams one channel reaches. */
  def tilesAChannel: Int = if (channelLocal) 1 else tiles

  /** Streams a direction that a core can hold (S of the paper). */
  val maxStreams: Int = 8

  /** Name used in file names and reports, e.g. AssasinSb8x8; with slots e.g. AssasinSbHls8x8. */
  def name: String = s"${arch.name}${if (slots > 0) "Hls" else ""}${cores}x$channels"
}
