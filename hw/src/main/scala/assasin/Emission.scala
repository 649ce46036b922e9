// SPDX-License-Identifier: BSD-3-Clause
package assasin

import java.nio.file.Files
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
    } finally Files.delete(log)
  }
}
