// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.codec.{CodeParams, CodecWork}
import chisel3._
import chisel3.util.{Decoupled, Valid, log2Ceil}

class CodewordGateIO(p: SocParams) extends Bundle {
  private val code = CodeParams(p.ecc, p.phyBytes)
  val config       = Input(new FlashConfig)

  /** A data-out phase begins, whether it is a sector's; a beat of it is being asked for. */
  val begins = Input(Bool())
  val sector = Input(Bool())
  val asked  = Input(Bool())

  /** One more beat may be asked for. */
  val room = Output(Bool())

  /** The remainder of this codeword is there; it is zero. */
  val codeword  = Flipped(Valid(UInt(4.W)))
  val remainder = Input(UInt(code.width.W))
  val clean     = Input(Bool())

  /** This codeword has no errors. */
  val right = Valid(UInt(4.W))

  /** Codewords with errors. */
  val decode = Decoupled(new CodecWork(code))
}

/** Holds the remainder of one codeword until it is found to be zero or the decoder takes it. The last beat of the next
  * codeword is not asked for before that, so a decoder that is behind holds up the bus and nothing is lost.
  */
class CodewordGate(p: SocParams) extends Module {
  val io = IO(new CodewordGateIO(p))

  private val coded = io.config.parityBytes =/= 0.U

  private val full  = RegInit(false.B)
  private val held  = Reg(UInt(io.remainder.getWidth.W))
  private val id    = Reg(UInt(4.W))
  private val right = io.clean || !coded
  assert(!(io.codeword.valid && full), "a codeword without a place for its remainder")

  when(io.codeword.valid) {
    held := io.remainder
    id   := io.codeword.bits
    full := !right
  }.elsewhen(io.decode.ready) {
    full := false.B
  }
  io.right.valid           := io.codeword.valid && right
  io.right.bits            := io.codeword.bits
  io.decode.valid          := full
  io.decode.bits.id        := id
  io.decode.bits.remainder := held
  private val taken = io.right.valid || io.decode.fire

  // Beats up to the next end of a codeword, less one; and that there is a codeword whose end has been asked for and that
  // is neither right nor in the decoder.
  private val beats  = ((io.config.parityBytes +& SectorFormat.MessageBytes.U)(10, 0) >> log2Ceil(p.phyBytes)).asUInt
  private val left   = RegInit(0.U(11.W))
  private val coming = RegInit(false.B)
  private val sector = RegInit(false.B)
  private val asked  = io.asked && sector
  when(io.begins) {
    sector := io.sector
    left   := beats - 1.U
  }.elsewhen(asked) {
    left := Mux(left === 0.U, beats - 1.U, left - 1.U)
  }
  when(taken) { coming := false.B }.elsewhen(asked && left === 0.U && coded) { coming := true.B }
  io.room := left =/= 0.U || !coming
}
