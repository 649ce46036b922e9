// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** A word of custom-2 taken apart (docs/varve/isa.md 3.2). */
class StreamWord extends Bundle {

  /** Which instruction it is: none of them for a word that does not exist. `declare`: vs.fr to vs.hw. */
  val declare   = Bool()
  val consume   = Bool()
  val endInput  = Bool()
  val endOutput = Bool()
  val unpack    = Bool()
  val pack      = Bool()
  val count     = Bool()

  /** Of VarVE-full: vs.vunpack, vs.vpack. */
  val full = Bool()

  /** Of vs.rcnum (`count`): the input streams that move, a bit each. */
  val set = UInt(12.W)

  /** The stream. */
  val output = Bool()
  val stream = UInt(4.W)

  /** Of a declaration. */
  val kind = UInt(2.W)

  /** Vector register that is unpacked to or packed; mask register of a pack if it has one; scalar destination. */
  val register = UInt(5.W)
  val masked   = Bool()
  val mask     = UInt(5.W)
  val rd       = UInt(5.W)
}

object StreamWord {

  /** The word is one of custom-2. */
  def is(insn: UInt): Bool = insn(6, 0) === "b1011011".U

  /** The word `insn`, of which only custom-2's opcode is looked at elsewhere. */
  def apply(p: VectorParams, insn: UInt): StreamWord = {
    val word   = Wire(new StreamWord)
    val funct3 = insn(14, 12)
    val funct7 = insn(31, 25)
    val rd     = insn(11, 7)
    val rs1    = insn(19, 15)
    val rs2    = insn(24, 20)
    val vm     = insn(25)
    val plain  = funct3 === 0.U

    val declares    = plain && funct7(6, 4) === 0.U && !funct7(2) && funct7(1, 0) =/= 3.U
    val outputId    = Mux(funct3 === 3.U, 0.U(1.W) ## insn(28, 26), Mux(declares, rd(3, 0), rs2(3, 0)))
    val inputId     = Mux(funct3 === 2.U, insn(29, 26), Mux(declares, rd(3, 0), rs2(3, 0)))
    val inputExists = inputId < p.inputs.U
    word.output    := Mux(plain, Mux(declares, funct7(3), funct7(0)), funct3 === 3.U)
    word.stream    := Mux(word.output, outputId, inputId)
    word.declare   := declares && !rd(4) && Mux(funct7(3), !rd(3) && rs2 === 0.U, inputExists)
    word.kind      := funct7(1, 0)
    word.consume   := plain && funct7 === 16.U && !rs2(4) && rd === 0.U && inputExists
    word.endInput  := plain && funct7 === 24.U && !rs2(4) && rs1 === 0.U && inputExists
    word.endOutput := plain && funct7 === 25.U && rs2(4, 3) === 0.U && rs1 === 0.U
    // Of VarVE-full's a mask may follow; both kinds have the stream in the same field.
    val full = if (p.full) !insn(30) && funct3(1) else false.B
    word.full  := full
    word.count := (if (p.full) funct3 === 1.U && rs1 === 0.U else false.B)
    word.set   := insn(31, 20)
    word.unpack := funct3 === 2.U && !insn(31) && (insn(30) || full) && rs1 === 0.U && inputExists &&
      Mux(vm, rs2 === 0.U, full)
    word.pack     := funct3 === 3.U && !insn(31) && !insn(29) && (insn(30) || full) && (!vm || rs2 === 0.U)
    word.register := Mux(word.output, rs1, rd)
    word.masked   := !vm
    word.mask     := rs2
    word.rd       := rd
    word
  }
}
