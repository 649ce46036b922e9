// SPDX-License-Identifier: BSD-3-Clause
package assasin.soc

import assasin.{Architecture, SocParams}

/** Named configurations: <Architecture><cores>x<channels>, or with slots for accelerators
  * <Architecture>Hls<cores>x<channels>.
  */
object Configs {

  /** Those that are built and tested as a matter of course. */
  val named: Seq[SocParams] = Seq(1 -> 1, 2 -> 2, 8 -> 8).map { case (cores, channels) =>
    sized(Architecture.AssasinSb, cores, channels)
  }

  /** Slots of a configuration that has some. */
  private val Slots = 2

  /** What a name may begin with: architecture and slots. */
  private val families: Seq[(String, Architecture, Int)] =
    Architecture.all.map(a => (a.name, a, 0)) :+ (("AssasinSbHls", Architecture.AssasinSb, Slots))

  private val Name = "([A-Za-z]+)([0-9]{1,3})x([0-9]{1,3})".r

  /** The configuration called `name`.
    *
    * @throws java.lang.IllegalArgumentException
    *   for a name that is none, or numbers out of range
    */
  def apply(name: String): SocParams = {
    val parsed = name match {
      case Name(family, cores, channels) =>
        families.find(_._1 == family).map { case (_, arch, slots) => sized(arch, cores.toInt, channels.toInt, slots) }
      case _ => None
    }
    parsed.getOrElse(
      throw new IllegalArgumentException(
        s"configuration '$name' is unknown: choose <architecture><cores>x<channels>, such as ${named.last.name}; " +
          s"architectures: ${families.map(_._1).mkString(", ")}"
      )
    )
  }

  /** Ways grow with the channels: 2 for one channel, 4 for up to four, 16 above. */
  private def sized(arch: Architecture, cores: Int, channels: Int, slots: Int = 0): SocParams = {
    val ways = if (channels == 1) 2 else if (channels <= 4) 4 else 16
    SocParams(cores = cores, slots = slots, channels = channels, ways = ways, arch = arch)
  }
}
