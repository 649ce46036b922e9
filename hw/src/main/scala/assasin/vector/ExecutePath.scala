// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{
  Cat,
  Decoupled,
  Fill,
  MuxLookup,
  PopCount,
  PriorityEncoder,
  Queue,
  RegEnable,
  UIntToOH,
  Valid,
  log2Ceil
}

class ExecutePathIO(p: VectorParams) extends PathIO(p) {

  /** vs1, vs2, vd. */
  val operands = Vec(3, new RegisterReadIO(p))

  /** Not to be held up. */
  val write    = Output(Valid(new RegisterWrite(p)))
  val writeTag = Output(UInt(p.tagBits.W))

  /** Element groups that are written in a later cycle than the next, and from this cycle on. */
  val late    = Output(UInt(p.egs.W))
  val landing = Output(UInt(p.egs.W))

  val result = Decoupled(new VectorResult(p))

  /** An element that is written has been saturated. */
  val vxsat = Output(Bool())
}

/** Sequencer and pipeline of arithmetic: S (one element group, hazards), R (registers), X (compute), W (write). A write
  * is seen by a read in the same cycle, so a dependent element group follows two cycles later. Long functions take the
  * stages X, X2 and X3. Beats come to W in the order in which they were issued.
  */
class ExecutePath(p: VectorParams) extends Module {
  val io = IO(new ExecutePathIO(p))

  private class Beat extends Bundle {
    val op   = new VectorOp(p)
    val beat = UInt(log2Ceil(8 * p.egsPerRegister).W)
    val eg   = UInt(p.egBits.W)
    val last = Bool()

    /** It writes; of a mask result only the beats behind those that compute. */
    val writes = Bool()
    val finish = Bool()
  }
  private val results = 2

  private def egOf(register: UInt, beat: UInt) = (register * p.egsPerRegister.U + beat)(p.egBits - 1, 0)
  private def expand(registers: UInt) = VecInit(Seq.tabulate(p.egs)(eg => registers(eg / p.egsPerRegister))).asUInt

  // S.
  private val valid    = RegInit(false.B)
  private val op       = Reg(new VectorOp(p))
  private val beat     = Reg(UInt(log2Ceil(8 * p.egsPerRegister).W))
  private val reads    = Reg(UInt(p.egs.W))
  private val writes   = Reg(UInt(p.egs.W))
  private val vs1      = egOf(op.vs1, beat >> op.extendB)
  private val vs2      = egOf(op.vs2, beat >> op.extend)
  private val vd       = egOf(op.vd, beat >> op.narrow)
  private val v0Groups = ((BigInt(1) << p.egsPerRegister) - 1).U(p.egs.W)

  // A mask result is collected, a bit an element, and written by as many beats as it has element groups.
  private val finish  = Reg(Bool())
  private val lastBit = Mux(op.evl === 0.U, 0.U, (op.evl - 1.U) >> log2Ceil(p.dLen))
  private val computed =
    beat === Mux(op.bitwise, lastBit, ((op.evl << op.eew)(p.vlBits - 1, 0) - 1.U) >> log2Ceil(p.dBytes))
  private val isLast    = Mux(op.maskResult, finish && beat === lastBit, computed)
  private val writesNow = op.writes && (!op.maskResult || finish)

  // Registers for stages R and X.
  private val rValid  = RegInit(false.B)
  private val r       = Reg(new Beat)
  private val xValid  = RegInit(false.B)
  private val x2Valid = RegInit(false.B)
  private val x3Valid = RegInit(false.B)
  private val wValid  = RegInit(false.B)

  // Behind a long function a short one waits, so that it does not overtake it.
  private def isLong(of: VectorOp) = IntegerFunction.isLong(of.function)
  private val gap                  = RegInit(0.U(2.W))

  // While a beat is divided, which it is in X, no other is issued.
  private def isDivide(of: VectorOp) = IntegerFunction.isDivide(of.function)
  private val dividing               = RegInit(false.B)

  private val blocked = io.olderWrites | io.late
  private val hazard = (op.readsVs1 && !finish && blocked(vs1)) || (op.readsVs2 && !finish && blocked(vs2)) ||
    (op.readsVd && blocked(vd)) || (op.readsMask && (blocked & v0Groups) =/= 0.U) || (writesNow && (io.olderWrites(
      vd
    ) || io.olderReads(
      vd
    ) || (finish && blocked(vd))))
  private val owed   = RegInit(0.U(log2Ceil(results + 1).W))
  private val inTurn = !dividing && (isLong(op) || gap === 0.U)
  private val issue  = valid && !hazard && inTurn && !(op.toScalar && owed === results.U)
  private val ends   = issue && isLast
  gap := Mux(io.clear, 0.U, Mux(issue && isLong(op), 2.U, gap - gap.orR))

