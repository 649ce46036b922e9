// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{PopCount, UIntToOH, Valid, log2Ceil}

class StripStateIO(p: VectorParams) extends Bundle {
  private val countBits = log2Ceil(p.elements + 1)

  /** An instruction with something to do leaves the commit stage; where it stands, if it packs or adds up. */
  val op    = Flipped(Valid(new VectorOp(p)))
  val place = Output(new StripPlace)

  /** Numbers of elements as they become known: of those that count, of those that close. */
  val counted = Flipped(Vec(3, Valid(UInt(countBits.W))))
  val closed  = Flipped(Vec(2, Valid(new StripClose(p))))

  /** VRCNUM: the next strip begins, and NumE is EMAX again. */
  val renew = Input(Bool())

  /** NUME is written. */
  val write = Flipped(Valid(UInt(32.W)))

  /** The window writes, perhaps a register's number of elements. */
  val altered = Input(Bool())

  /** NumE and PACKED. */
  val numE   = Output(UInt(countBits.W))
  val packed = Output(Bool())

  /** PACKED for the instruction behind the one that leaves the commit stage. */
  val next = Output(Bool())

  /** By [[StripPlace.strip]], for those that pack or add up: NumE, and whether all others have told their numbers. */
  val numEs = Output(Vec(2, UInt(countBits.W)))
  val known = Output(Vec(2, Bool()))

  /** VRCNUM may read NumE. */
  val settled = Output(Bool())

  val clear = Input(Bool())
}

/** NumE and PACKED (docs/varve/isa.md 0 and 1.6): the least number of elements that an instruction of the strip has
  * yielded, and whether its elements are being stored.
  *
  * VRCNUM does not wait for those that pack or add up what the strip has made: they go by the NumE that it leaves. So
  * instructions of two strips are under way at most.
  */
class StripState(p: VectorParams) extends Module {
  val io = IO(new StripStateIO(p))

  private val most   = p.elements.U(log2Ceil(p.elements + 1).W)
  private val numE   = RegInit(most)
  private val packed = RegInit(false.B)
  private val open   = RegInit(0.U(p.tagBits.W))

  // Which strip it is; NumE of the one before; who closes, by strip, and in this strip who may end it.
  private val strip   = RegInit(false.B)
  private val before  = RegInit(most)
  private val closing = RegInit(VecInit(Seq.fill(2)(0.U(p.tagBits.W))))
  private val unsure  = RegInit(0.U(p.tagBits.W))

  // Registers made in this strip by those that count.
  private val made   = RegInit(0.U(32.W))
  private val op     = io.op.bits
  private val use    = op.variable.get
  private val counts = io.op.valid && use.active && use.setsCount
  private val closes = io.op.valid && use.active && (op.path === VectorPath.Pack.U || op.isSum)
  private val writes = op.writeRegisters
  when(io.op.valid)(made := (made & ~writes) | Mux(use.active && use.setsCount && !use.compare, writes, 0.U))
  io.place.strip         := strip
  io.place.sure          := (made & UIntToOH(Mux(op.path === VectorPath.Pack.U, op.vd, op.vs2), 32)).orR

  private def least(a: UInt, b: UInt): UInt = Mux(a < b, a, b)
  private val ends                          = io.closed.map(n => n.valid && n.bits.place.strip === strip)
  private val all = (io.counted.map(n => Mux(n.valid, n.bits, most)) ++
    io.closed.zip(ends).map { case (n, mine) => Mux(mine, n.bits.count, most) }).foldLeft(numE)(least)
  numE   := all
  open   := open + counts - PopCount(io.counted.map(_.valid))
  unsure := unsure + (closes && !io.place.sure) - PopCount(io.closed.map(n => n.valid && !n.bits.place.sure))
  for ((number, which) <- closing.zip(Seq(false.B, true.B))) {
    number := number + (closes && strip === which) -
      PopCount(io.closed.map(n => n.valid && n.bits.place.strip === which))
  }
  when(closes)(packed := true.B)
  when(io.renew) {
    before := numE
    numE   := most
    packed := false.B
    strip  := !strip
    made   := 0.U
  }
  when(io.write.valid) {
    numE   := least(most, Mux(io.write.bits(15, 0) > most, most, io.write.bits(15, 0))(most.getWidth - 1, 0))
    packed := io.write.bits(31)
    made   := 0.U
  }
  when(io.altered)(made := 0.U)
  when(io.clear) {
    numE   := most
    packed := false.B
    open   := 0.U
    unsure := 0.U
    made   := 0.U
    closing.foreach(_ := 0.U)
  }
  io.numE   := numE
  io.packed := packed
  io.next   := !io.renew && (packed || closes)
  for (which <- 0 until 2) {
    val now = strip === (which == 1).B
    io.numEs(which) := Mux(now, numE, before)
    io.known(which) := !now || open === 0.U
  }
  io.settled := open === 0.U && unsure === 0.U && closing(!strip) === 0.U
}
