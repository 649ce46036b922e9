// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

import chisel3._
import chisel3.util.{Cat, Decoupled, Enum, MuxLookup}

class SyndromesIO(p: CodeParams) extends Bundle {
  val strength = Input(UInt(3.W))
  val in       = Flipped(Decoupled(UInt(p.beatBits.W)))

  /** A codeword whose syndromes follow. */
  val codeword = Decoupled(UInt(8.W))

  /** Its S(1), S(3), S(5), ... as many as are taken. */
  val syndrome = Decoupled(FieldLogic())

  /** No more of them are needed. */
  val finished = Input(Bool())
  val idle     = Output(Bool())
}

/** Odd syndromes of a remainder. It is divided by the minimal polynomial of each odd power of alpha at once, 2 bits a
  * cycle for each byte of a beat. Then the dividers are one shift register, which gives what is left, highest power
  * first, to a single evaluator.
  *
  * Half a beat of zeros is appended to the remainder: its errors are at half a beat more than their positions.
  */
class Syndromes(p: CodeParams) extends Module {
  val io = IO(new SyndromesIO(p))
  import FieldLogic.{select, times}
  import GaloisField.bits

  private val perCycle = 2 * p.beatBytes // of a division
  private val perShift = 2
  private val phases   = bits / perShift

  private def ofStrength(of: BchCode => BigInt, bits: Int): UInt =
    MuxLookup(io.strength, 0.U(bits.W))(p.codes.zipWithIndex.map { case (code, k) => (k + 1).U -> of(code).U(bits.W) })

  private val sIdle :: sDivide :: sOffer :: sServe :: Nil = Enum(4)
  private val state                                       = RegInit(sIdle)
  private val id                                          = Reg(UInt(8.W))
  private val left                                        = Reg(UInt(8.W)) // beats of the remainder
  private val part                                        = Reg(UInt(2.W)) // of a beat
  private val atId                                        = left === 0.U

  // The zeros take the time of the id's beat.
  private val next = Mux(
    atId,
    0.U,
    MuxLookup(part, 0.U(perCycle.W))((0 until 4).map { k =>
      k.U -> io.in.bits(p.beatBits - 1 - k * perCycle, p.beatBits - (k + 1) * perCycle)
    })
  )
  private val partEnd = Mux(atId, part(0), part.andR)
  io.in.ready := state === sDivide && partEnd
  private val shift    = Wire(Bool())
  private val start    = state === sIdle && io.in.valid
  private val dividers = Seq.fill(p.most)(Reg(FieldLogic()))
  for ((divider, k) <- dividers.zipWithIndex) {
    val minimal = GaloisField.minimalPolynomial(2 * k + 1)
    // Any multiple of the minimal polynomial serves: all dividers have the same length.
    val modulus =
      Seq.fill(bits / BinaryPolynomial.degree(minimal))(minimal).foldLeft(BigInt(1))(BinaryPolynomial.multiply)
    val carried = (0 until perCycle).map { b =>
      val rest = BinaryPolynomial.remainder(BigInt(1) << (bits + b), modulus)
      Mux(divider(bits - perCycle + b), rest.U(bits.W), 0.U)
    }
    val behind = if (k + 1 < p.most) dividers(k + 1)(bits - 1, bits - perShift) else 0.U(perShift.W)
    when(io.strength > p.strengths.indexWhere(_ > k).U) {
      when(start) {
        divider := 0.U
      }.elsewhen(state === sDivide) {
        divider := Cat(divider(bits - perCycle - 1, 0), next) ^ carried.reduce(_ ^ _)
      }.elsewhen(shift) {
        divider := Cat(divider(bits - perShift - 1, 0), behind)
      }
    }
  }

  // S(j) by Horner's rule, two bits a cycle: S := S * alpha^2j^ + bit * alpha^j^ + bit.
  private val phase     = Reg(UInt(3.W))
  private val ready     = RegInit(false.B)
  private val syndrome  = Reg(FieldLogic())
  private val root      = Reg(FieldLogic())                 // alpha^j
  private val multiples = Seq.fill(bits)(Reg(FieldLogic())) // alpha^(2j + k)
  private val pair      = dividers.head(bits - 1, bits - perShift)
  io.syndrome.valid := ready
  io.syndrome.bits  := syndrome
  shift             := state === sServe && (!ready || io.syndrome.ready)
  when(shift) {
    val above = Mux(phase === 0.U, 0.U, syndrome)
    syndrome := select(above.asBools, multiples) ^ Mux(pair(1), root, 0.U) ^ pair(0)
    phase    := phase + 1.U
    ready    := false.B
    when(phase === (phases - 1).U) {
      phase := 0.U
      ready := true.B
      root  := times(root, 2)
      for ((m, k) <- multiples.zipWithIndex) m := (if (k + 4 < bits) multiples(k + 4) else times(m, 4))
    }
  }

  io.codeword.valid := state === sOffer
  io.codeword.bits  := id
  when(state === sIdle) {
    when(io.in.valid) {
      state := sDivide
      left  := ofStrength(c => BigInt(c.parityBytes(p.beatBytes) / p.beatBytes), 8)
      part  := 0.U
      phase := 0.U
      ready := false.B
      root  := GaloisField.alpha(1).U
      for ((m, k) <- multiples.zipWithIndex) m := GaloisField.alpha(2 + k).U
    }
  }.elsewhen(state === sDivide) {
    assert(io.in.valid, "the beats of a remainder come with a gap")
    part := Mux(partEnd, 0.U, part + 1.U)
    when(partEnd) {
      left := left - 1.U
      when(atId) {
        state := sOffer
        id    := io.in.bits(7, 0)
      }
    }
  }.elsewhen(state === sOffer) {
    when(io.codeword.ready) { state := sServe }
  }.otherwise {
    when(io.finished) { state := sIdle }
  }
  io.idle := state === sIdle
}