  io.op.ready := !valid || ends
  when(io.op.fire) {
    op     := io.op.bits
    beat   := 0.U
    finish := false.B
    reads  := expand(io.op.bits.readRegisters)
    writes := expand(io.op.bits.writeRegisters)
  }.elsewhen(issue) {
    beat   := Mux(op.maskResult && computed && !finish, 0.U, beat + 1.U)
    finish := op.maskResult && (finish || computed)
    // Two beats write an element group of narrow results.
    when(writesNow && (!op.narrow || beat(0)))(writes := writes & ~UIntToOH(vd, p.egs))
    // v0 is read to the end, and so are all sources if several beats read an element group of one.
    when(!finish) {
      val sources = Mux(op.readsVs1, UIntToOH(vs1, p.egs), 0.U) | Mux(op.readsVs2, UIntToOH(vs2, p.egs), 0.U)
      val read    = Mux(op.extendB || op.extend =/= 0.U, 0.U, sources)
      reads := (reads & ~read) | Mux(op.readsMask, v0Groups, 0.U)
    }
  }
  valid              := !io.clear && (io.op.fire || (valid && !ends))
  io.use.valid       := valid
  io.use.bits.tag    := op.tag
  io.use.bits.reads  := reads
  io.use.bits.writes := writes
  io.operands(0).eg  := egOf(r.op.vs1, r.beat >> r.op.extendB)
  io.operands(1).eg  := Mux(r.finish, r.eg, egOf(r.op.vs2, r.beat >> r.op.extend))
  io.operands(2).eg  := r.eg

  // R: operands and masks.
  rValid := issue && !io.clear
  when(issue) {
    r.op     := op
    r.beat   := beat
    r.eg     := vd
    r.last   := isLast
    r.writes := writesNow
    r.finish := finish
  }
  private val operands = Module(new OperandUnit(p))
  operands.io.op   := r.op
  operands.io.part := r.beat.pad(3)(2, 0)
  operands.io.vs1  := io.operands(0).data
  operands.io.vs2  := io.operands(1).data
  operands.io.vd   := io.operands(2).data

  // The bytes that are written. Of narrow results these are in one half of the element group.
  private val writtenEew = r.op.eew - r.op.narrow
  private val written    = r.beat >> r.op.narrow
  private val half = Mux(
    r.op.narrow,
    Cat(Fill(p.dBytes / 2, r.beat(0)), Fill(p.dBytes / 2, !r.beat(0))),
    Fill(p.dBytes, 1.U(1.W))
  )
  private val body   = ElementBytes.body(p, writtenEew, written, r.op.vstart, r.op.evl) & half
  private val active = ElementBytes.chosen(p, writtenEew, written, io.v0)

  // The bits of a mask register that belong to active elements.
  private val bits =
    (((1.U << r.op.evl) - 1.U)(p.vLen - 1, 0) & Mux(r.op.masked, io.v0, ((BigInt(1) << p.vLen) - 1).U)) >>
      (r.beat * p.dLen.U)

  // X: compute.
  xValid := rValid && !io.clear
  private val x       = RegEnable(r, rValid)
  private val xIsLong = isLong(x.op)
  private val units   = Module(new ElementUnits(p))
  units.io.valid    := xValid
  units.io.function := x.op.function
  units.io.vxrm     := x.op.vxrm
  units.io.eew      := x.op.eew
  units.io.narrow   := x.op.narrow
  units.io.a        := RegEnable(operands.io.a, rValid)
  units.io.b        := RegEnable(operands.io.b, rValid)
  units.io.c        := RegEnable(operands.io.c, rValid && isLong(r.op))
  units.io.choose   := RegEnable(Mux(r.op.readsMask, active, 0.U), rValid)
  units.io.clear    := io.clear
  dividing          := !io.clear && ((issue && isDivide(op)) || (dividing && !units.io.done))

