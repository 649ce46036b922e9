// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Cat, Fill, MuxCase}

import assasin.contract.StreamInstructions

/** What an instruction needs from the pipeline. All flags are 0 for an illegal instruction. */
class Controls extends Bundle {
  val illegal = Bool()
  val usesRs1 = Bool()
  val usesRs2 = Bool()

  /** Writes rd, and rd is not x0. */
  val wen = Bool()

  /** First ALU operand: PC, or 0 (LUI, immediate CSR source); else rs1. */
  val aPc   = Bool()
  val aZero = Bool()

  /** Second ALU operand: immediate; else rs2. */
  val bImm = Bool()
  val imm  = UInt(32.W)

  /** ALU function: funct3, and `alt` for SUB and SRA. */
  val aluFn  = UInt(3.W)
  val aluAlt = Bool()

  /** ALU complements its second operand (ANDN, ORN, XNOR). */
  val invertB = Bool()

  /** Unit that makes the result instead of the ALU: [[BitUnit]] with this [[BitOp]], or [[AesUnit]]. */
  val bit = UInt(BitOp.Width.W)
  val aes = Bool()

  val branch = Bool()
  val jal    = Bool()
  val jalr   = Bool()
  val load   = Bool()
  val store  = Bool()
  val mul    = Bool()
  val div    = Bool()
  val csr    = Bool()
  val ecall  = Bool()
  val ebreak = Bool()
  val mret   = Bool()
  val wfi    = Bool()
  val fenceI = Bool()
  val stream = new StreamOp
}

/** Ports of [[Decode]]. */
class DecodeIO(p: CoreParams) extends Bundle {
  val insn  = Input(UInt(32.W))
  val sLog2 = Input(UInt(2.W))
  val out   = Output(new Controls)

  /** Immediate of JAL if `out.jal`, else of a branch. */
  val jumpImm = Output(UInt(32.W))
}

/** Instruction decoder, combinational. */
class Decode(p: CoreParams) extends Module {
  val io = IO(new DecodeIO(p))

  private val insn   = io.insn
  private val opcode = insn(6, 0)
  private val funct3 = insn(14, 12)
  private val funct7 = insn(31, 25)
  private val rd     = insn(11, 7)
  private val rs1    = insn(19, 15)

  private val isLoad   = opcode === "h03".U && funct3 =/= 3.U && funct3 < 6.U
  private val isStore  = opcode === "h23".U && funct3 < 3.U
  private val isBranch = opcode === "h63".U && funct3(2, 1) =/= 1.U
  private val isJal    = opcode === "h6f".U
  private val isJalr   = opcode === "h67".U && funct3 === 0.U
  private val isLui    = opcode === "h37".U
  private val isAuipc  = opcode === "h17".U
  private val baseFn   = funct7 === 0.U
  private val altFn    = funct7 === "h20".U
  private val isShift  = funct3(1, 0) === 1.U
  private val isOpImm  = opcode === "h13".U && (!isShift || baseFn || altFn && funct3(2))
  private val isOp     = opcode === "h33".U && (baseFn || altFn && (funct3 === 0.U || funct3 === 5.U))
  private val isM      = opcode === "h33".U && funct7 === 1.U

  // Extensions. All their instructions have the opcodes OP and OP-IMM.
  private val isOpImmCode = opcode === "h13".U
  private val isOpCode    = opcode === "h33".U
  private val funct12     = insn(31, 20)
  private val zba         = p.extensions.zba.B
  private val zbb         = p.extensions.zbb.B
  // Bits 31:30 choose a byte.
  private val isAes = isOpCode && funct3 === 0.U && insn(29, 28) === 2.U && insn(25) &&
    Mux(insn(27), p.extensions.zknd.B, p.extensions.zkne.B)
  private val isInverted =
    zbb && isOpCode && altFn && (funct3 === 4.U || funct3 === 6.U || funct3 === 7.U)
  private def unary(fn: Int, code: Int): Bool = zbb && isOpImmCode && funct3 === fn.U && funct12 === code.U
  private def binary(code: Int): Bool         = zbb && isOpCode && funct7 === code.U
  private val zextH                           = binary(0x04) && funct3 === 4.U && insn(24, 20) === 0.U
  private val bitImm = Seq(
    unary(1, 0x600)                                             -> BitOp.Clz,
    unary(1, 0x601)                                             -> BitOp.Ctz,
    unary(1, 0x602)                                             -> BitOp.Cpop,
    unary(1, 0x604)                                             -> BitOp.SextB,
    unary(1, 0x605)                                             -> BitOp.SextH,
    unary(5, 0x287)                                             -> BitOp.OrcB,
    unary(5, 0x698)                                             -> BitOp.Rev8,
    (zbb && isOpImmCode && funct3 === 5.U && funct7 === 0x30.U) -> BitOp.RotateRight
  )
  private val bitOp = Seq(
    (zba && isOpCode && funct7 === 0x10.U && !funct3(0) && funct3 =/= 0.U) -> BitOp.ShiftAdd,
    (binary(0x05) && funct3(2))                                            -> BitOp.MinMax,
    (binary(0x30) && funct3 === 1.U)                                       -> BitOp.RotateLeft,
    (binary(0x30) && funct3 === 5.U)                                       -> BitOp.RotateRight,
    zextH                                                                  -> BitOp.ZextH
  )
  private val isBitImm = bitImm.map(_._1).reduce(_ || _)
  private val isBitOp  = bitOp.map(_._1).reduce(_ || _)
  private val isExtOp  = isAes || isInverted || isBitOp

