// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

import chisel3._
import chisel3.util.{log2Ceil, Cat, Decoupled, Enum, MuxLookup}

/** The error locator of a codeword is known. */
class Locator extends Bundle {
  val id = UInt(8.W)

  /** Errors that it stands for. */
  val degree = UInt(7.W)

  /** There are more errors than the code corrects; there is no locator. */
  val failed = Bool()
}

class KeyEquationIO(p: CodeParams) extends Bundle {
  val strength = Input(UInt(3.W))
  val codeword = Flipped(Decoupled(UInt(8.W)))
  val syndrome = Flipped(Decoupled(FieldLogic()))

  /** No more syndromes of this codeword are needed. */
  val finished = Output(Bool())

  /** Taken when its coefficients have been read. */
  val locator = Decoupled(new Locator)

  /** Coefficients 4 * word to 4 * word + 3, lowest first, while `locator` is valid. */
  val word         = Input(UInt(5.W))
  val coefficients = Output(UInt((4 * GaloisField.bits).W))
  val idle         = Output(Bool())
}

/** Berlekamp and Massey's algorithm for binary codes, without inversion: step r takes S(2r+1), computes the discrepancy
  *
  * d = sum of locator(i) * S(2r+1-i)
  *
  * and, where it is not 0, sets locator := g * locator + d * x^m^ * prior. Four multipliers serve both, four
  * coefficients at a time and no more of them than the locator has. Three polynomials lie in one memory: locator, prior
  * and the next locator.
  */
class KeyEquation(p: CodeParams) extends Module {
  val io = IO(new KeyEquationIO(p))
  import FieldLogic.{product, reduce, square}
  import GaloisField.bits

  private val lanes = 4
  private val words = p.most / lanes + 1 // of a polynomial

  private def lane(word: UInt, k: Int): UInt = word(bits * k + bits - 1, bits * k)
  private val t = MuxLookup(io.strength, 0.U(7.W))(p.strengths.zipWithIndex.map { case (t, k) =>
    (k + 1).U -> t.U(7.W)
  })

  private val sIdle :: sClear :: sClearPrior :: sTake :: sDiscrepancy :: sSquare :: sSum :: sDecide :: sUpdate :: sDrain :: sOffer :: Nil =
    Enum(11)
  private val state  = RegInit(sIdle)
  private val id     = Reg(UInt(8.W))
  private val step   = Reg(UInt(7.W))    // r
  private val degree = Reg(UInt(7.W))    // of the locator: errors known so far
  private val failed = Reg(Bool())
  private val scale  = Reg(FieldLogic()) // g
  private val shift  = Reg(UInt(8.W))    // m
  private val word   = Reg(UInt(5.W))
  private val wait2  = Reg(UInt(2.W))

  // Polynomials
  private def address                          = UInt(log2Ceil(3 * words).W)
  private def at(base: UInt, word: UInt): UInt = (base + word.pad(address.getWidth))(address.getWidth - 1, 0)
  private val polynomials                      = Mem(3 * words, UInt((lanes * bits).W))
  private val locator                          = Reg(address)
  private val prior                            = Reg(address)
  private val spare                            = Reg(address)
  private val priorDegree                      = Reg(UInt(7.W))
  private val second                           = Reg(Bool()) // of an update's two cycles a word
  private val priorWord                        = word - (shift >> 2)
  private val priorBegins                      = word >= (shift >> 2)
  private val polynomial = polynomials.read(
    Mux(
      state === sOffer,
      at(locator, io.word),
      Mux(state === sUpdate && second, at(prior, priorWord), at(locator, word))
    )
  )
  private val locatorWord = Mux(word <= (degree >> 2), polynomial, 0.U)
  private val priorHere   = Mux(priorBegins && priorWord <= (priorDegree >> 2), polynomial, 0.U)
  private val priorBefore = Reg(UInt((lanes * bits).W))
  private val writeWord   = Reg(UInt(5.W))
  private val write       = RegInit(false.B)
  private val written     = Reg(UInt((lanes * bits).W))
  private val clearing    = state === sClear || state === sClearPrior
  when(write || clearing) {
    polynomials.write(
      Mux(clearing, Mux(state === sClear, locator, prior), at(spare, writeWord)),
      Mux(clearing, 1.U, written)
    )
  }

  // Syndromes: four a word, of which a discrepancy takes four in descending order, beginning at any odd one.
  private val syndromeWords             = math.max(2, p.most / 2 + 1)
  private val syndromes                 = Mem(syndromeWords, Vec(lanes, FieldLogic()))
  private val syndromeWord              = Reg(UInt(log2Ceil(syndromeWords).W))
  private def asWord(index: UInt): UInt = index.pad(syndromeWord.getWidth)(syndromeWord.getWidth - 1, 0)
  private val nextEven                  = step + 1.U
  private val squared                   = Reg(FieldLogic())
  private val syndromesHere = syndromes.read(
    Mux(state === sTake, asWord(step >> 1), Mux(state === sSquare, asWord(nextEven >> 2), syndromeWord))
  )
  private val syndromesAbove = Reg(Vec(lanes, FieldLogic()))
  private val takeOdd        = state === sTake && io.syndrome.valid
  when(takeOdd || state === sDecide) {
    syndromes.write(
      asWord(Mux(takeOdd, step, nextEven) >> 1),
      VecInit(Seq.fill(lanes)(Mux(takeOdd, io.syndrome.bits, squared))),
      Seq.tabulate(lanes)(k =>
        Mux(takeOdd, step(0) === (k / 2).U && (k % 2 == 1).B, step(0) =/= (k / 2).U && (k % 2 == 0).B)
      )
    )
  }