  private val collected = Reg(UInt(p.vLen.W))
  private val elements  = (p.dBytes.U >> x.op.eew).asUInt
  private val logic     = units.io.out ^ Fill(p.dLen, x.op.invertOut)
  when(xValid && x.op.maskResult && !x.finish) {
    collected := Mux(x.beat === 0.U, 0.U, collected) | (Mux(x.op.bitwise, logic, units.io.flags) << (x.beat * Mux(
      x.op.bitwise,
      p.dLen.U,
      elements
    )))(p.vLen - 1, 0)
  }
  private val xBits  = RegEnable(bits(p.dLen - 1, 0), rValid)
  private val flags  = (collected >> (x.beat * p.dLen.U))(p.dLen - 1, 0)
  private val merged = (units.io.a & ~xBits) | (flags & xBits)
  private val out    = Mux(x.finish, merged, units.io.out)
  private val xMask  = RegEnable(Mux(r.finish, Fill(p.dBytes, 1.U(1.W)), Mux(r.op.masked, body & active, body)), rValid)

  // Bits of a mask register, counted or searched over its element groups.
  private val found    = units.io.a & xBits
  private val before   = Reg(UInt(p.xLen.W))
  private val isFirst  = x.beat === 0.U
  private val so       = Mux(isFirst, Mux(x.op.findFirst, Fill(p.xLen, 1.U(1.W)), 0.U), before)
  private val firstOf  = (x.beat * p.dLen.U) +& PriorityEncoder(found)
  private val newFirst = Mux(so(p.xLen - 1) && found =/= 0.U, firstOf, so)
  private val ofMask   = Mux(x.op.findFirst, newFirst, so + PopCount(found))(p.xLen - 1, 0)
  when(xValid && x.op.toScalar)(before := ofMask)

  // X2, X3.
  x2Valid := xValid && xIsLong && !io.clear
  x3Valid := x2Valid && !io.clear
  private val x2     = RegEnable(x, xValid && xIsLong)
  private val x2Mask = RegEnable(xMask, xValid && xIsLong)
  private val x3     = RegEnable(x2, x2Valid)
  private val x3Mask = RegEnable(x2Mask, x2Valid)

  // W: write.
  private val shortEnds = units.io.done || (xValid && !xIsLong && !isDivide(x.op))
  private val toWrite   = shortEnds || x3Valid
  private val last      = Mux(x3Valid, x3, x)
  wValid := toWrite && !io.clear
  private val w = RegEnable(last, toWrite)
  io.write.valid     := wValid && w.writes
  io.write.bits.eg   := w.eg
  io.write.bits.data := RegEnable(Mux(x3Valid, units.io.longOut, out), toWrite)
  io.write.bits.mask := RegEnable(Mux(x3Valid, x3Mask, xMask), toWrite)
  io.writeTag        := w.op.tag
  io.end.valid       := wValid && w.last
  io.end.bits        := w.op.tag
  io.vxsat           := wValid && RegEnable(x3Valid && (units.io.saturated & x3Mask).orR, toWrite)

  private def landsIn(stage: Bool, writes: Bool, eg: UInt) = Mux(stage && writes, UIntToOH(eg, p.egs), 0.U(p.egs.W))
  io.late := landsIn(rValid, r.writes, r.eg) | landsIn(xValid && xIsLong, x.writes, x.eg) |
    landsIn(x2Valid, x2.writes, x2.eg) | landsIn(dividing && !units.io.done, x.writes, x.eg)
  io.landing := io.late | landsIn(toWrite, last.writes, last.eg) | landsIn(io.write.valid, true.B, w.eg)

  // Results wait here as long as the core likes; no more are begun than there is room for.
  private val queue = Module(new Queue(new VectorResult(p), results))
  queue.reset          := reset.asBool || io.clear
  queue.io.enq.valid   := xValid && x.op.toScalar && x.last
  queue.io.enq.bits.rd := x.op.vd
  private val element = MuxLookup(x.op.eew, 0.U)((0 to log2Ceil(p.eLen / 8)).map { log =>
    log.U -> units.io.out((8 << log) - 1, 0).asSInt.pad(p.xLen).asUInt
  })
  queue.io.enq.bits.data := Mux(x.op.bitwise, ofMask, element)
  io.result <> queue.io.deq
  owed := Mux(io.clear, 0.U, owed + (ends && op.toScalar) - io.result.fire)

  io.busy := valid || rValid || xValid || x2Valid || x3Valid || dividing || wValid || owed =/= 0.U
}
