// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Valid, log2Ceil}

class MetadataWindowIO(p: VectorParams) extends Bundle {

  /** A request for class 2 or 3, or to read class 1 of a register that holds elements of any width; not while
    * `working`.
    */
  val request = Flipped(Valid(new VectorWindowRequest))
  val working = Output(Bool())

  /** In the last cycle of `working`. */
  val answer = Output(Valid(UInt(32.W)))

  /** Registers that hold elements of any width, a bit each. */
  val variable = Input(UInt(32.W))

  /** While `working`: the register, its data and its metadata in the same cycle, and what the metadata become. */
  val register = Output(UInt(5.W))
  val read     = new ElementReadIO(p)
  val metadata = Input(new VariableMetadata(p))
  val change   = Output(Valid(new VariableMetadata(p)))

  val clear = Input(Bool())
}

/** The part of the window that shows and changes registers of VarVE-full (docs/varve/isa.md 2.2): widths of elements,
  * what else a register has, and its data without dead slots. It looks at a slot or an element a cycle: a debugger has
  * time, and a network that does it at once has none of the area to spare.
  */
class MetadataWindow(p: VectorParams) extends Module {
  require(p.full, "MetadataWindow is of VarVE-full")
  val io = IO(new MetadataWindowIO(p))

  private val slotsOfWord = 32 / p.align
  private val placeBits   = log2Ceil(slotsOfWord)

  /** Bits of a number of elements in a word of class 3. */
  private val saidBits = 9 max log2Ceil(p.elements + 1)

  private val working = RegInit(false.B)
  private val request = Reg(new VectorWindowRequest)
  private val at      = Reg(UInt(log2Ceil(p.slots + 1).W))

  /** Of class 1 live slots below `at`; of class 3 slots that the elements below `at` have, at most all. */
  private val slots = Reg(UInt(log2Ceil(p.slots + 1).W))
  private val word  = Reg(Vec(slotsOfWord, UInt(p.align.W)))

  private val register   = request.select(4, 0)
  private val index      = request.select(19, 8)
  private val isData     = request.select(31, 28) === 1.U
  private val isWidth    = request.select(31, 28) === 2.U
  private val isVariable = io.variable(register)
  private val position   = at(log2Ceil(p.slots) - 1, 0)
  private val takesTime  = isData || (!isWidth && request.write)
  private val last       = !takesTime || at === p.slots.U

  private val slot =
    if (p.align == 8) io.read.element(7, 0)
    else
      VecInit(Seq.tabulate(p.slotsOfByte)(k => io.read.element(p.align * (k + 1) - 1, p.align * k)))(
        position(log2Ceil(p.slotsOfByte) - 1, 0)
      )

  // What a write of class 3 says.
  private val said  = request.data(15 + saidBits, 16)
  private val count = Mux(said > p.elements.U, p.elements.U, said)(log2Ceil(p.elements + 1) - 1, 0)
  private val width = io.metadata.widths(Mux(isWidth, index(log2Ceil(p.elements) - 1, 0), position))
  private val sum   = slots +& ((width +& (p.align - 1).U) >> log2Ceil(p.align))

  when(io.request.valid) {
    working := true.B
    request := io.request.bits
    at      := 0.U
    slots   := 0.U
    word.foreach(_ := 0.U)
  }.elsewhen(working) {
    at      := at + 1.U
    working := !last
    when(isData) {
      when(io.metadata.live(position)) {
        slots                                                            := slots + 1.U
        when(slots >> placeBits === index)(word(slots(placeBits - 1, 0)) := slot)
      }
    }.elsewhen(at < count) {
      slots := Mux(sum > p.slots.U, p.slots.U, sum)(log2Ceil(p.slots + 1) - 1, 0)
    }
  }
  when(io.clear)(working := false.B)

  io.working   := working
  io.register  := register
  io.read.eg   := register
  io.read.byte := position >> log2Ceil(p.slotsOfByte)

  private val form  = Mux(isVariable, io.metadata.mb ## io.metadata.unsigned, 0.U(3.W))
  private val other = io.metadata.count.pad(saidBits) ## 0.U(12.W) ## form ## isVariable
  io.answer.valid := working && last
  io.answer.bits  := Mux(isData, word.asUInt, Mux(isWidth, Mux(isVariable, width, 0.U), other))

  io.change.valid := working && last && request.write
  io.change.bits  := io.metadata
  when(isWidth) {
    io.change.bits.widths(index(log2Ceil(p.elements) - 1, 0)) := request.data(6, 0)
  }.otherwise {
    io.change.bits.count    := count
    io.change.bits.unsigned := request.data(1)
    io.change.bits.mb       := request.data(3, 2)
    io.change.bits.live     := ((1.U((p.slots + 1).W) << slots)(p.slots, 0) - 1.U)(p.slots - 1, 0)
    for (i <- 0 until p.elements) when(i.U >= count)(io.change.bits.widths(i) := 0.U)
  }
}
