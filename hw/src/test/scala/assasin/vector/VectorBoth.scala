// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.reflect.DataMirror
import chisel3.util.{DecoupledIO, Valid}

/** A vector unit with a clock gate, and beside it one without, to which the same happens. Where an output has a
  * `valid`, what it tells counts only with it.
  */
class VectorBoth(p: VectorParams) extends Module {
  val io = IO(new VectorUnitIO(p))

  /** In this cycle the two do not show the same; at its end the simulator prints the names of the outputs. */
  val differs = IO(Output(Bool()))

  private val gated = Module(new VectorUnit(p.copy(clockGate = true)))
  private val free  = Module(new VectorUnit(p.copy(clockGate = false)))

  private def isOutput(port: Data) = DataMirror.directionOf(port) == ActualDirection.Output
  for ((port, of) <- leaves(io).zip(leaves(gated.io))) if (isOutput(port)) port := of else of := port
  for ((port, of) <- leaves(io).zip(leaves(free.io))) if (!isOutput(port)) of := port

  private def leaves(of: Data) = DataMirror.collectLeafMembers(of)

  /** The outputs below a port by name: that of the gated unit, the other, and whether they count. */
  private def outputs(name: String, mine: Data, other: Data, counts: Bool): Seq[(String, Data, Data, Bool)] =
    (mine, other) match {
      case (m: Valid[_], o: Valid[_]) => withValid(name, m, m.valid, m.bits, o.valid, o.bits, counts)
      case (m: DecoupledIO[_], o: DecoupledIO[_]) =>
        Seq((s"$name.ready", m.ready, o.ready, counts)).filter(leaf => isOutput(leaf._2)) ++
          withValid(name, m, m.valid, m.bits, o.valid, o.bits, counts)
      case (m: Record, o: Record) =>
        m.elements.toSeq.flatMap { case (field, of) => outputs(s"$name.$field", of, o.elements(field), counts) }
      case (m: Vec[_], o: Vec[_]) =>
        m.zip(o).zipWithIndex.flatMap { case ((a, b), i) => outputs(s"$name($i)", a, b, counts) }
      case _ => if (isOutput(mine)) Seq((name, mine, other, counts)) else Nil
    }

  private def withValid(
      name: String,
      of: Data,
      valid: Bool,
      bits: Data,
      otherValid: Bool,
      otherBits: Data,
      counts: Bool
  ) =
    Seq((s"$name.valid", valid, otherValid, counts)).filter(leaf => isOutput(leaf._2)) ++
      outputs(s"$name.bits", bits, otherBits, counts && valid)

  private val differences = outputs("io", gated.io, free.io, true.B).collect {
    case (name, mine, other, counts) if !name.endsWith("trace.stops") =>
      val differ = counts && mine.asUInt =/= other.asUInt
      when(differ)(printf(s"$name: %x with the gate, %x without\n", mine.asUInt, other.asUInt))
      differ
  }
  differs := differences.reduce(_ || _)
}
