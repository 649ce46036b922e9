// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.experimental.BundleLiterals._

/** The instructions of OP-V that the unit has, a line each, and the constant table made of them. */
object VectorInstructions {
  private sealed trait Kind
  private case object Plain      extends Kind
  private case object Merge      extends Kind
  private case object WholeMove  extends Kind
  private case object ScalarMove extends Kind

  /** `multiply`: OPMVV, OPMVX instead of OPIVV, OPIVX, OPIVI. `forms`: V by vector, X by scalar, I by immediate. */
  private case class Row(name: String, multiply: Boolean, funct6: Int, forms: String, function: Int, kind: Kind = Plain)

  private val rows = Seq(
    Row("vadd", false, 0x00, "VXI", IntegerFunction.Add),
    Row("vsub", false, 0x02, "VX", IntegerFunction.Subtract),
    Row("vrsub", false, 0x03, "XI", IntegerFunction.SubtractFrom),
    Row("vminu", false, 0x04, "VX", IntegerFunction.MinUnsigned),
    Row("vmin", false, 0x05, "VX", IntegerFunction.Min),
    Row("vmaxu", false, 0x06, "VX", IntegerFunction.MaxUnsigned),
    Row("vmax", false, 0x07, "VX", IntegerFunction.Max),
    Row("vand", false, 0x09, "VXI", IntegerFunction.And),
    Row("vor", false, 0x0a, "VXI", IntegerFunction.Or),
    Row("vxor", false, 0x0b, "VXI", IntegerFunction.Xor),
    Row("vmerge, vmv.v", false, 0x17, "VXI", IntegerFunction.Merge, Merge),
    Row("vmv<n>r", false, 0x27, "I", IntegerFunction.MoveA, WholeMove),
    Row("vmv.x.s, vmv.s.x", true, 0x10, "VX", IntegerFunction.MoveB, ScalarMove)
  )

  private def literal(row: Option[Row]): VectorControls = {
    def form(letter: Char) = row.exists(_.forms.contains(letter)).B
    def kind(wanted: Kind) = row.exists(_.kind == wanted).B
    (new VectorControls).Lit(
      _.vv         -> form('V'),
      _.vx         -> form('X'),
      _.vi         -> form('I'),
      _.function   -> row.map(_.function).getOrElse(0).U(IntegerFunction.bits.W),
      _.merge      -> kind(Merge),
      _.wholeMove  -> kind(WholeMove),
      _.scalarMove -> kind(ScalarMove)
    )
  }

  require(rows.map(row => (row.multiply, row.funct6)).distinct.size == rows.size, "two lines have the same place")

  /** The line of an OP-V word by whether it is OPMVV or OPMVX, and funct6. No form exists where there is no line. */
  def controls(multiply: Bool, funct6: UInt): VectorControls = {
    val table = Seq.tabulate(128)(i => literal(rows.find(row => (row.multiply, row.funct6) == ((i >= 64, i % 64)))))
    VecInit(table)(multiply ## funct6)
  }
}
