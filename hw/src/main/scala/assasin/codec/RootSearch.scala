// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

import chisel3._
import chisel3.util.{log2Ceil, Cat, Decoupled, Enum, MuxLookup, PopCount, PriorityEncoderOH, OHToUInt, Queue, Valid}

class RootSearchIO(p: CodeParams) extends Bundle {
  val strength     = Input(UInt(3.W))
  val locator      = Flipped(Decoupled(new Locator))
  val word         = Output(UInt(5.W))
  val coefficients = Input(UInt((4 * GaloisField.bits).W))
  val error        = Decoupled(new CodecError)
  val result       = Valid(new CodecResult)
  val idle         = Output(Bool())
}

/** Chien's search: evaluates the error locator at the positions of a beat in each cycle, from the codeword's last beat
  * to its first, until as many roots are found as the locator has.
  *
  * A cycle evaluates `lanes` terms. A locator of more terms lies in several banks, which take a cycle each:
  *
  * locator(x) = sum over banks b of x^(lanes b)^ * P(b)(x), by Horner's rule from the highest bank.
  *
  * Lane k has lambda(k) * x^k^ for the middle of the beat, from which no position is far; the next beat's is that times
  * alpha^-k*positions^. The pipeline: terms; their sums P(b) for each position; the banks' sum; roots.
  */
class RootSearch(p: CodeParams) extends Module {
  val io = IO(new RootSearchIO(p))
  import FieldLogic.{evaluate, masks, select, times}
  import GaloisField.bits

  private val lanes        = p.lanes
  private val positions    = p.beatBits
  private val middle       = positions / 2
  private val wordsABank   = lanes / 4
  private val banks        = p.most / lanes + 1
  private val messageBeats = p.messageBytes / p.beatBytes
  private val beats =
    messageBeats + p.codes.map(_.parityBytes(p.beatBytes)).max / p.beatBytes // of the longest codeword
  private def beatIndex = UInt(log2Ceil(beats).W)
  private def bankIndex = UInt(math.max(1, log2Ceil(banks)).W)

  private def ofStrength(of: BchCode => BigInt, bits: Int): UInt =
    MuxLookup(io.strength, 0.U(bits.W))(p.codes.zipWithIndex.map { case (code, k) => (k + 1).U -> of(code).U(bits.W) })
  private val parityBeats = ofStrength(c => BigInt(c.parityBytes(p.beatBytes) / p.beatBytes), 8)
  private val unused      = ofStrength(c => (BigInt(1) << c.padding(p.beatBytes)) - 1, positions)

  /** What leaves the search: the roots in a beat of the message, or a codeword's end. */
  private class Found extends Bundle {
    val id     = UInt(8.W)
    val roots  = UInt(positions.W)
    val beat   = beatIndex
    val end    = Bool()
    val count  = UInt(7.W)
    val failed = Bool()
  }
  private val queue = Module(new Queue(new Found, 8))
  // What the four stages hold, and the beat that is fetched, must find a place.
  private val space = queue.io.count <= 3.U

  private val sIdle :: sLoad :: sFirst :: sSearch :: sEnd :: Nil = Enum(5)
  private val state                                              = RegInit(sIdle)
  private val id                                                 = Reg(UInt(8.W))
  private val degree                                             = Reg(UInt(7.W))
  private val failed                                             = Reg(Bool())
  private val count                                              = Reg(UInt(7.W))
  private val topBank                                            = Reg(bankIndex)
  private val single                                             = topBank === 0.U

  // Loading
  private val word     = Reg(UInt(5.W))
  private val loadBank = Reg(bankIndex)
  private val loadPart = Reg(UInt(math.max(1, log2Ceil(wordsABank)).W))
  private val loaded   = state === sLoad && loadBank === topBank && loadPart === (wordsABank - 1).U
  private val present  = Mux(word <= (degree >> 2), io.coefficients, 0.U)

  // Terms, multiplied on their way out of the memory
  private val memory     = Mem(math.max(2, banks), Vec(wordsABank, UInt((4 * bits).W)))
  private val bank       = Reg(bankIndex)    // the next to be fetched
  private val beat       = Reg(beatIndex)
  private val terms      = Reg(Vec(wordsABank, UInt((4 * bits).W)))
  private val termsBank  = Reg(bankIndex)
  private val power      = Reg(FieldLogic()) // x^lanes^ for the middle of the terms' beat
  private val stored     = memory.read(bank)
  private val fetch      = (state === sFirst || state === sSearch) && space
  private val fetched    = RegInit(false.B)
  private val loading    = state === sLoad
  private val fromMemory = state === sFirst || (if (banks > 1) !single else false.B)
  when(loading || (fetched && !single)) {
    memory.write(
      Mux(loading, loadBank, termsBank),
      VecInit(terms.map(Mux(loading, present, _))),
      Seq.tabulate(wordsABank)(k => !loading || loadPart === k.U)
    )
  }
  fetched := fetch
  when(fetch) {
    for ((word, w) <- terms.zipWithIndex) {
      val now = Mux(fromMemory, stored(w), word)
      word := Cat((3 to 0 by -1).map(k => times(now(bits * (k + 1) - 1, bits * k), -(4 * w + k) * positions)))
    }
    termsBank := bank
    bank      := Mux(bank === 0.U, topBank, bank - 1.U)
    if (banks > 1) when(bank === topBank) { power := times(power, -lanes * positions) }
    when(bank === 0.U) { beat := beat - 1.U }
  }
  private val termsBeat  = Reg(beatIndex)
  private val termsFirst = Reg(Bool()) // of the beat's banks
  private val termsLast  = Reg(Bool())
  when(fetch) {
    termsBeat  := beat
    termsFirst := bank === topBank
    termsLast  := bank === 0.U
  }

