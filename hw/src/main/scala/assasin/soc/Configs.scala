package assasin.soc

import assasin.SocParams

/** Named configurations: <Arch><cores>x<channels>, Arch being AssasinSb or ChannelLocal. */
object Configs {

  /** Those that are built and tested as a matter of course. */
  val named: Seq[SocParams] = Seq(sized(1, 1), sized(2, 2), sized(8, 8))

  private val Name = "(AssasinSb|ChannelLocal)([0-9]+)x([0-9]+)".r

  /** The configuration called `name`.
    *
    * @throws java.lang.IllegalArgumentException
    *   for a name that is none, or numbers out of range
    */
  def apply(name: String): SocParams = name match {
    case Name(arch, cores, channels) if cores.length <= 3 && channels.length <= 3 =>
      sized(cores.toInt, channels.toInt).copy(channelLocal = arch == "ChannelLocal")
    case _ =>
      throw new IllegalArgumentException(
        s"configuration '$name' is unknown: choose <Arch><cores>x<channels>, Arch being AssasinSb or ChannelLocal, such as ${named.map(_.name).mkString(", ")}"
      )
  }

  /** Ways grow with the channels: 2 for one channel, 4 for up to four, 16 above. */
  private def sized(cores: Int, channels: Int): SocParams = {
    val ways = if (channels == 1) 2 else if (channels <= 4) 4 else 16
    SocParams(cores = cores, channels = channels, ways = ways)
  }
}
