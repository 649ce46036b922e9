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
  private case object Compare    extends Kind
  private case object Carry      extends Kind
  private case object CarryOut   extends Kind
  private case object MaskLogic  extends Kind
  private case object Extend     extends Kind
  private case object Shift      extends Kind

  /** `multiply`: OPMVV, OPMVX instead of OPIVV, OPIVX, OPIVI. `forms`: V by vector, X by scalar, I by immediate. */
  private case class Row(
      name: String,
      multiply: Boolean,
      funct6: Int,
      forms: String,
      function: Int,
      kind: Kind = Plain,
      invertB: Boolean = false,
      invertOut: Boolean = false
  )

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
    Row("vadc", false, 0x10, "VXI", IntegerFunction.AddCarry, Carry),
    Row("vmadc", false, 0x11, "VXI", IntegerFunction.AddCarry, CarryOut),
    Row("vsbc", false, 0x12, "VX", IntegerFunction.SubtractBorrow, Carry),
    Row("vmsbc", false, 0x13, "VX", IntegerFunction.SubtractBorrow, CarryOut),
    Row("vmerge, vmv.v", false, 0x17, "VXI", IntegerFunction.Merge, Merge),
    Row("vmseq", false, 0x18, "VXI", IntegerFunction.Equal, Compare),
    Row("vmsne", false, 0x19, "VXI", IntegerFunction.NotEqual, Compare),
    Row("vmsltu", false, 0x1a, "VX", IntegerFunction.LessUnsigned, Compare),
    Row("vmslt", false, 0x1b, "VX", IntegerFunction.Less, Compare),
    Row("vmsleu", false, 0x1c, "VXI", IntegerFunction.LessEqualUnsigned, Compare),
    Row("vmsle", false, 0x1d, "VXI", IntegerFunction.LessEqual, Compare),
    Row("vmsgtu", false, 0x1e, "XI", IntegerFunction.GreaterUnsigned, Compare),
    Row("vmsgt", false, 0x1f, "XI", IntegerFunction.Greater, Compare),
    Row("vsll", false, 0x25, "VXI", IntegerFunction.ShiftLeft, Shift),
    Row("vsrl", false, 0x28, "VXI", IntegerFunction.ShiftRight, Shift),
    Row("vsra", false, 0x29, "VXI", IntegerFunction.ShiftRightSigned, Shift),
    Row("vmv<n>r", false, 0x27, "I", IntegerFunction.MoveA, WholeMove),
    Row("vzext, vsext", true, 0x12, "V", IntegerFunction.MoveA, Extend),
    Row("vmandn", true, 0x18, "V", IntegerFunction.And, MaskLogic, invertB = true),
    Row("vmand", true, 0x19, "V", IntegerFunction.And, MaskLogic),
    Row("vmor", true, 0x1a, "V", IntegerFunction.Or, MaskLogic),
    Row("vmxor", true, 0x1b, "V", IntegerFunction.Xor, MaskLogic),
    Row("vmorn", true, 0x1c, "V", IntegerFunction.Or, MaskLogic, invertB = true),
    Row("vmnand", true, 0x1d, "V", IntegerFunction.And, MaskLogic, invertOut = true),
    Row("vmnor", true, 0x1e, "V", IntegerFunction.Or, MaskLogic, invertOut = true),
    Row("vmxnor", true, 0x1f, "V", IntegerFunction.Xor, MaskLogic, invertOut = true),
    Row("vmv.x.s, vcpop, vfirst, vmv.s.x", true, 0x10, "VX", IntegerFunction.MoveB, ScalarMove)
  )

  private def literal(row: Option[Row]): VectorControls = {
    def form(letter: Char)  = row.exists(_.forms.contains(letter)).B
    def kind(wanted: Kind*) = row.exists(r => wanted.contains(r.kind)).B
    (new VectorControls).Lit(
      _.vv                -> form('V'),
      _.vx                -> form('X'),
      _.vi                -> form('I'),
      _.function          -> row.map(_.function).getOrElse(0).U(IntegerFunction.bits.W),
      _.merge             -> kind(Merge),
      _.maskResult        -> kind(Compare, CarryOut, MaskLogic),
      _.carry             -> kind(Carry, CarryOut),
      _.needsCarry        -> kind(Carry),
      _.bitwise           -> kind(MaskLogic),
      _.invertB           -> row.exists(_.invertB).B,
      _.invertOut         -> row.exists(_.invertOut).B,
      _.extend            -> kind(Extend),
      _.unsignedImmediate -> kind(Shift),
      _.wholeMove         -> kind(WholeMove),
      _.scalarMove        -> kind(ScalarMove)
    )
  }

  require(rows.map(row => (row.multiply, row.funct6)).distinct.size == rows.size, "two lines have the same place")

  /** The line of an OP-V word by whether it is OPMVV or OPMVX, and funct6. No form exists where there is no line. */
  def controls(multiply: Bool, funct6: UInt): VectorControls = {
    val table = Seq.tabulate(128)(i => literal(rows.find(row => (row.multiply, row.funct6) == ((i >= 64, i % 64)))))
    VecInit(table)(multiply ## funct6)
  }
}
