// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{PriorityMux, UIntToOH, Valid, log2Ceil}

class StripStateIO(p: VectorParams) extends Bundle {
  private val countBits = log2Ceil(p.elements + 1)

  /** An instruction with something to do leaves the commit stage; the registers that it writes; where it stands. */
  val op     = Flipped(Valid(new VectorOp(p)))
  val writes = Input(UInt(32.W))
  val place  = Output(new StripPlace)

  /** Numbers of elements as they become known: of those that count, by [[StripState.sources]]; of those that close. */
  val counted = Flipped(Vec(StripState.sources, Valid(UInt(countBits.W))))
  val closed  = Flipped(Vec(2, Valid(new StripClose(p))))

  /** VRCNUM leaves the commit stage: the next strip begins. With `early` numbers of this strip are still missing. */
  val renew = Input(Bool())
  val early = Input(Bool())

  /** A VRCNUM that left early may do so; the oldest strip that one left has its number, and is `taken`. */
  val mayLeave = Output(Bool())
  val resolved = Output(Valid(UInt(countBits.W)))
  val taken    = Input(Bool())

  /** A VRCNUM that left early has not been `taken` yet. Until then these are elements that such VRCNUMs may consume. */
  val pending = Output(Bool())
  val ahead   = Output(UInt((countBits + 1).W))

  /** The oldest strip whose number is not known, modulo [[StripPlace.strips]]. */
  val oldest = Output(UInt(StripPlace.stripBits.W))

  /** NUME is written. */
  val write = Flipped(Valid(UInt(32.W)))

  /** The window writes, perhaps a register's number of elements. */
  val altered = Input(Bool())

  /** NumE and PACKED. */
  val numE   = Output(UInt(countBits.W))
  val packed = Output(Bool())

  /** PACKED for the instruction behind the one that leaves the commit stage. */
  val next = Output(Bool())

  /** By [[StripPlace.strip]]: NumE, and whether all that have left the commit stage have told their numbers. */
  val numEs = Output(Vec(StripPlace.strips, UInt(countBits.W)))
  val known = Output(Vec(StripPlace.strips, Bool()))

  /** VRCNUM may read NumE. */
  val settled = Output(Bool())

  val clear = Input(Bool())
}

/** NumE and PACKED (docs/varve/isa.md 0 and 1.6): the least number of elements that an instruction of the strip has
  * yielded, and whether its elements are being stored.
  *
  * VRCNUM does not wait for those that pack or add up what the strip has made: they go by the NumE that it leaves. It
  * may even leave the commit stage before the strip's numbers are known, if no other instruction can lower them: then
  * streams move, and its result comes, when they are. At most two VRCNUMs have left so.
  *
  * Each source tells numbers in the order of its instructions, so a number belongs to the oldest strip of which the
  * source has told too few.
  */
class StripState(p: VectorParams) extends Module {
  val io = IO(new StripStateIO(p))

  // Strips of which instructions are under way, as numbers modulo a power of two.
  private val live                     = 4
  private val countBits                = log2Ceil(p.elements + 1)
  private val most                     = p.elements.U(countBits.W)
  private def index(strip: UInt): UInt = strip(log2Ceil(live) - 1, 0)

  private val strip  = RegInit(0.U(StripPlace.stripBits.W))
  private val oldest = RegInit(0.U(StripPlace.stripBits.W))
  private val numEs  = RegInit(VecInit(Seq.fill(StripPlace.strips)(most)))
  private val packed = RegInit(false.B)

  // Numbers that are missing, by source and strip; who closes, by strip, and in this strip who may end it.
  private val open = RegInit(
    VecInit(Seq.fill(StripState.sources)(VecInit(Seq.fill(live)(0.U(p.tagBits.W)))))
  )
  private val closing = RegInit(VecInit(Seq.fill(live)(0.U(p.tagBits.W))))
  private val unsure  = RegInit(0.U(p.tagBits.W))

