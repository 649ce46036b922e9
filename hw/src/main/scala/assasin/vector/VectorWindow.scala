// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Decoupled, Fill, Valid, log2Ceil}

class VectorWindowIO(p: VectorParams) extends Bundle {
  val request = Flipped(Decoupled(new VectorWindowRequest))

  /** One cycle after the request. */
  val answer = Output(Valid(UInt(32.W)))

  /** Nothing is under way: the register file's ports are free. */
  val idle = Input(Bool())

  /** The word that the request selects of other classes; 0 for those that there are not. */
  val other = Input(UInt(32.W))

  val read  = new ElementReadIO(p)
  val write = Output(Valid(new RegisterWrite(p)))
}

/** A way into the vector registers, a word at a time (docs/varve/isa.md 2.2): for a debugger and for saving a context.
  * `select` is that of VSSEL: class 1, the register, and the word in it. Other classes are kept elsewhere.
  */
class VectorWindow(p: VectorParams) extends Module {
  val io = IO(new VectorWindowIO(p))

  private val wordsOfGroup = p.dBytes / 4
  private val select       = io.request.bits.select
  private val register     = select(4, 0)
  private val word         = select(19, 8)
  private val exists = !io.request.bits.nume && select(31, 28) === 1.U && select(7, 5) === 0.U && word < (p.vLen / 32).U
  private val eg     = (register * p.egsPerRegister.U + (word >> log2Ceil(wordsOfGroup)))(p.egBits - 1, 0)
  private val inGroup = word(log2Ceil(wordsOfGroup) - 1, 0)

  io.request.ready := io.idle
  io.read.eg       := eg
  io.read.byte     := inGroup ## 0.U(2.W)

  io.write.valid     := io.request.fire && io.request.bits.write && exists
  io.write.bits.eg   := eg
  io.write.bits.data := Fill(wordsOfGroup, io.request.bits.data)
  io.write.bits.mask := (15.U << (inGroup ## 0.U(2.W)))(p.dBytes - 1, 0)

  private val data = RegInit(0.U(32.W))
  when(io.request.fire)(data := Mux(exists, io.read.element(31, 0), io.other))
  io.answer.valid            := RegNext(io.request.fire, false.B)
  io.answer.bits             := data
}
