// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, FillInterleaved, MuxLookup, RegEnable, Valid, log2Ceil}

class PermuteUnitIO(p: VectorParams) extends Bundle {

  /** Begins with `op`, which stays until `done`. */
  val start = Input(Bool())
  val op    = Input(new VectorOp(p))

  /** vs2 or indices; vs1. */
  val reads = Vec(2, new RegisterReadIO(p))
  val v0    = Input(UInt(p.vLen.W))

  val write = Output(Valid(new RegisterWrite(p)))

  /** For one cycle, that of the last write: nothing more is read or written. */
  val done = Output(Bool())

  val clear = Input(Bool())
}

/** Slides, gathers and vcompress. Element groups of the source go one a cycle through four stages: A (registers), B
  * (indices, or the kept bytes together), C (the byte crossbar), W (write).
  *
  *   - Slides: each source element group is rotated. An element group of the result has its lower bytes from one and
  *     its upper bytes from the next.
  *   - vcompress: the kept elements are rotated to where the last ones ended; full element groups are written.
  *   - Gathers by vector: for each element group of the result its indices are read, then all element groups of the
  *     source, and each byte takes what its index names when it comes by.
  *   - Gathers by scalar: the element group that has the element is read for each element group of the result.
  */
class PermuteUnit(p: VectorParams) extends Module {
  val io = IO(new PermuteUnitIO(p))

  import IntegerFunction._
  private val op                                 = io.op
  private val logBytes                           = log2Ceil(p.dBytes)
  private val maxLog                             = log2Ceil(p.eLen / 8)
  private def is(functions: Int*): Bool          = functions.map(f => op.function === f.U).reduce(_ || _)
  private val slides                             = is(SlideUp, SlideDown, Slide1Up, Slide1Down)
  private val gathers                            = is(Gather, Gather16)
  private val compresses                         = is(Compress)
  private def egOf(register: UInt, number: UInt) = (register * p.egsPerRegister.U + number)(p.egBits - 1, 0)

  // VLMAX is a power of 2.
  private val vlmax                    = op.stride(p.vlBits - 1, 0)
  private val vlmaxBytes               = (vlmax << op.eew)(p.vlBits - 1, 0)
  private val lastResult               = ((op.evl << op.eew)(p.vlBits - 1, 0) - 1.U) >> logBytes
  private val lastSource               = (vlmaxBytes - 1.U) >> logBytes
  private def outOf(index: UInt): Bool = (index & ~(vlmax - 1.U).pad(p.xLen)) =/= 0.U

  // A slide by `offset` elements upwards goes by `moved` bytes, one downwards by -`moved`.
  private val beyond = outOf(op.scalar)
  private val offset =
    Mux(is(Slide1Up, Slide1Down), 1.U, Mux(beyond, vlmax, op.scalar.pad(p.vlBits)(p.vlBits - 1, 0)))
  private val bytes = (offset << op.eew)(p.vlBits - 1, 0).zext
  private val moved = Mux(is(SlideUp, Slide1Up), bytes, -bytes).pad(p.vlBits + 2)

  /** Byte `k` of the element `index` of a group. */
  private def position(k: Int, index: UInt): UInt = {
    val part = (1.U << op.eew).asUInt - 1.U
    (index.pad(p.vstartBits) << op.eew)(p.vstartBits - 1, 0) | (k.U & part)
  }
  private val positions = Reg(Vec(p.dBytes, UInt(p.vstartBits.W)))
  private val outside   = Reg(Vec(p.dBytes, Bool()))

  // A: a beat, which is one of the source, or for a gather by vector one of the result, with the indices or with each
  // element group of the source.
  private val numberBits = p.vlBits + 2
  private val running    = RegInit(false.B)
  private val beat       = Reg(UInt(p.beatBits.W))
  private val indices    = Reg(Bool())
  private val next       = Reg(UInt(p.beatBits.W))
  private val base       = Reg(UInt(numberBits.W))
  private val endsResult = !indices && next === lastSource
  private val lastBeat   = beat === Mux(slides || compresses, lastResult +& 1.U, lastResult)
  private val isLast     = lastBeat && (!gathers || endsResult)
  running := !io.clear && (io.start || (running && !isLast))
  when(io.start) {
    beat    := 0.U
    indices := gathers
    next    := 0.U
    // The lower bytes of the first element group come from this one, and the upper from the next.
    base := (~(moved >> logBytes)).pad(numberBits).asUInt(numberBits - 1, 0)
  }.elsewhen(running) {
    when(!gathers || endsResult)(beat := beat + 1.U)
    indices                           := gathers && endsResult
    next                              := Mux(indices || endsResult, 0.U, next + 1.U)
  }
  private val source = Mux(
    slides,
    base + beat,
    Mux(gathers, next, Mux(compresses, beat, positions(0) >> logBytes))
  )
  private val indexLog  = Mux(is(Gather16), 1.U, op.eew)
  private val indexBeat = (beat << indexLog).asUInt >> op.eew
  io.reads(0).eg := egOf(Mux(indices, op.vs1, op.vs2), Mux(indices, indexBeat, source))
  io.reads(1).eg := egOf(op.vs1, Mux(indices, indexBeat + 1.U, beat >> (3.U +& op.eew)))

  private class Beat extends Bundle {
    val indices = Bool()

