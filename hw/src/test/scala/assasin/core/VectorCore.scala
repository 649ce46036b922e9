// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._

import assasin.vector.{VectorMemoryIO, VectorParams, VectorUnit}

/** Ports of [[VectorCore]]: those of the pipeline, and the unit's memory. */
class VectorCoreIO(p: CoreParams, v: VectorParams) extends CoreIO(p) {
  val memory = new VectorMemoryIO(v)
}

/** The pipeline with its vector unit and nothing else, for hw/cosim/run-elf: the bench is the memory of both.
  *
  * @param p
  *   of the pipeline, without a vector unit
  * @param v
  *   of the unit
  */
class VectorCore(p: CoreParams, v: VectorParams) extends Module {
  val io = IO(new VectorCoreIO(p, v))

  private val core = Module(new Core(p.copy(vector = Some(v))))
  private val unit = Module(new VectorUnit(v))
  for ((name, port) <- core.io.elements if name != "vector" && name != "waitResult") port <> io.elements(name)
  core.io.vector.get <> unit.io.issue
  io.memory <> unit.io.memory
}
