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
  private case object Narrow     extends Kind
  private case object Widen      extends Kind
  private case object WidenA     extends Kind // vs2 is wide already
  private case object Reduce     extends Kind
  private case object WideReduce extends Kind // the elements of vd and vs1 are wide
  private case object MaskUnary  extends Kind
  private case object Permute    extends Kind

  /** `multiply`: OPMVV, OPMVX instead of OPIVV, OPIVX, OPIVI. `forms`: V by vector, X by scalar, I by immediate. */
  private case class Row(
      name: String,
      multiply: Boolean,
      funct6: Int,
      forms: String,
      function: Int,
      kind: Kind = Plain,
      invertB: Boolean = false,
      invertOut: Boolean = false,
      third: Boolean = false,
      swapA: Boolean = false,
      signedA: Boolean = false,
      signedB: Boolean = false
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
    Row("vnsrl", false, 0x2c, "VXI", IntegerFunction.ShiftRight, Narrow),
    Row("vnsra", false, 0x2d, "VXI", IntegerFunction.ShiftRightSigned, Narrow),
    Row("vsaddu", false, 0x20, "VXI", IntegerFunction.SaturateAddUnsigned),
    Row("vsadd", false, 0x21, "VXI", IntegerFunction.SaturateAdd),
    Row("vssubu", false, 0x22, "VX", IntegerFunction.SaturateSubtractUnsigned),
    Row("vssub", false, 0x23, "VX", IntegerFunction.SaturateSubtract),
    Row("vssrl", false, 0x2a, "VXI", IntegerFunction.ScaleRight, Shift),
    Row("vssra", false, 0x2b, "VXI", IntegerFunction.ScaleRightSigned, Shift),
    Row("vnclipu", false, 0x2e, "VXI", IntegerFunction.ClipUnsigned, Narrow),
    Row("vnclip", false, 0x2f, "VXI", IntegerFunction.Clip, Narrow),
    Row("vsmul, vmv<n>r", false, 0x27, "VXI", IntegerFunction.MultiplyFraction, WholeMove),
    Row("vwredsumu", false, 0x30, "V", IntegerFunction.Add, WideReduce),
    Row("vwredsum", false, 0x31, "V", IntegerFunction.Add, WideReduce, signedA = true),
    Row("vredsum", true, 0x00, "V", IntegerFunction.Add, Reduce),
    Row("vredand", true, 0x01, "V", IntegerFunction.And, Reduce),
    Row("vredor", true, 0x02, "V", IntegerFunction.Or, Reduce),
    Row("vredxor", true, 0x03, "V", IntegerFunction.Xor, Reduce),
    Row("vredminu", true, 0x04, "V", IntegerFunction.MinUnsigned, Reduce),
    Row("vredmin", true, 0x05, "V", IntegerFunction.Min, Reduce),
    Row("vredmaxu", true, 0x06, "V", IntegerFunction.MaxUnsigned, Reduce),
    Row("vredmax", true, 0x07, "V", IntegerFunction.Max, Reduce),
    Row("vmsbf, vmsof, vmsif, viota, vid", true, 0x14, "V", IntegerFunction.SetBefore, MaskUnary),
    Row("vrgather", false, 0x0c, "VXI", IntegerFunction.Gather, Permute),
    Row("vslideup, vrgatherei16", false, 0x0e, "VXI", IntegerFunction.SlideUp, Permute),
    Row("vslidedown", false, 0x0f, "XI", IntegerFunction.SlideDown, Permute),
    Row("vslide1up", true, 0x0e, "X", IntegerFunction.Slide1Up, Permute),
    Row("vslide1down", true, 0x0f, "X", IntegerFunction.Slide1Down, Permute),
    Row("vcompress", true, 0x17, "V", IntegerFunction.Compress, Permute),
    Row("vzext, vsext", true, 0x12, "V", IntegerFunction.MoveA, Extend),
    Row("vmandn", true, 0x18, "V", IntegerFunction.And, MaskLogic, invertB = true),
    Row("vmand", true, 0x19, "V", IntegerFunction.And, MaskLogic),
    Row("vmor", true, 0x1a, "V", IntegerFunction.Or, MaskLogic),
    Row("vmxor", true, 0x1b, "V", IntegerFunction.Xor, MaskLogic),
    Row("vmorn", true, 0x1c, "V", IntegerFunction.Or, MaskLogic, invertB = true),
    Row("vmnand", true, 0x1d, "V", IntegerFunction.And, MaskLogic, invertOut = true),
    Row("vmnor", true, 0x1e, "V", IntegerFunction.Or, MaskLogic, invertOut = true),
    Row("vmxnor", true, 0x1f, "V", IntegerFunction.Xor, MaskLogic, invertOut = true),
    Row("vaaddu", true, 0x08, "VX", IntegerFunction.AverageAddUnsigned),
    Row("vaadd", true, 0x09, "VX", IntegerFunction.AverageAdd),
    Row("vasubu", true, 0x0a, "VX", IntegerFunction.AverageSubtractUnsigned),
    Row("vasub", true, 0x0b, "VX", IntegerFunction.AverageSubtract),
    Row("vdivu", true, 0x20, "VX", IntegerFunction.DivideUnsigned),
    Row("vdiv", true, 0x21, "VX", IntegerFunction.Divide),
    Row("vremu", true, 0x22, "VX", IntegerFunction.RemainderUnsigned),
    Row("vrem", true, 0x23, "VX", IntegerFunction.Remainder),
    Row("vmulhu", true, 0x24, "VX", IntegerFunction.MultiplyHighUnsigned),
    Row("vmul", true, 0x25, "VX", IntegerFunction.MultiplyLow),
    Row("vmulhsu", true, 0x26, "VX", IntegerFunction.MultiplyHighSignedUnsigned),
    Row("vmulh", true, 0x27, "VX", IntegerFunction.MultiplyHigh),
    Row("vmadd", true, 0x29, "VX", IntegerFunction.MultiplyAdd, third = true, swapA = true),
    Row("vnmsub", true, 0x2b, "VX", IntegerFunction.MultiplySubtract, third = true, swapA = true),
    Row("vmacc", true, 0x2d, "VX", IntegerFunction.MultiplyAdd, third = true),
    Row("vnmsac", true, 0x2f, "VX", IntegerFunction.MultiplySubtract, third = true),
    Row("vwaddu", true, 0x30, "VX", IntegerFunction.Add, Widen),
    Row("vwadd", true, 0x31, "VX", IntegerFunction.Add, Widen, signedA = true, signedB = true),
    Row("vwsubu", true, 0x32, "VX", IntegerFunction.Subtract, Widen),
    Row("vwsub", true, 0x33, "VX", IntegerFunction.Subtract, Widen, signedA = true, signedB = true),
    Row("vwaddu.w", true, 0x34, "VX", IntegerFunction.Add, WidenA),
    Row("vwadd.w", true, 0x35, "VX", IntegerFunction.Add, WidenA, signedB = true),
    Row("vwsubu.w", true, 0x36, "VX", IntegerFunction.Subtract, WidenA),
    Row("vwsub.w", true, 0x37, "VX", IntegerFunction.Subtract, WidenA, signedB = true),
    Row("vwmulu", true, 0x38, "VX", IntegerFunction.MultiplyLow, Widen),
    Row("vwmulsu", true, 0x3a, "VX", IntegerFunction.MultiplyLow, Widen, signedA = true),
    Row("vwmul", true, 0x3b, "VX", IntegerFunction.MultiplyLow, Widen, signedA = true, signedB = true),
    Row("vwmaccu", true, 0x3c, "VX", IntegerFunction.MultiplyAdd, Widen, third = true),
    Row("vwmacc", true, 0x3d, "VX", IntegerFunction.MultiplyAdd, Widen, third = true, signedA = true, signedB = true),
    Row("vwmaccus", true, 0x3e, "X", IntegerFunction.MultiplyAdd, Widen, third = true, signedA = true),
    Row("vwmaccsu", true, 0x3f, "VX", IntegerFunction.MultiplyAdd, Widen, third = true, signedB = true),
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
      _.widen             -> kind(Widen, WidenA, WideReduce),
      _.wideA             -> kind(WidenA),
      _.signedA           -> row.exists(_.signedA).B,
      _.signedB           -> row.exists(_.signedB).B,
      _.narrow            -> kind(Narrow),
      _.third             -> row.exists(_.third).B,
      _.swapA             -> row.exists(_.swapA).B,
      _.unsignedImmediate -> kind(Shift, Narrow, Permute),
      _.wholeMove         -> kind(WholeMove),
      _.reduce            -> kind(Reduce, WideReduce),
      _.maskUnary         -> kind(MaskUnary),
      _.permute           -> kind(Permute),
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
