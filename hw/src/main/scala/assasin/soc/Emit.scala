// SPDX-License-Identifier: BSD-3-Clause
package assasin.soc

import _root_.circt.stage.ChiselStage
import assasin.{Emission, SocParams}
import assasin.bus.Axi4Params
import java.nio.charset.StandardCharsets
import java.nio.file.{Files, Path, Paths}
import scala.jdk.CollectionConverters._

/** Writes a configuration as SystemVerilog: one file a module, `filelist.f` that names them, and `config.json`.
  *
  * Usage: Emit --config AssasinSb8x8 --out DIR [--board] [--uncore] [--ways N] [--luns N] [--bar0-bits N]
  * [--vector-bits N] [--without-codec]
  *
  * `--ways`: chip enables a channel, where a board has another number than the configuration. `--luns 1`: the LUNs of a
  * chip enable take turns, which makes channels smaller. `--bar0-bits 32`: the board brings no wider accesses to BAR0,
  * and the chip has no controller memory buffer. `--vector-bits`: of a vector register and of an element group, where a
  * part has no room for the configuration's. `--without-codec` leaves out the channels' page codec: their sectors are
  * protected by CRC alone. `--board` keeps to the SystemVerilog that every synthesis tool reads; `--uncore` writes the
  * [[Uncore]] alone, for its bench, with a DRAM port for every core.
  */
object Emit {

  /** What the command line asks for. */
  private case class Options(
      config: String = "",
      out: String = "",
      board: Boolean = false,
      uncore: Boolean = false,
      ways: Option[Int] = None,
      luns: Option[Int] = None,
      bar0Bits: Option[Int] = None,
      vectorBits: Option[Int] = None,
      codec: Boolean = true
  )

  private val Usage =
    "usage: Emit --config <Architecture><cores>x<channels> --out DIR [--board] [--uncore] [--ways N] [--luns N] " +
      "[--bar0-bits N] [--vector-bits N] [--without-codec]"

  private def parse(args: List[String], options: Options = Options()): Options = args match {
    case "--config" :: name :: rest                               => parse(rest, options.copy(config = name))
    case "--out" :: dir :: rest                                   => parse(rest, options.copy(out = dir))
    case "--ways" :: count :: rest if count.toIntOption.isDefined => parse(rest, options.copy(ways = count.toIntOption))
    case "--luns" :: count :: rest if count.toIntOption.isDefined => parse(rest, options.copy(luns = count.toIntOption))
    case "--bar0-bits" :: n :: rest if n.toIntOption.isDefined    => parse(rest, options.copy(bar0Bits = n.toIntOption))
    case "--vector-bits" :: count :: rest if count.toIntOption.isDefined =>
      parse(rest, options.copy(vectorBits = count.toIntOption))
    case "--board" :: rest                                      => parse(rest, options.copy(board = true))
    case "--uncore" :: rest                                     => parse(rest, options.copy(uncore = true))
    case "--without-codec" :: rest                              => parse(rest, options.copy(codec = false))
    case Nil if options.config.nonEmpty && options.out.nonEmpty => options
    case Nil                                                    => throw new IllegalArgumentException(Usage)
    case other :: _ => throw new IllegalArgumentException(s"argument '$other' is unknown; $Usage")
  }

  /** firtool options: no simulation randomness, no debug comments; for boards also only what every synthesis tool
    * reads.
    */
  private def firtool(board: Boolean): Array[String] = {
    val lowering = if (board) "disallowLocalVariables,disallowPackedArrays" else "disallowLocalVariables"
    Array("-disable-all-randomization", "-strip-debug-info", "--split-verilog", s"--lowering-options=$lowering")
  }

  def main(args: Array[String]): Unit = {
    val (options, p) =
      try {
        val options = parse(args.toList)
        val named   = Configs(options.config)
        val coded   = if (options.codec) named else named.copy(ecc = Seq.empty)
        require(options.vectorBits.isEmpty || coded.arch.vector, s"${coded.name} has no vector unit")
        val vector = options.vectorBits.fold(coded.vector)(bits => coded.vector.copy(vLen = bits, dLen = bits))
        val sized = coded.copy(
          ways = options.ways.getOrElse(coded.ways),
          luns = options.luns.getOrElse(coded.luns),
          bar0Bits = options.bar0Bits.getOrElse(coded.bar0Bits),
          vector = vector
        )
        (options, sized)
      } catch {
        case e: IllegalArgumentException =>
          System.err.println(e.getMessage)
          sys.exit(2)
      }
    emit(p, options)
  }

  private def emit(p: SocParams, options: Options): Unit = {
    val dir = Files.createDirectories(Paths.get(options.out))
    listed(dir).foreach(Files.delete)
    Emission.strict { strictly =>
      ChiselStage.emitSystemVerilogFile(
        if (options.uncore) new Uncore(p.copy(arch = p.arch.copy(dataCache = true)), Axi4Params())
        else new AssasinSoc(p),
        Array("--target-dir", dir.toString) ++ strictly,
        firtool(options.board) ++ Array("-o", dir.toString)
      )
    }
    Emission.addCells(dir)
    write(dir.resolve("filelist.f"), listed(dir).map(_.getFileName.toString).mkString("", "\n", "\n"))
    write(dir.resolve("config.json"), describe(p, p.name, Seq.empty))
  }

  /** The text of `config.json`.
    *
    * @param more
    *   numbers that other tops than [[AssasinSoc]] add, by name
    */
  def describe(p: SocParams, name: String, more: Seq[(String, BigInt)]): String =
    s"""{"name": "$name", "arch": "${p.arch.name}", "cores": ${p.cores}, "slots": ${p.slots}, "channels": ${p.channels}, "ways": ${p.ways}, """ +
      s""""luns": ${p.luns}, "bar0Bits": ${p.bar0Bits}, "phyBytes": ${p.phyBytes}, "ecc": [${p.ecc.mkString(", ")}]""" +
      more.map { case (key, value) => s""", "$key": $value""" }.mkString + "}\n"

  private def listed(dir: Path): Seq[Path] = {
    val stream = Files.list(dir)
    try stream.iterator().asScala.filter(_.toString.endsWith(".sv")).toSeq.sortBy(_.toString)
    finally stream.close()
  }

  private def write(path: Path, text: String): Unit = Files.write(path, text.getBytes(StandardCharsets.UTF_8))
}