  // Registers made in this strip by those that count.
  private val made   = RegInit(0.U(32.W))
  private val op     = io.op.bits
  private val use    = op.variable.get
  private val counts = io.op.valid && use.active && use.setsCount
  private val closes = io.op.valid && use.active && (op.path === VectorPath.Pack.U || op.isSum)
  private val writes = io.writes
  when(io.op.valid)(made := (made & ~writes) | Mux(use.active && use.setsCount && !use.compare, writes, 0.U))
  io.place.strip         := strip
  io.place.sure          := (made & UIntToOH(Mux(op.path === VectorPath.Pack.U, op.vd, op.vs2), 32)).orR

  private def least(a: UInt, b: UInt): UInt = Mux(ShortNumbers.less(a, b), a, b)
  private val unpacks                       = op.path === VectorPath.Unpack.U
  private val enters = Seq(counts && !unpacks, counts && unpacks && !op.readsVs1, counts && unpacks && op.readsVs1)
  private val tells = open.zip(io.counted).map { case (of, number) =>
    val strips = (0 until live).map(i => oldest + i.U)
    val mine   = PriorityMux(strips.map(s => (of(index(s)) =/= 0.U) -> s))
    (number.valid, mine, number.bits)
  }
  for (((of, enter), (told, mine, _)) <- open.zip(enters).zip(tells); i <- 0 until live) {
    of(i) := Tally(of(i), enter && index(strip) === i.U, Seq(told && index(mine) === i.U))
  }
  private val closed = io.closed.map(n => (n.valid, n.bits.place.strip, n.bits.count))
  for ((numE, i) <- numEs.zipWithIndex) {
    numE := (tells ++ closed)
      .map { case (valid, of, count) => Mux(valid && of === i.U, count, most) }
      .foldLeft(numE)(least)
  }
  unsure := Tally(unsure, closes && !io.place.sure, io.closed.map(n => n.valid && !n.bits.place.sure))
  for ((number, i) <- closing.zipWithIndex) {
    number := Tally(
      number,
      closes && index(strip) === i.U,
      io.closed.map(n => n.valid && index(n.bits.place.strip) === i.U)
    )
  }
  when(closes)(packed := true.B)

  private val following = strip + 1.U
  private val missing   = VecInit((0 until live).map(i => open.map(_(i) =/= 0.U).reduce(_ || _)))
  private val waits     = strip - oldest
  private val free      = unsure === 0.U && closing(index(following)) === 0.U
  when(io.renew) {
    numEs(following) := most
    packed           := false.B
    strip            := following
    made             := 0.U
  }
  when(io.taken || (io.renew && !io.early))(oldest := oldest + 1.U)
  when(io.write.valid) {
    numEs(strip) := least(most, Mux(io.write.bits(15, 0) > most, most, io.write.bits(15, 0))(most.getWidth - 1, 0))
    packed       := io.write.bits(31)
    made         := 0.U
  }
  when(io.altered)(made := 0.U)
  when(io.clear) {
    numEs.foreach(_ := most)
    strip  := 0.U
    oldest := 0.U
    packed := false.B
    unsure := 0.U
    made   := 0.U
    open.foreach(_.foreach(_ := 0.U))
    closing.foreach(_ := 0.U)
  }
  io.numE           := numEs(strip)
  io.packed         := packed
  io.next           := !io.renew && (packed || closes)
  io.numEs          := numEs
  io.known          := VecInit((0 until StripPlace.strips).map(i => !missing(i % live)))
  io.pending        := waits =/= 0.U
  io.mayLeave       := free && waits < 2.U
  io.resolved.valid := io.pending && !missing(index(oldest))
  io.resolved.bits  := numEs(oldest)
  io.ahead          := Mux(waits >= 1.U, numEs(strip - 1.U), 0.U) +& Mux(waits >= 2.U, numEs(strip - 2.U), 0.U)
  io.oldest         := oldest
  io.settled        := !io.pending && !missing(index(strip)) && free
}

object StripState {

  /** Who tells numbers: operations, unpacks without a mask, unpacks with one. */
  val sources = 3
}
