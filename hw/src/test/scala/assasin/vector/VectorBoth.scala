// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.reflect.DataMirror

/** A vector unit with a clock gate, and beside it one without, to which the same happens. */
class VectorBoth(p: VectorParams) extends Module {
  val io = IO(new VectorUnitIO(p))

  /** In this cycle the two do not show the same. */
  val differs = IO(Output(Bool()))

  private val gated = Module(new VectorUnit(p.copy(clockGate = true)))
  private val free  = Module(new VectorUnit(p.copy(clockGate = false)))

  private def signals(of: VectorUnitIO) = DataMirror.collectLeafMembers(of)
  private val differences = signals(io).zip(signals(gated.io)).zip(signals(free.io)).flatMap {
    case ((port, mine), other) =>
      if (DataMirror.directionOf(port) == ActualDirection.Input) {
        mine  := port
        other := port
        None
      } else {
        port := mine
        Option.when(!io.trace.exists(_.stops eq port))(mine.asUInt =/= other.asUInt)
      }
  }
  differs := differences.reduce(_ || _)
}