  private val isFence  = opcode === "h0f".U && funct3 < 2.U
  private val isSystem = opcode === "h73".U
  private val isCsr    = isSystem && funct3(1, 0) =/= 0.U
  private val isEcall  = insn === "h00000073".U
  private val isEbreak = insn === "h00100073".U
  private val isMret   = insn === "h30200073".U
  private val isWfi    = insn === "h10500073".U

  // Width and sign codes are those of loads; the contract's patterns fix which fields must be 0.
  private val isStream = Wire(new StreamOp)
  if (p.streams) {
    import StreamInstructions._
    val exists = rs1 < (1.U(4.W) << io.sLog2)
    isStream.load := exists && Seq(STREAM_LB, STREAM_LH, STREAM_LW, STREAM_LBU, STREAM_LHU)
      .map(insn === _)
      .reduce(_ || _)
    isStream.store := exists && Seq(STREAM_SB, STREAM_SH, STREAM_SW).map(insn === _).reduce(_ || _)
    isStream.readI := exists &&
      Seq(STREAM_READI_B, STREAM_READI_H, STREAM_READI_W, STREAM_READI_BU, STREAM_READI_HU)
        .map(insn === _)
        .reduce(_ || _)
    isStream.readO := exists &&
      Seq(STREAM_READO_B, STREAM_READO_H, STREAM_READO_W, STREAM_READO_BU, STREAM_READO_HU)
        .map(insn === _)
        .reduce(_ || _)
  } else {
    isStream := 0.U.asTypeOf(isStream)
  }
  private val streamReads = isStream.load || isStream.readI || isStream.readO

  private val immI = Cat(Fill(21, insn(31)), insn(30, 20))
  private val immS = Cat(Fill(21, insn(31)), insn(30, 25), insn(11, 7))
  private val immB = Cat(Fill(20, insn(31)), insn(7), insn(30, 25), insn(11, 8), 0.U(1.W))
  private val immU = Cat(insn(31, 12), 0.U(12.W))
  private val immJ = Cat(Fill(12, insn(31)), insn(19, 12), insn(20), insn(30, 21), 0.U(1.W))
  // A CSR instruction's source passes through the adder: rs1 + 0 or 0 + zimm.
  private val immCsr = Mux(funct3(2), Cat(0.U(27.W), rs1), 0.U(32.W))

  private val c = io.out
  c.illegal := !(isLoad || isStore || isBranch || isJal || isJalr || isLui || isAuipc || isOpImm || isOp || isM || isFence ||
    isCsr || isEcall || isEbreak || isMret || isWfi || isExtOp || isBitImm || isStream.asUInt.orR)
  c.usesRs1 := isLoad || isStore || isBranch || isJalr || isOpImm || isOp || isM || isExtOp || isBitImm ||
    isCsr && !funct3(2)
  c.usesRs2 := isStore || isBranch || isOp || isM || isExtOp || isStream.store || isStream.readI || isStream.readO
  c.wen := rd =/= 0.U &&
    (isLoad || isJal || isJalr || isLui || isAuipc || isOpImm || isOp || isM || isExtOp || isBitImm || isCsr || streamReads)
  c.aPc   := isAuipc || isJal
  c.aZero := isLui || isCsr && funct3(2)
  c.bImm  := !(isOp || isM || isExtOp || isBranch)
  c.imm := MuxCase(
    immI,
    Seq(isStore -> immS, (isLui || isAuipc) -> immU, isCsr -> immCsr, isJal -> 4.U)
  )
  c.aluFn   := Mux(isOp || isOpImm || isM || isInverted, funct3, 0.U)
  c.aluAlt  := isOp && altFn || isOpImm && isShift && altFn
  c.invertB := isInverted
  c.bit     := MuxCase(BitOp.None, bitImm ++ bitOp)
  c.aes     := isAes
  c.branch  := isBranch
  c.jal     := isJal
  c.jalr    := isJalr
  c.load    := isLoad
  c.store   := isStore
  c.mul     := isM && !funct3(2)
  c.div     := isM && funct3(2)
  c.csr     := isCsr
  c.ecall   := isEcall
  c.ebreak  := isEbreak
  c.mret    := isMret
  c.wfi     := isWfi
  c.fenceI  := isFence && funct3(0)
  c.stream  := isStream

  io.jumpImm := Mux(insn(2), immJ, immB)
}
