// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Decoupled, UIntToOH, Valid, isPow2, log2Ceil}

/** What a path has to say of instructions that its queue keeps. */
class IssueKeepIO extends Bundle {

  /** What the queue gives in this cycle is kept when it is taken; it is taken on a guess. What becomes of those that
    * were: nothing is taken while that is said.
    */
  val keep  = Input(Bool())
  val guess = Input(Bool())
  val fate  = Input(new GuessFate)

  /** The oldest one kept ends; the oldest that then is kept surely ends in the next cycle. An instruction is kept no
    * more from the cycle on in which it ends, and in `entries` from the cycle before.
    */
  val ends = Input(Bool())
  val soon = Input(Bool())

  /** Some are kept. */
  val some = Output(Bool())
}

/** What others see of an instruction in a queue. */
class IssueEntry(p: VectorParams) extends Bundle {
  val tag       = UInt(p.tagBits.W)
  val registers = new RegisterUse

  /** It is kept: an unpack, which reads its mask itself since it was taken. */
  val kept = Bool()

  /** Memory access that is not careful: its first and last byte's addresses. */
  val first = UInt(p.xLen.W)
  val last  = UInt(p.xLen.W)

  /** It is a VREDSUM of VarVE-full. */
  val isSum = Bool()
}

class IssueQueueIO(p: VectorParams, depth: Int, keeps: Boolean) extends Bundle {
  val in  = Flipped(Decoupled(new VectorOp(p)))
  val out = Decoupled(new VectorOp(p))

  /** The registers that `in`'s and `out`'s instructions read and write. */
  val inRegisters  = Input(new RegisterUse)
  val outRegisters = Output(new RegisterUse)

  /** All that waits or is kept, in no order. */
  val entries = Output(Vec(depth, Valid(new IssueEntry(p))))

  val kept = if (keeps) Some(new IssueKeepIO) else None

  val clear = Input(Bool())
}

/** Instructions of one path in program order. Nothing stays for a cycle if none is before it and the path takes it.
  *
  * With `keeps` an instruction may stay when it is taken, until it ends, so that it can be taken again if that was on a
  * guess which fails, and so that others see what it will write. What is not kept is only taken when none is kept.
  *
  * An instruction does not move in the queue: it lies in a memory, of which one is written and one is read, and beside
  * it is what others see of all of them. What its path does not use of an instruction is not kept, and given as 0.
  */
class IssueQueue(p: VectorParams, depth: Int, path: Int, keeps: Boolean = false) extends Module {
  val io = IO(new IssueQueueIO(p, depth, keeps))

  private class Row extends Bundle {
    val op        = new VectorOp(p)
    val registers = new RegisterUse
  }
  private val indexBits = log2Ceil(depth)
  private val countBits = log2Ceil(depth + 1)

  /** The slot so many behind another, less than `depth`. */
  private def behind(slot: UInt, by: UInt): UInt = {
    val sum = slot +& by
    if (isPow2(depth)) sum(indexBits - 1, 0)
    else Mux(sum >= depth.U, sum - depth.U, sum)(indexBits - 1, 0)
  }

  // The oldest, and how many there are; they follow one another in slots, behind the last of which is the first.
  private val rows  = Mem(depth, new Row)
  private val seen  = Reg(Vec(depth, new IssueEntry(p)))
  private val valid = RegInit(0.U(depth.W))
  private val head  = RegInit(0.U(indexBits.W))
  private val tail  = RegInit(0.U(indexBits.W))
  private val count = RegInit(0.U(countBits.W))

  // The oldest so many are kept, those of them that were not taken on a guess first.
  private val taken = if (keeps) RegInit(0.U(countBits.W)) else 0.U(countBits.W)
  private val sure  = if (keeps) RegInit(0.U(countBits.W)) else 0.U(countBits.W)
  private val keep  = io.kept.fold(false.B)(_.keep)
  private val ends  = io.kept.fold(false.B)(_.ends)

  private val waits = count =/= taken
  private val first = rows(if (keeps) behind(head, taken) else head)
  private val flows = io.out.ready && !waits && !keep
  private val enter = io.in.valid && io.in.ready && !flows
  private val gone  = ends || (io.out.ready && waits && !keep)

  io.in.ready     := count =/= depth.U
  io.out.valid    := waits || (io.in.valid && io.in.ready)
  io.out.bits     := Mux(waits, first.op, io.in.bits).usedBy(path)
  io.outRegisters := Mux(waits, first.registers, io.inRegisters)

  private val entering = Wire(new Row)
  entering.op        := io.in.bits
  entering.registers := io.inRegisters
  when(enter) {
    rows(tail) := entering
    tail       := behind(tail, 1.U)
  }
  when(gone)(head := behind(head, 1.U))
  count           := count + enter - gone
  valid           := (valid & ~Mux(gone, UIntToOH(head, depth), 0.U)) | Mux(enter, UIntToOH(tail, depth), 0.U)
  when(io.clear) {
    head  := 0.U
    tail  := 0.U
    count := 0.U
    valid := 0.U
  }
  for (i <- 0 until depth) {
    when(enter && tail === i.U) {
      seen(i).tag       := io.in.bits.tag
      seen(i).registers := io.inRegisters
      seen(i).first     := io.in.bits.first
      seen(i).last      := io.in.bits.last
      seen(i).isSum     := io.in.bits.isSum
      seen(i).kept      := false.B
    }
    io.entries(i).valid     := valid(i)
    io.entries(i).bits      := seen(i)
    io.entries(i).bits.kept := false.B
  }

  for (kept <- io.kept) {
    val keeping   = io.out.fire && keep
    val takenNext = taken + keeping - ends
    val sureNext  = sure + (keeping && !kept.guess) - ends
    taken     := Mux(io.clear, 0.U, Mux(kept.fate.redo, sureNext, takenNext))
    sure      := Mux(io.clear, 0.U, Mux(kept.fate.confirm, takenNext, sureNext))
    kept.some := taken =/= 0.U
    for (i <- 0 until depth) {
      val age = behind(i.U(indexBits.W), if (isPow2(depth)) 0.U - head else depth.U - head)
      io.entries(i).bits.kept                                           := taken > age
      when((kept.ends || kept.soon) && age === 0.U)(io.entries(i).valid := false.B)
      when(kept.ends && kept.soon && age === 1.U)(io.entries(i).valid   := false.B)
    }
  }
}
