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
  val operands = Vec(2, new RegisterReadIO(p))

  /** Not to be held up. */
  val write    = Output(Valid(new RegisterWrite(p)))
  val writeTag = Output(UInt(p.tagBits.W))

  /** Element groups that are written in a later cycle than the next, and from this cycle on. */
  val late    = Output(UInt(p.egs.W))
  val landing = Output(UInt(p.egs.W))

  val result = Decoupled(new VectorResult(p))
}

/** Sequencer and pipeline of arithmetic: S (one element group, hazards), R (registers), X (compute), W (write). A write
  * is seen by a read in the same cycle, so a dependent element group follows two cycles later.
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
  private val vs1      = egOf(op.vs1, beat)
  private val vs2      = egOf(op.vs2, beat >> op.extend)
  private val vd       = egOf(op.vd, beat)
  private val v0Groups = ((BigInt(1) << p.egsPerRegister) - 1).U(p.egs.W)

  // A mask result is collected, a bit an element, and written by as many beats as it has element groups.
  private val finish  = Reg(Bool())
  private val lastBit = Mux(op.evl === 0.U, 0.U, (op.evl - 1.U) >> log2Ceil(p.dLen))
  private val computed =
    beat === Mux(op.bitwise, lastBit, ((op.evl << op.eew)(p.vlBits - 1, 0) - 1.U) >> log2Ceil(p.dBytes))
  private val isLast    = Mux(op.maskResult, finish && beat === lastBit, computed)
  private val writesNow = op.writes && (!op.maskResult || finish)

  // Registers for stages R and X.
  private val rValid = RegInit(false.B)
  private val r      = Reg(new Beat)
  private val xValid = RegInit(false.B)
  private val wValid = RegInit(false.B)

  private val blocked = io.olderWrites | io.late
  private val hazard = (op.readsVs1 && !finish && blocked(vs1)) || (op.readsVs2 && !finish && blocked(vs2)) ||
    (op.readsMask && (blocked & v0Groups) =/= 0.U) || (writesNow && (io.olderWrites(vd) || io.olderReads(
      vd
    ) || (finish && blocked(vd))))
  private val owed  = RegInit(0.U(log2Ceil(results + 1).W))
  private val issue = valid && !hazard && !(op.toScalar && owed === results.U)
  private val ends  = issue && isLast

  io.op.ready := !valid || ends
  when(io.op.fire) {
    op     := io.op.bits
    beat   := 0.U
    finish := false.B
    reads  := expand(io.op.bits.readRegisters)
    writes := expand(io.op.bits.writeRegisters)
  }.elsewhen(issue) {
    beat                   := Mux(op.maskResult && computed && !finish, 0.U, beat + 1.U)
    finish                 := op.maskResult && (finish || computed)
    when(writesNow)(writes := writes & ~UIntToOH(vd, p.egs))
    // v0 is read to the end, and what is extended by several beats too.
    when(!finish) {
      reads := (reads & ~Mux(op.readsVs1, UIntToOH(vs1, p.egs), 0.U) & ~Mux(
        op.readsVs2 && op.extend === 0.U,
        UIntToOH(vs2, p.egs),
        0.U
      )) |
        Mux(op.readsMask, v0Groups, 0.U)
    }
  }
  valid              := !io.clear && (io.op.fire || (valid && !ends))
  io.use.valid       := valid
  io.use.bits.tag    := op.tag
  io.use.bits.reads  := reads
  io.use.bits.writes := writes
  io.operands(0).eg  := egOf(r.op.vs1, r.beat)
  io.operands(1).eg  := Mux(r.finish, r.eg, egOf(r.op.vs2, r.beat >> r.op.extend))

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
  private val replicated = MuxLookup(r.op.eew, r.op.scalar)((0 to log2Ceil(p.eLen / 8)).map { log =>
    log.U -> Fill(p.dLen >> (3 + log), r.op.scalar((8 << log) - 1, 0))
  })

  // A part of the source's element group fills one of the destination's.
  private val source = io.operands(1).data
  private val extended = MuxLookup(r.op.extend, source)((1 to log2Ceil(p.eLen / 8)).map { fewer =>
    val parts = 1 << fewer
    val bits  = p.dLen / parts
    val part  = VecInit(Seq.tabulate(parts)(i => source((i + 1) * bits - 1, i * bits)))(r.beat.pad(fewer)(fewer - 1, 0))
    fewer.U -> MuxLookup(r.op.eew, part.pad(p.dLen))((fewer to log2Ceil(p.eLen / 8)).map { log =>
      val wide   = 8 << log
      val narrow = wide >> fewer
      log.U -> Cat(
        Seq
          .tabulate(p.dLen / wide) { i =>
            val element = part((i + 1) * narrow - 1, i * narrow)
            Cat(Fill(wide - narrow, r.op.extendSigned && element(narrow - 1)), element)
          }
          .reverse
      )
    })
  })
  private val body   = ElementBytes.body(p, r.op.eew, r.beat, r.op.vstart, r.op.evl)
  private val active = ElementBytes.chosen(p, r.op.eew, r.beat, io.v0)

  // The bits of a mask register that belong to active elements.
  private val bits =
    (((1.U << r.op.evl) - 1.U)(p.vLen - 1, 0) & Mux(r.op.masked, io.v0, ((BigInt(1) << p.vLen) - 1).U)) >>
      (r.beat * p.dLen.U)

  // X: compute.
  xValid := rValid && !io.clear
  private val x       = RegEnable(r, rValid)
  private val integer = Module(new IntegerUnit(p))
  integer.io.function := x.op.function
  integer.io.eew      := x.op.eew
  integer.io.a        := RegEnable(extended, rValid)
  integer.io.b := RegEnable(Mux(r.op.readsVs1, io.operands(0).data ^ Fill(p.dLen, r.op.invertB), replicated), rValid)
  integer.io.choose := RegEnable(Mux(r.op.readsMask, active, 0.U), rValid)
  private val shift = Module(new ShiftUnit(p))
  shift.io.left   := x.op.function === IntegerFunction.ShiftLeft.U
  shift.io.signed := x.op.function === IntegerFunction.ShiftRightSigned.U
  shift.io.eew    := x.op.eew
  shift.io.a      := integer.io.a
  shift.io.b      := integer.io.b

  private val collected = Reg(UInt(p.vLen.W))
  private val elements  = (p.dBytes.U >> x.op.eew).asUInt
  private val logic     = integer.io.out ^ Fill(p.dLen, x.op.invertOut)
  when(xValid && x.op.maskResult && !x.finish) {
    collected := Mux(x.beat === 0.U, 0.U, collected) | (Mux(x.op.bitwise, logic, integer.io.flags) << (x.beat * Mux(
      x.op.bitwise,
      p.dLen.U,
      elements
    )))(p.vLen - 1, 0)
  }
  private val xBits  = RegEnable(bits(p.dLen - 1, 0), rValid)
  private val flags  = (collected >> (x.beat * p.dLen.U))(p.dLen - 1, 0)
  private val merged = (integer.io.a & ~xBits) | (flags & xBits)
  private val out = Mux(
    x.finish,
    merged,
    Mux(x.op.function >= IntegerFunction.ShiftLeft.U, shift.io.out, integer.io.out)
  )
  private val xMask = RegEnable(Mux(r.finish, Fill(p.dBytes, 1.U(1.W)), Mux(r.op.masked, body & active, body)), rValid)

  // Bits of a mask register, counted or searched over its element groups.
  private val found    = integer.io.a & xBits
  private val before   = Reg(UInt(p.xLen.W))
  private val isFirst  = x.beat === 0.U
  private val so       = Mux(isFirst, Mux(x.op.findFirst, Fill(p.xLen, 1.U(1.W)), 0.U), before)
  private val firstOf  = (x.beat * p.dLen.U) +& PriorityEncoder(found)
  private val newFirst = Mux(so(p.xLen - 1) && found =/= 0.U, firstOf, so)
  private val ofMask   = Mux(x.op.findFirst, newFirst, so + PopCount(found))(p.xLen - 1, 0)
  when(xValid && x.op.toScalar)(before := ofMask)

  // W: write.
  wValid := xValid && !io.clear
  private val wOp     = RegEnable(x.op, xValid)
  private val wLast   = RegEnable(x.last, xValid)
  private val wWrites = RegEnable(x.writes, xValid)
  io.write.valid     := wValid && wWrites
  io.write.bits.eg   := RegEnable(x.eg, xValid)
  io.write.bits.data := RegEnable(out, xValid)
  io.write.bits.mask := RegEnable(xMask, xValid)
  io.writeTag        := wOp.tag
  io.end.valid       := wValid && wLast
  io.end.bits        := wOp.tag

  private def landsIn(stage: Bool, writes: Bool, eg: UInt) = Mux(stage && writes, UIntToOH(eg, p.egs), 0.U(p.egs.W))
  io.late    := landsIn(rValid, r.writes, r.eg)
  io.landing := io.late | landsIn(xValid, x.writes, x.eg) | landsIn(io.write.valid, true.B, io.write.bits.eg)

  // Results wait here as long as the core likes; no more are begun than there is room for.
  private val queue = Module(new Queue(new VectorResult(p), results))
  queue.reset          := reset.asBool || io.clear
  queue.io.enq.valid   := xValid && x.op.toScalar && x.last
  queue.io.enq.bits.rd := x.op.vd
  private val element = MuxLookup(x.op.eew, 0.U)((0 to log2Ceil(p.eLen / 8)).map { log =>
    log.U -> integer.io.out((8 << log) - 1, 0).asSInt.pad(p.xLen).asUInt
  })
  queue.io.enq.bits.data := Mux(x.op.bitwise, ofMask, element)
  io.result <> queue.io.deq
  owed := Mux(io.clear, 0.U, owed + (ends && op.toScalar) - io.result.fire)

  io.busy := valid || rValid || xValid || wValid || owed =/= 0.U
}