  // Multipliers: operands, product, sum
  private val left                                 = Reg(Vec(lanes, FieldLogic()))
  private val right                                = Reg(Vec(lanes, FieldLogic()))
  private val products                             = Reg(Vec(lanes, UInt((2 * bits - 1).W)))
  private val first                                = Reg(Vec(lanes, UInt((2 * bits - 1).W)))
  private val discrepancy                          = Reg(FieldLogic())
  private val operands                             = RegInit(0.U(2.W)) // what they are for: 0 nothing
  private val multiplied                           = RegInit(0.U(2.W))
  private val forSum :: forFirst :: forWord :: Nil = Seq(1, 2, 3).map(_.U(2.W)).toList
  operands   := 0.U
  multiplied := operands
  when(operands =/= 0.U) { for (k <- 0 until lanes) products(k) := product(left(k), right(k)) }
  private val sumBegins = Reg(Bool())
  when(multiplied === forSum) {
    discrepancy := Mux(sumBegins, 0.U, discrepancy) ^ reduce(products.reduce(_ ^ _))
    sumBegins   := false.B
  }
  when(multiplied === forFirst) { first := products }
  when(multiplied === forWord) { written := Cat((lanes - 1 to 0 by -1).map(k => reduce(first(k) ^ products(k)))) }
  write := multiplied === forWord
  when(write) { writeWord := writeWord + 1.U }

  private val grows     = degree <= step
  private val newDegree = Mux(grows, ((step ## 1.U(1.W)) - degree)(6, 0), degree)
  private val last      = step === t - 1.U
  private def proceed(): Unit = {
    step  := step + 1.U
    state := Mux(last, sOffer, sTake)
  }

  io.finished       := state === sOffer
  io.codeword.ready := state === sIdle
  io.syndrome.ready := state === sTake
  when(state === sIdle) {
    when(io.codeword.valid) {
      id          := io.codeword.bits
      state       := sClear
      step        := 0.U
      degree      := 0.U
      failed      := false.B
      scale       := 1.U
      shift       := 1.U
      locator     := 0.U
      prior       := words.U
      spare       := (2 * words).U
      priorDegree := 0.U
    }
  }.elsewhen(state === sClear) {
    state := sClearPrior
  }.elsewhen(state === sClearPrior) {
    state := sTake
  }.elsewhen(state === sTake) {
    when(io.syndrome.valid) {
      state          := sDiscrepancy
      syndromesAbove := syndromesHere
      for (k <- Seq(1, 3)) when(step(0) === (k / 2).U) { syndromesAbove(k) := io.syndrome.bits }
      syndromeWord := asWord(step >> 1) - 1.U
      word         := 0.U
      sumBegins    := true.B
    }
  }.elsewhen(state === sDiscrepancy) {
    for (k <- 0 until lanes) {
      def ordered(top: Int) = if (k <= top) syndromesAbove(top - k) else syndromesHere(4 + top - k)
      left(k)  := lane(polynomial, k)
      right(k) := Mux(step(0), ordered(3), ordered(1))
    }
    operands       := forSum
    syndromesAbove := syndromesHere
    syndromeWord   := syndromeWord - 1.U
    word           := word + 1.U
    when(word === degree >> 2) { state := sSquare }
  }.elsewhen(state === sSquare) {
    squared := square(syndromesHere(nextEven(1, 0)))
    state   := sSum
  }.elsewhen(state === sSum) {
    state := sDecide
  }.elsewhen(state === sDecide) {
    word        := 0.U
    writeWord   := 0.U
    second      := false.B
    priorBefore := 0.U
    when(discrepancy === 0.U) {
      shift := shift + 2.U
      proceed()
    }.elsewhen(newDegree > t) {
      failed := true.B
      state  := sOffer
    }.otherwise {
      state := sUpdate
    }
  }.elsewhen(state === sUpdate) {
    second := !second
    for (k <- 0 until lanes) {
      left(k)  := lane(locatorWord, k)
      right(k) := Mux(second, discrepancy, scale)
    }
    operands := forFirst
    wait2    := 0.U
    when(second) {
      for (k <- 0 until lanes) {
        def shifted(by: Int) = if (k >= by) lane(priorHere, k - by) else lane(priorBefore, 4 + k - by)
        left(k) := MuxLookup(shift(1, 0), shifted(0))((1 until lanes).map(by => by.U -> shifted(by)))
      }
      operands    := forWord
      priorBefore := priorHere
      word        := word + 1.U
      when(word === newDegree >> 2) { state := sDrain }
    }
  }.elsewhen(state === sDrain) {
    wait2 := wait2 + 1.U
    when(wait2 === 2.U) {
      locator := spare
      shift   := shift + 2.U
      when(grows) {
        prior       := locator
        priorDegree := degree
        spare       := prior
        scale       := discrepancy
        shift       := 2.U
      }.otherwise {
        spare := locator
      }
      degree := newDegree
      proceed()
    }
  }.otherwise {
    when(io.locator.ready) { state := sIdle }
  }

  io.locator.valid       := state === sOffer
  io.locator.bits.id     := id
  io.locator.bits.degree := degree
  io.locator.bits.failed := failed
  io.coefficients        := polynomial
  io.idle                := state === sIdle
}
