// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{BitPat, Cat, Fill, MuxCase}

/** Ports of [[Decode]]. */
class DecodeIO(p: CoreParams) extends Bundle {
  val insn  = Input(UInt(32.W))
  val sLog2 = Input(UInt(2.W))
  val out   = Output(new Controls)

  /** Immediate of JAL if `out.jal`, else of a branch. */
  val jumpImm = Output(UInt(32.W))
}

/** Instruction decoder, combinational: [[DecodeTable]] and the extensions of [[CoreParams.decoders]]. */
class Decode(p: CoreParams) extends Module {
  val io = IO(new DecodeIO(p))

  private val insn   = io.insn
  private val funct3 = insn(14, 12)
  private val rd     = insn(11, 7)

  // Bits that a pattern fixes, and their values.
  private case class Cube(mask: BigInt, value: BigInt)

  /** Joins patterns that differ in one fixed bit above the major opcode until there are none: instructions with the
    * same controls are mostly told apart by funct3, which nobody has to look at when all its values occur.
    */
  private def joined(cubes: Set[Cube]): Set[Cube] = {
    val pair = cubes.toSeq.sortBy(c => (c.mask, c.value)).combinations(2).find {
      case Seq(a, b) => a.mask == b.mask && (a.value ^ b.value).bitCount == 1 && ((a.value ^ b.value) & 0x7f) == 0
      case _         => false
    }
    pair match {
      case Some(Seq(a, b)) =>
        val mask = a.mask & ~(a.value ^ b.value)
        joined(cubes - a - b + Cube(mask, a.value & mask))
      case _ => cubes
    }
  }

  // One comparison for all patterns that have the same in a field of the instruction; a comparison across fields would be
  // slow in simulation, which has to gather their bits.
  private val fields      = Seq((31, 25), (24, 20), (19, 15), (14, 12), (11, 7), (6, 0))
  private val comparisons = scala.collection.mutable.Map[(Int, BigInt, BigInt), Bool]()
  private def fits(cube: Cube): Bool =
    if (cube.mask == (BigInt(1) << 32) - 1) insn === cube.value.U
    else
      fields
        .flatMap { case (high, low) =>
          val width = high - low + 1
          val all   = (BigInt(1) << width) - 1
          val mask  = cube.mask >> low & all
          val value = cube.value >> low & all
          def equal = if (mask == all) insn(high, low) === value.U else (insn(high, low) & mask.U(width.W)) === value.U
          Option.when(mask != 0)(comparisons.getOrElseUpdate((low, mask, value), equal))
        }
        .reverse
        .reduce(_ && _)
  private def matches(patterns: Seq[BitPat]): Bool =
    joined(patterns.map(b => Cube(b.mask, b.value)).toSet).toSeq
      .sortBy(c => (c.value, c.mask))
      .map { cube =>
        require(
          (cube.mask & 0x7f) == 0x7f,
          s"pattern with mask 0x${cube.mask.toString(16)}: bits 6:0 are not all fixed"
        )
        fits(cube)
      }
      .reduceOption(_ || _)
      .getOrElse(false.B)

  private val rows = DecodeTable.rows(p.extensions)
  private val classes = rows.groupBy(r => (r.operands, r.action)).toSeq.sortBy(_._2.head.pattern.value).map {
    case (key, same) => key -> matches(same.map(_.pattern))
  }
  private def or(flags: Seq[Bool]): Bool = flags.reduceOption(_ || _).getOrElse(false.B)
  private def operands(what: DecodeOperands => Boolean): Bool =
    or(classes.collect { case ((o, _), hit) if what(o) => hit })
  private def action(which: Action): Bool      = or(classes.collect { case ((_, a), hit) if a == which => hit })
  private def actions(what: Action => Boolean) = or(classes.collect { case ((_, a), hit) if what(a) => hit })

