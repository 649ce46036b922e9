// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import chisel3._
import chisel3.util.{Valid, log2Ceil}

class SectorEncoderIO(p: SocParams) extends Bundle {
  val config = Input(new FlashConfig)

  /** The data-in phase of this sector begins. */
  val start = Flipped(Valid(new ProgramSector))

  /** Its data: a word is shown in the cycle after `read`. */
  val read  = Output(Bool())
  val index = Output(UInt(9.W))
  val data  = Input(UInt(64.W))

  /** The first beat is shown. */
  val primed = Output(Bool())
  val beat   = Output(UInt((8 * p.phyBytes).W))
  val take   = Input(Bool())

  /** The last beat has gone. */
  val sent = Input(Bool())

  /** The code unit's work, and the parity beat it has. */
  val step   = Output(new CodeStep(p))
  val parity = Input(UInt((8 * p.phyBytes).W))
}

/** Makes the beats of a sector: four times 128 data words and a metadata word, scrambled, then their parity. Words are
  * scrambled one ahead of the beats.
  */
class SectorEncoder(p: SocParams) extends Module {
  val io = IO(new SectorEncoderIO(p))

  private val beatBits      = 8 * p.phyBytes
  private val wordBeats     = 8 / p.phyBytes
  private val metadataBeats = SectorFormat.MetadataBytes / p.phyBytes
  private val dataWords     = SectorFormat.DataBytes / 8

  private val active = RegInit(false.B)
  private val sector = Reg(new ProgramSector)

  private val scrambler = Module(new Scrambler)
  scrambler.io.seed        := io.config.seed
  scrambler.io.start.valid := io.start.valid
  scrambler.io.start.bits  := io.start.bits.address

  // Words: `fetched` is the one that was read a cycle ago, `next` holds it until the beats need it.
  private val codeword   = RegInit(0.U(3.W))
  private val place      = RegInit(0.U(8.W))
  private val isMetadata = place === dataWords.U
  private val fetches    = RegInit(false.B)
  private val fetchMeta  = Reg(Bool())
  private val metadata   = Reg(UInt(32.W))
  private val next       = Reg(UInt(64.W))
  private val nextMeta   = Reg(Bool())
  private val nextValid  = RegInit(false.B)
  private val fetched    = Mux(fetchMeta, metadata, io.data) ^ scrambler.io.word
  scrambler.io.step := fetches

  // Beats
  private val word     = Reg(UInt(64.W))
  private val wordMeta = Reg(Bool())
  private val left     = RegInit(0.U(3.W))
  private val primed   = RegInit(false.B)
  private val inParity = RegInit(false.B)
  private val first    = RegInit(true.B)
  private val parities = RegInit(0.U(8.W))
  private val hasCode  = io.config.parityBytes =/= 0.U
  private val wordEnd  = io.take && !inParity && left === 0.U
  private val consume  = wordEnd || active && !primed && (nextValid || fetches)
  private val request  = active && scrambler.io.ready && !codeword(2) && (consume || !nextValid && !fetches)

  io.read  := request && !isMetadata
  io.index := codeword(1, 0) ## place(6, 0)
  when(active) {
    fetches   := request
    nextValid := Mux(consume, nextValid && fetches, nextValid || fetches)
  }
  when(request) {
    fetchMeta := isMetadata
    place     := Mux(isMetadata, 0.U, place + 1.U)
    when(isMetadata) {
      codeword := codeword + 1.U
      metadata := VecInit(sector.oob(31, 0), sector.oob(63, 32), sector.crc, io.config.layout)(codeword(1, 0))
    }
  }
  when(fetches && (nextValid || !consume)) {
    next     := fetched
    nextMeta := fetchMeta
  }

  when(io.take) {
    first := Mux(hasCode, inParity && parities === 0.U, wordEnd && wordMeta)
    when(inParity) {
      parities := parities - 1.U
      when(parities === 0.U) { inParity := false.B }
    }.otherwise {
      word := word >> beatBits
      left := left - 1.U
      when(wordEnd && wordMeta && hasCode) {
        inParity := true.B
        parities := (io.config.parityBytes >> log2Ceil(p.phyBytes)) - 1.U
      }
    }
  }
  when(consume) {
    primed   := true.B
    word     := Mux(nextValid, next, fetched)
    wordMeta := Mux(nextValid, nextMeta, fetchMeta)
    left     := Mux(Mux(nextValid, nextMeta, fetchMeta), (metadataBeats - 1).U, (wordBeats - 1).U)
  }
  io.primed       := primed
  io.beat         := Mux(inParity, io.parity, word(beatBits - 1, 0))
  io.step.clear   := first
  io.step.message := io.take && !inParity
  io.step.parity  := io.take && inParity
  io.step.data    := Mux(inParity, 0.U, word(beatBits - 1, 0))

  when(io.start.valid) {
    active    := true.B
    sector    := io.start.bits
    codeword  := 0.U
    place     := 0.U
    nextValid := false.B
    fetches   := false.B
    primed    := false.B
    inParity  := false.B
    first     := true.B
  }
  when(io.sent) {
    active := false.B
    primed := false.B
  }
}
