package assasin

/** What one chip is elaborated with.
  *
  * @param cores
  *   ASSASIN cores, 1..16
  * @param channels
  *   flash channels, 1..16
  * @param ways
  *   chip enables a channel, 1..16
  * @param phyBytes
  *   bytes a channel's PHY moves a clock cycle: 1, 2 or 4
  * @param pageLog2Max
  *   largest flash page (main area) a channel can buffer, log2 bytes, 9..14
  * @param tcmBytes
  *   firmware memory, bytes
  * @param imemBytes
  *   instruction memory of an ASSASIN core, bytes
  * @param spadBytes
  *   scratchpad of an ASSASIN core, bytes
  * @param streamBytes
  *   input stream buffer, and again output stream buffer, of an ASSASIN core, bytes
  * @param arch
  *   memory architecture of the ASSASIN cores
  * @param trace
  *   adds the retired-instruction port to every core (co-simulation only)
  */
case class SocParams(
    cores: Int = 8,
    channels: Int = 8,
    ways: Int = 16,
    phyBytes: Int = 1,
    pageLog2Max: Int = 12,
    tcmBytes: Int = 256 * 1024,
    imemBytes: Int = 32 * 1024,
    spadBytes: Int = 64 * 1024,
    streamBytes: Int = 64 * 1024,
    arch: Architecture = Architecture.AssasinSb,
    trace: Boolean = false
) {
  require(cores >= 1 && cores <= 16, s"cores = $cores: choose 1 to 16")
  require(channels >= 1 && channels <= 16, s"channels = $channels: choose 1 to 16")
  require(ways >= 1 && ways <= 16, s"ways = $ways: choose 1 to 16")
  require(Set(1, 2, 4).contains(phyBytes), s"phyBytes = $phyBytes: choose 1, 2 or 4")
  require(pageLog2Max >= 9 && pageLog2Max <= 14, s"pageLog2Max = $pageLog2Max: choose 9 to 14")

  /** Core i receives stream pages from channel i alone. */
  def channelLocal: Boolean = arch.channelLocal
  require(
    !channelLocal || cores == channels,
    s"cores = $cores, channels = $channels: a channel-local chip needs as many cores as channels"
  )

  /** Every core has a port to DRAM. */
  def tileDram: Boolean = arch.dataCache

  /** Cores whose streams one channel reaches. */
  def coresAChannel: Int = if (channelLocal) 1 else cores

  /** Streams a direction that a core can hold (S of the paper). */
  val maxStreams: Int = 8

  /** Name used in file names and reports, e.g. AssasinSb8x8. */
  def name: String = s"${arch.name}${cores}x$channels"
}
