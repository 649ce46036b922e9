// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Decoupled, Fill, Valid, log2Ceil}

class VectorWindowIO(p: VectorParams) extends Bundle {
  val request = Flipped(Decoupled(new VectorWindowRequest))

  /** One cycle after the request; of registers of VarVE-full at most `slots + 2` cycles. */
  val answer = Output(Valid(UInt(32.W)))

  /** Nothing is under way: the register file's ports are free. */
  val idle = Input(Bool())

  /** The word that the request selects of other classes; 0 for those that there are not. */
  val other = Input(UInt(32.W))

  /** `reading`: it has the register file's port. `working`: it is busy with a request that it has taken. */
  val reading = Output(Bool())
  val working = Output(Bool())
  val read    = new ElementReadIO(p)
  val write   = Output(Valid(new RegisterWrite(p)))

  val strip = if (p.full) Some(new WindowStripIO(p)) else None
  val clear = Input(Bool())
}

/** What VarVE-full adds: [[MetadataWindow]]'s. */
class WindowStripIO(p: VectorParams) extends Bundle {
  val variable = Input(UInt(32.W))
  val register = Output(UInt(5.W))
  val metadata = Input(new VariableMetadata(p))
  val change   = Output(Valid(new VariableMetadata(p)))

  /** Whether the register that the request selects holds elements of any width from the next cycle on. */
  val tag = Output(Valid(Bool()))
}

/** A way into the vector registers, a word at a time (docs/varve/isa.md 2.2): for a debugger and for saving a context.
  * `select` is that of VSSEL: class 1, the register, and the word in it; [[MetadataWindow]] has what there is of
  * VarVE-full. Other classes are kept elsewhere.
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

  // Registers of VarVE-full.
  private val kind   = select(31, 28)
  private val strips = Option.when(p.full)(Module(new MetadataWindow(p)).io)
  private val theirs = io.strip.fold(false.B) { strip =>
    !io.request.bits.nume && select(7, 5) === 0.U &&
    (kind === 1.U && exists && !io.request.bits.write && strip.variable(register) ||
      kind === 2.U && word < p.elements.U || kind === 3.U && word === 0.U)
  }
  private val working = strips.fold(false.B)(_.working)
  for ((part, strip) <- strips.zip(io.strip)) {
    part.request.valid := io.request.fire && theirs
    part.request.bits  := io.request.bits
    part.variable      := strip.variable
    part.metadata      := strip.metadata
    part.clear         := io.clear
    part.read.data     := io.read.data
    part.read.element  := io.read.element
    strip.register     := part.register
    strip.change       := part.change
    strip.tag.valid    := io.request.fire && theirs && kind === 3.U && io.request.bits.write
    strip.tag.bits     := io.request.bits.data(0)
  }
  io.working := working
  io.reading := io.request.fire || working

  io.request.ready := io.idle && !working
  io.read.eg       := eg
  io.read.byte     := inGroup ## 0.U(2.W)
  for (part <- strips) when(working) {
    io.read.eg   := part.read.eg
    io.read.byte := part.read.byte
  }

  io.write.valid     := io.request.fire && io.request.bits.write && exists
  io.write.bits.eg   := eg
  io.write.bits.data := Fill(wordsOfGroup, io.request.bits.data)
  io.write.bits.mask := (15.U << (inGroup ## 0.U(2.W)))(p.dBytes - 1, 0)

  private val data = RegInit(0.U(32.W))
  when(io.request.fire)(data := Mux(exists, io.read.element(31, 0), io.other))
  io.answer.valid            := RegNext(io.request.fire && !theirs, false.B)
  io.answer.bits             := data
  for (part <- strips) when(part.answer.valid)(io.answer := part.answer)
}