    /** Number of the element group of the result, of vcompress of the source. */
    val number = UInt(p.beatBits.W)
    val source = UInt(numberBits.W)
    val writes = Bool()
    val last   = Bool()
  }
  private val a = Wire(new Beat)
  a.indices := indices
  a.number  := Mux(slides, beat - 1.U, beat)
  a.source  := source
  a.writes  := Mux(slides, beat =/= 0.U, !gathers || endsResult)
  a.last    := isLast

  // B.
  private val bValid = RegNext(running && !io.clear, false.B)
  private val b      = RegEnable(a, running)
  private val data   = Seq.fill(2)(Reg(UInt(p.dLen.W)))
  when(running)(data.zip(io.reads).foreach { case (register, read) => register := read.data })

  private val window = Cat(data(1), data(0))
  for (k <- 0 until p.dBytes) {
    def piece(bits: Int, number: Int) = window((number + 1) * bits - 1, number * bits).pad(p.eLen)
    // Of indices of 16 bits beside larger elements an element group has those of several of the result.
    def piece16(log: Int) =
      if (log <= 1) piece(16, k >> log)
      else {
        val parts = 1 << (log - 1)
        VecInit(Seq.tabulate(parts)(part => piece(16, (p.dBytes >> log) * part + (k >> log))))(b.number(log - 2, 0))
      }
    val index = MuxLookup(op.eew, 0.U(p.eLen.W))((0 to maxLog).map { log =>
      log.U -> Mux(is(Gather16), piece16(log), piece(8 << log, k >> log))
    })
    when(io.start) {
      positions(k) := position(k, op.scalar)
      outside(k)   := beyond
    }.elsewhen(bValid && b.indices) {
      positions(k) := position(k, index)
      outside(k)   := outOf(index)
    }
  }

  private val squeeze = Module(new Squeeze(8, p.dBytes))
  squeeze.io.data := data(0)
  squeeze.io.live := ElementBytes.chosen(p, op.eew, b.number & ((8.U << op.eew) - 1.U), data(1)) &
    ElementBytes.body(p, op.eew, b.number, 0.U, op.evl)
  // Behind VLMAX there are zeros.
  private val there = FillInterleaved(8, ElementBytes.body(p, 0.U, b.source, 0.U, vlmaxBytes))

  // C.
  private val cValid = RegNext(bValid && !io.clear, false.B)
  private val c      = RegEnable(b, bValid)
  private val from   = Reg(UInt(p.dLen.W))
  private val count  = Reg(UInt(log2Ceil(p.dBytes + 1).W))
  when(bValid) {
    from  := Mux(compresses, squeeze.io.out, data(0) & there)
    count := squeeze.io.count
  }

  // The bytes below `split` are kept, and the byte at `split` is the first of `from`.
  private val split    = Reg(UInt(logBytes.W))
  private val kept     = Reg(Vec(p.dBytes, UInt(8.W)))
  private val total    = split +& count
  private val full     = total(logBytes)
  private val crossbar = Module(new BytePermute(p))
  crossbar.io.data := from
  private val scalar = MuxLookup(op.eew, op.scalar)((0 to maxLog).map { log =>
    log.U -> Fill(p.dLen >> (3 + log), op.scalar((8 << log) - 1, 0))
  })
  private val inserted = Mux(
    is(Slide1Up),
    ElementBytes.body(p, op.eew, c.number, 0.U, 1.U),
    Fill(p.dBytes, is(Slide1Down)) & ElementBytes.body(p, op.eew, c.number, op.evl - 1.U, op.evl)
  )
  private val byIndex = !slides && !compresses
  private val result = for (k <- 0 until p.dBytes) yield {
    crossbar.io.index(k) := Mux(byIndex, positions(k)(logBytes - 1, 0), k.U - split)
    val moved = crossbar.io.out(8 * k + 7, 8 * k)
    val takes = Mux(byIndex, !outside(k) && (positions(k) >> logBytes) === c.source, k.U >= split)
    val out   = Mux(takes, moved, kept(k))
    when(io.start || (cValid && c.indices)) {
      kept(k) := 0.U
    }.elsewhen(cValid && (slides || compresses || gathers)) {
      kept(k) := Mux(slides || (compresses && full), moved, out)
    }
    Mux(inserted(k), scalar(8 * k + 7, 8 * k), out)
  }
  private val filled = Reg(UInt(p.beatBits.W))
  when(io.start) {
    split                  := moved(logBytes - 1, 0)
    filled                 := 0.U
    when(compresses)(split := 0.U)
  }.elsewhen(cValid && compresses) {
    split             := total(logBytes - 1, 0)
    when(full)(filled := filled + 1.U)
  }

  // W. Elements below a slide's offset stay, and those behind the last that vcompress keeps.
  private val active = Mux(op.masked, ElementBytes.chosen(p, op.eew, c.number, io.v0), Fill(p.dBytes, 1.U(1.W)))
  private val body   = ElementBytes.body(p, op.eew, c.number, Mux(is(SlideUp), offset, 0.U), op.evl)
  private val below  = ((1.U << split) - 1.U)(p.dBytes - 1, 0)
  io.write.valid     := RegNext(cValid && !io.clear && Mux(compresses, full || c.last, c.writes), false.B)
  io.write.bits.eg   := RegEnable(egOf(op.vd, Mux(compresses, filled, c.number)), cValid)
  io.write.bits.data := RegEnable(Cat(result.reverse), cValid)
  io.write.bits.mask := RegEnable(Mux(compresses, Mux(full, Fill(p.dBytes, 1.U(1.W)), below), body & active), cValid)
  io.done            := RegNext(cValid && !io.clear && c.last, false.B)
}