  // ---- Extensions -----------------------------------------------------------------------------------------------------------
  private val extended = p.decoders.flatMap { extension =>
    val legal = extension.legal(io)
    extension.rows.groupBy(_._2).toSeq.sortBy(_._2.head._1.value).map { case (key, same) =>
      key -> (matches(same.map(_._1)) && legal)
    }
  }
  private def extensions(what: ExtensionClass => Boolean): Bool =
    or(extended.collect { case (c, hit) if what(c) => hit })

  // ---- Immediates -----------------------------------------------------------------------------------------------------------
  private val immI = Cat(Fill(21, insn(31)), insn(30, 20))
  private val immS = Cat(Fill(21, insn(31)), insn(30, 25), insn(11, 7))
  private val immB = Cat(Fill(20, insn(31)), insn(7), insn(30, 25), insn(11, 8), 0.U(1.W))
  private val immU = Cat(insn(31, 12), 0.U(12.W))
  private val immJ = Cat(Fill(12, insn(31)), insn(19, 12), insn(20), insn(30, 21), 0.U(1.W))
  // A CSR instruction's source passes through the adder: rs1 + 0 or 0 + zimm.
  private val immCsr = Mux(funct3(2), Cat(0.U(27.W), insn(19, 15)), 0.U(32.W))

  private val c = io.out
  c.illegal := !(or(classes.map(_._2)) || or(extended.map(_._2)))
  c.usesRs1 := operands(_.rs1) || extensions(_.usesRs1)
  c.usesRs2 := operands(_.rs2) || extensions(_.usesRs2)
  c.wen     := rd =/= 0.U && (operands(_.rd) || extensions(_.wen != RdWrite.Never))
  c.late    := extensions(_.wen == RdWrite.Late)
  c.aPc     := operands(_.aPc)
  c.aZero   := operands(_.aZero)
  c.bImm    := !operands(_.bReg)
  c.imm := MuxCase(
    immI,
    Seq(
      operands(_.imm == Immediate.S)    -> immS,
      operands(_.imm == Immediate.U)    -> immU,
      operands(_.imm == Immediate.Csr)  -> immCsr,
      operands(_.imm == Immediate.Link) -> 4.U
    )
  )
  c.aluFn   := Mux(actions(_.fn), funct3, 0.U)
  c.aluAlt  := action(DecodeTable.Alt)
  c.invertB := action(DecodeTable.Invert)
  c.bit     := Cat(Seq.tabulate(BitOp.Width)(i => actions(a => (a.bit >> i & 1) == 1)).reverse)
  c.aes     := action(DecodeTable.Aes)
  c.branch  := action(DecodeTable.Branch)
  c.jal     := action(DecodeTable.Jal)
  c.jalr    := action(DecodeTable.Jalr)
  c.load    := action(DecodeTable.Load)
  c.store   := action(DecodeTable.Store)
  c.mul     := action(DecodeTable.Mul)
  c.div     := action(DecodeTable.Div)
  c.csr     := action(DecodeTable.Csr)
  c.ecall   := action(DecodeTable.Ecall)
  c.ebreak  := action(DecodeTable.Ebreak)
  c.mret    := action(DecodeTable.Mret)
  c.wfi     := action(DecodeTable.Wfi)
  c.fence   := action(DecodeTable.Fence) || action(DecodeTable.FenceI)
  c.fenceI  := action(DecodeTable.FenceI)

  c.stream.load  := extensions(_.unit == ExtensionUnit.StreamLoad)
  c.stream.store := extensions(_.unit == ExtensionUnit.StreamStore)
  c.stream.readI := extensions(_.unit == ExtensionUnit.StreamReadI)
  c.stream.readO := extensions(_.unit == ExtensionUnit.StreamReadO)
  c.vset         := extensions(_.unit == ExtensionUnit.VectorSettings)
  c.vector       := extensions(_.unit == ExtensionUnit.Vector)

  io.jumpImm := Mux(insn(2), immJ, immB)
}
