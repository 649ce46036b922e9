// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.codec.{CodeParams, RemainderQueue}
import chisel3._
import chisel3.util.{Decoupled, Valid, log2Ceil}

/** A codeword that needs no decoder: buffer, codeword; whether it cannot be corrected. */
class SettledCodeword extends Bundle {
  val index  = UInt(4.W)
  val failed = Bool()
}

class CodewordGateIO(p: SocParams) extends Bundle {
  private val code = CodeParams(p.ecc, p.phyBytes)
  val config       = Input(new FlashConfig)

  /** A data-out phase begins, whether it is a sector's; a beat of it is being asked for. */
  val begins = Input(Bool())
  val sector = Input(Bool())
  val asked  = Input(Bool())

  /** One more beat may be asked for. */
  val room = Output(Bool())

  /** A beat of the errors' remainder. */
  val beat = Flipped(Valid(UInt(code.beatBits.W)))

  /** This codeword is complete; its remainder is zero; it has not been programmed. */
  val codeword = Flipped(Valid(UInt(4.W)))
  val clean    = Input(Bool())
  val blank    = Input(Bool())

  val settled = Valid(new SettledCodeword)

  /** Remainders of the others, for the decoder. */
  val decode = Decoupled(UInt(code.beatBits.W))
}

/** Settles codewords that are right or blank, and keeps the remainders of the others for the decoder. A codeword's
  * first parity beat is not asked for before there is a place for its remainder, so a decoder that is behind holds up
  * the bus and nothing is lost.
  *
  * A blank codeword counts as one that cannot be corrected, which the decoder would find in thousands of cycles.
  */
class CodewordGate(p: SocParams) extends Module {
  val io = IO(new CodewordGateIO(p))

  private val queue   = Module(new RemainderQueue(CodeParams(p.ecc, p.phyBytes)))
  private val coded   = io.config.parityBytes =/= 0.U
  private val right   = io.clean || !coded
  private val settles = right || io.blank

  queue.io.strength := io.config.strength
  queue.io.beat     := io.beat
  queue.io.keep     := io.codeword.valid && !settles
  queue.io.forget   := io.codeword.valid && settles
  queue.io.id       := io.codeword.bits
  io.decode <> queue.io.out

  io.settled.valid       := io.codeword.valid && settles
  io.settled.bits.index  := io.codeword.bits
  io.settled.bits.failed := !right

  // Beats up to the next end of a codeword, less one. What becomes of a codeword is known long before the next one's
  // parity is asked for.
  private val parity = (io.config.parityBytes >> log2Ceil(p.phyBytes)).asUInt
  private val beats  = ((io.config.parityBytes +& SectorFormat.MessageBytes.U)(10, 0) >> log2Ceil(p.phyBytes)).asUInt
  private val left   = RegInit(0.U(11.W))
  private val sector = RegInit(false.B)
  when(io.begins) {
    sector := io.sector
    left   := beats - 1.U
  }.elsewhen(io.asked && sector) {
    left := Mux(left === 0.U, beats - 1.U, left - 1.U)
  }
  io.room := left =/= parity - 1.U || queue.io.room
}
