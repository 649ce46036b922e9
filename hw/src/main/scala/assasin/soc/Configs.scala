package assasin.soc

import assasin.{Architecture, SocParams}

/** Named configurations: <Architecture><cores>x<channels>. */
object Configs {

  /** Those that are built and tested as a matter of course. */
  val named: Seq[SocParams] = Seq(1 -> 1, 2 -> 2, 8 -> 8).map { case (cores, channels) =>
    sized(Architecture.AssasinSb, cores, channels)
  }

  private val Name = "([A-Za-z]+)([0-9]{1,3})x([0-9]{1,3})".r

  /** The configuration called `name`.
    *
    * @throws java.lang.IllegalArgumentException
    *   for a name that is none, or numbers out of range
    */
  def apply(name: String): SocParams = {
    val parsed = name match {
      case Name(arch, cores, channels) =>
        Architecture.all.find(_.name == arch).map(sized(_, cores.toInt, channels.toInt))
      case _ => None
    }
    parsed.getOrElse(
      throw new IllegalArgumentException(
        s"configuration '$name' is unknown: choose <architecture><cores>x<channels>, such as ${named.last.name}; " +
          s"architectures: ${Architecture.all.map(_.name).mkString(", ")}"
      )
    )
  }

  /** Ways grow with the channels: 2 for one channel, 4 for up to four, 16 above. */
  private def sized(arch: Architecture, cores: Int, channels: Int): SocParams = {
    val ways = if (channels == 1) 2 else if (channels <= 4) 4 else 16
    SocParams(cores = cores, channels = channels, ways = ways, arch = arch)
  }
}
