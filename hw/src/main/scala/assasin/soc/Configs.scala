package assasin.soc

import assasin.SocParams

/** Named configurations: AssasinSb<cores>x<channels>. */
object Configs {

  /** Those that are built and tested as a matter of course. */
  val named: Seq[SocParams] = Seq(sized(1, 1), sized(2, 2), sized(8, 8))

  private val Name = "AssasinSb([0-9]+)x([0-9]+)".r

  /** The configuration called `name`.
    *
    * @throws java.lang.IllegalArgumentException
    *   for a name that is none, or numbers out of range
    */
  def apply(name: String): SocParams = name match {
    case Name(cores, channels) if cores.length <= 3 && channels.length <= 3 => sized(cores.toInt, channels.toInt)
    case _ =>
      throw new IllegalArgumentException(
        s"configuration '$name' is unknown: choose AssasinSb<cores>x<channels>, such as ${named.map(_.name).mkString(", ")}"
      )
  }

  /** Ways grow with the channels: 2 for one channel, 4 for up to four, 16 above. */
  private def sized(cores: Int, channels: Int): SocParams = {
    val ways = if (channels == 1) 2 else if (channels <= 4) 4 else 16
    SocParams(cores = cores, channels = channels, ways = ways)
  }
}