  // P(b)
  private val sums      = Reg(Vec(positions, FieldLogic()))
  private val sumsValid = RegInit(false.B)
  private val sumsFirst = Reg(Bool())
  private val sumsLast  = Reg(Bool())
  private val sumsBeat  = Reg(beatIndex)
  private val multiples = Seq.fill(bits)(Reg(FieldLogic())) // power * alpha^k^
  sumsValid := fetched
  when(fetched) {
    for (i <- 0 until positions) sums(i) := evaluate(terms, middle - i)
    sumsFirst := termsFirst
    sumsLast  := termsLast
    sumsBeat  := termsBeat
    if (banks > 1) when(!single) { for ((m, k) <- multiples.zipWithIndex) m := times(power, k) }
  }

  // Their sum
  private val values      = Reg(Vec(positions, FieldLogic()))
  private val valuesValid = RegInit(false.B)
  private val valuesBeat  = Reg(beatIndex)
  valuesValid := sumsValid && sumsLast
  when(sumsValid) {
    for (i <- 0 until positions) {
      val above = masks(lanes * (middle - i)).map(mask => (values(i) & mask.U(bits.W)).xorR)
      values(i) := (if (banks > 1) Mux(sumsFirst, 0.U, select(above, multiples)) ^ sums(i) else sums(i))
    }
    valuesBeat := sumsBeat
  }

  // Roots
  private val codewordEnd = (messageBeats.U +& parityBeats - 1.U)(log2Ceil(beats) - 1, 0)
  private val roots       = RegInit(0.U(positions.W))
  private val rootsValid  = RegInit(false.B)
  private val rootsBeat   = Reg(beatIndex)
  rootsValid := valuesValid
  when(valuesValid) {
    roots     := Cat(values.map(_ === 0.U).reverse) & ~Mux(valuesBeat === codewordEnd, unused, 0.U)
    rootsBeat := valuesBeat
  }

  private val total = count + PopCount(roots)
  private val push  = rootsValid && roots.orR && rootsBeat < messageBeats.U
  queue.io.enq.valid       := push || state === sEnd
  queue.io.enq.bits.id     := id
  queue.io.enq.bits.roots  := roots
  queue.io.enq.bits.beat   := rootsBeat
  queue.io.enq.bits.end    := state === sEnd
  queue.io.enq.bits.count  := count
  queue.io.enq.bits.failed := failed
  assert(!push || queue.io.enq.ready, "queue of errors overflows")

  io.word := word
  io.locator.ready := loaded || (state === sIdle && io.locator.valid && (io.locator.bits.failed || io.locator.bits.degree === 0.U))
  when(state === sIdle) {
    id       := io.locator.bits.id
    degree   := io.locator.bits.degree
    failed   := io.locator.bits.failed
    count    := 0.U
    topBank  := (io.locator.bits.degree >> log2Ceil(lanes))(topBank.getWidth - 1, 0)
    word     := 0.U
    loadBank := 0.U
    loadPart := 0.U
    beat     := codewordEnd
    power    := 1.U
    when(io.locator.valid) { state := Mux(io.locator.ready, sEnd, sLoad) }
  }.elsewhen(state === sLoad) {
    word     := word + 1.U
    loadPart := loadPart + 1.U
    bank     := topBank
    when(loadPart === (wordsABank - 1).U) {
      loadPart := 0.U
      loadBank := loadBank + 1.U
    }
    when(loaded) { state := sFirst }
  }.elsewhen(state === sEnd) {
    when(queue.io.enq.ready) { state := sIdle }
  }.otherwise {
    // The first beat's terms all come from the memory.
    when(fetch && bank === 0.U) { state := sSearch }
    when(rootsValid) {
      count := total
      when(total === degree || rootsBeat === 0.U) {
        failed      := total =/= degree
        state       := sEnd
        fetched     := false.B
        sumsValid   := false.B
        valuesValid := false.B
        rootsValid  := false.B
      }
    }
  }

  // Out of the queue, one error a cycle
  private val found   = queue.io.deq.bits
  private val shown   = RegInit(0.U(positions.W))
  private val waiting = found.roots & ~shown
  private val lowest  = PriorityEncoderOH(waiting)
  private val onlyOne = waiting === lowest
  when(io.error.fire) { shown := Mux(onlyOne, 0.U, shown | lowest) }
  queue.io.deq.ready    := found.end || (io.error.ready && onlyOne)
  io.error.valid        := queue.io.deq.valid && !found.end
  io.error.bits.id      := found.id
  io.error.bits.bit     := found.beat ## ~OHToUInt(lowest)
  io.result.valid       := queue.io.deq.valid && found.end
  io.result.bits.id     := found.id
  io.result.bits.count  := found.count
  io.result.bits.failed := found.failed
  io.idle               := state === sIdle && !queue.io.deq.valid
}
