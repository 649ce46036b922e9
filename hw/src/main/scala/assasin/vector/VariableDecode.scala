// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxLookup}

class VariableDecodeIO(p: VectorParams) extends Bundle {
  val offer = Input(new VectorOffer(p))

  /** Registers that hold vectors of VarVE-full, a bit each; a pack or sum has closed the strip. */
  val variable = Input(UInt(32.W))
  val packed   = Input(Bool())

  val legal = Output(Bool())

  /** Decoded, without tag. */
  val op = Output(new VectorOp(p))

  /** It is a sum: NumE must not become less any more. */
  val closes = Output(Bool())
}

/** Decodes a word of custom-1 and decides its legality (docs/varve/isa.md 3.1, 3.3). Combinational. */
class VariableDecode(p: VectorParams) extends Module {
  require(p.full, "custom-1 is of VarVE-full")
  val io = IO(new VariableDecodeIO(p))

  private val insn   = io.offer.insn
  private val config = io.offer.config
  private val funct3 = insn(14, 12)
  private val funct6 = insn(31, 26)
  private val vm     = insn(25)
  private val vd     = insn(11, 7)
  private val vs1    = insn(19, 15)
  private val vs2    = insn(24, 20)

  private val byVector    = funct3 === 0.U
  private val byImmediate = funct3 === 3.U
  private val byScalar    = funct3 === 4.U
  private val unary       = funct3 === 2.U

  /** funct6, function, forms: V by vector, I by immediate, X by scalar. */
  private val rows = Seq(
    (0x00, VariableFunction.Add, "VIX"),
    (0x02, VariableFunction.Subtract, "VIX"),
    (0x03, VariableFunction.SubtractFrom, "IX"),
    (0x05, VariableFunction.Min, "VIX"),
    (0x07, VariableFunction.Max, "VIX"),
    (0x08, VariableFunction.BitClear, "VIX"),
    (0x09, VariableFunction.And, "VIX"),
    (0x0a, VariableFunction.Or, "VIX"),
    (0x0b, VariableFunction.Xor, "VIX"),
    (0x14, VariableFunction.Index, "X"),
    (0x17, VariableFunction.Duplicate, "IX"),
    (0x18, VariableFunction.Equal, "VIX"),
    (0x19, VariableFunction.NotEqual, "VIX"),
    (0x1b, VariableFunction.Less, "VIX"),
    (0x1d, VariableFunction.LessEqual, "VIX"),
    (0x1e, VariableFunction.GreaterEqual, "IX"),
    (0x1f, VariableFunction.Greater, "IX"),
    (0x21, VariableFunction.Divide, "VIX"),
    (0x24, VariableFunction.Multiply, "VIX"),
    (0x25, VariableFunction.ShiftLeft, "VIX"),
    (0x29, VariableFunction.ShiftRight, "VIX")
  )
  private def formed(forms: String): Bool =
    (if (forms.contains('V')) byVector else false.B) || (if (forms.contains('I')) byImmediate else false.B) ||
      (if (forms.contains('X')) byScalar else false.B)
  private val binary = MuxLookup(funct6, 0.U(VariableFunction.bits.W))(rows.map(row => row._1.U -> row._2.U))
  private val exists = MuxLookup(funct6, false.B)(rows.map(row => row._1.U -> formed(row._3)))

  private val isScalarOut = unary && funct6 === 0x10.U
  private val isFrom      = unary && funct6 === 0x12.U
  private val isNum       = isScalarOut && vs1 === 0.U
  private val function = Mux(
    isScalarOut,
    Mux(isNum, VariableFunction.Count.U, Mux(vs1(0), VariableFunction.Sum.U, VariableFunction.SumHigh.U)),
    Mux(isFrom, Mux(vs1(0), VariableFunction.FromUnsigned.U, VariableFunction.FromSigned.U), binary)
  )
  private val isIndex   = !unary && funct6 === 0x14.U
  private val isDup     = !unary && funct6 === 0x17.U
  private val isCompare = !unary && VariableFunction.isCompare(binary)
  private val unaryLegal = (isNum && vm) ||
    (isScalarOut && (vs1 === 1.U || (vs1 === 2.U && (p.xLen == 32).B))) || (isFrom && vm && vs1(4, 1) === 0.U)
  private val wordLegal = Mux(
    unary,
    unaryLegal,
    exists && (!isIndex || vm) && (!isDup || vs2 === 0.U)
  )

  private val readsVs1  = byVector && !unary
  private val readsVs2  = !isIndex && !isDup
  private val setsCount = !isScalarOut
  private val fromLegal =
    !config.vill && config.vlmul === 0.U && (8.U << config.vsew(1, 0)) <= p.maxWidth.U && !io.variable(vs2)
  private val grouped = config.vlmul(1, 0) =/= 0.U && !config.vlmul(2) && !config.vill
  io.legal := io.offer.enabled && io.offer.varve.get.enabled && config.vstart === 0.U && wordLegal && !grouped &&
    (vm || !io.variable(0)) &&                        // the mask register is a fixed one
    (vm || isCompare || isScalarOut || vd =/= 0.U) && // a vector may not overwrite its mask
    Mux(isFrom, fromLegal, !readsVs2 || io.variable(vs2)) && (!readsVs1 || io.variable(vs1)) &&
    !(setsCount && io.packed)

  private val op = io.op
  op           := 0.U.asTypeOf(op)
  op.path      := VectorPath.Execute.U
  op.vd        := vd
  op.vs1       := vs1
  op.vs2       := vs2
  op.readsVs1  := readsVs1
  op.readsVs2  := readsVs2
  op.writes    := !isScalarOut
  op.readsMask := !vm
  op.masked    := !vm
  op.toScalar  := isScalarOut
  op.eew       := config.vsew(1, 0)
  op.evl       := config.vl
  // Shifts take 0 to 31.
  private val isShift = binary === VariableFunction.ShiftLeft.U || binary === VariableFunction.ShiftRight.U
  op.scalar := Mux(byImmediate, Cat(Fill(p.xLen - 5, vs1(4) && !isShift), vs1), io.offer.rs1)
  io.closes := isScalarOut && !isNum
  private val use = op.variable.get
  use.active    := true.B
  use.function  := function
  use.byScalar  := !readsVs1
  use.step      := vs2
  use.compare   := isCompare
  use.setsCount := setsCount
}
