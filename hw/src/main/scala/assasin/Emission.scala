// SPDX-License-Identifier: BSD-3-Clause
package assasin

import java.nio.charset.StandardCharsets
import java.nio.file.{Files, Path}
import scala.annotation.nowarn
import scala.util.control.NoStackTrace

import _root_.logger.{LogFileAnnotation, Logger}

/** Elaboration that takes a warning for an error, so that a width that does not fit cannot hide among others. */
object Emission {

  /** Calls a method of ChiselStage so that no warning passes. Chisel has an argument for that; firtool has not, and
    * Chisel only logs what firtool says.
    *
    * @param emit
    *   the call, given the arguments it has to add to its own
    * @throws java.lang.IllegalStateException
    *   with firtool's words, when it warned
    */
  @nowarn("cat=deprecation") // Chisel 7 will hide its logger one day and has nothing in its place.
  def strict[T](emit: Array[String] => T): T = {
    val log = Files.createTempFile("emission", ".log")
    try {
      val toLog    = Seq(LogFileAnnotation(Some(log.toString)))
      val result   = Logger.makeScope(toLog)(emit(Array("--warnings-as-errors")))
      val warnings = Files.readString(log).trim
      if (warnings.nonEmpty)
        throw new IllegalStateException(s"firtool warned, which counts as an error:\n$warnings") with NoStackTrace
      result
    } catch {
      // What is wrong with the design stands in the log only.
      case e: Throwable =>
        System.err.print(Files.readString(log))
        throw e
    } finally Files.delete(log)
  }

  /** What firtool makes of a [[bus.ClockGate]] is an instance of this technology cell, of which it writes none. A pulse
    * of the clock passes if `en` is high while the clock is low.
    *
    * With the macro ASSASIN_CLOCK_GATES, which the virtual board sets, it is a latch and an AND gate, as ASIC libraries
    * have it. Elsewhere, on FPGAs, the clock passes through: registers behind a gate hold their values by themselves.
    */
  val ClockGateCell: String =
    """module EICG_wrapper(
      |  input  in,
      |         en,
      |         test_en,
      |  output out
      |);
      |`ifdef ASSASIN_CLOCK_GATES
      |  reg passes;
      |  always_latch if (!in) passes = en | test_en;
      |  assign out = in & passes;
      |`else
      |  assign out = in;
      |`endif
      |endmodule
      |""".stripMargin

  /** The SystemVerilog of a design in one file, with the technology cells that it needs. */
  def withCells(text: String): String = if (text.contains("EICG_wrapper")) text + ClockGateCell else text

  /** Writes the technology cells that what has been emitted into this folder needs. */
  def addCells(dir: Path): Unit =
    Files.write(dir.resolve("EICG_wrapper.sv"), ClockGateCell.getBytes(StandardCharsets.UTF_8))
}
