// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import chisel3._
import chisel3.util.{Decoupled, Valid}

/** Eight data bytes: buffer, word of the sector. */
class BufferWord extends Bundle {
  val index = UInt(11.W)
  val data  = UInt(64.W)
}

/** A metadata word: buffer, codeword. */
class BufferMetadata extends Bundle {
  val index = UInt(4.W)
  val data  = UInt(32.W)
}

/** A wrong bit of a codeword's message. */
class BufferError extends Bundle {

  /** Buffer, codeword. */
  val index = UInt(4.W)

  /** Number of the bit in sending order: byte, most significant bit first. */
  val bit = UInt(14.W)
}

class SectorBuffersIO extends Bundle {
  val word     = Flipped(Valid(new BufferWord))
  val metadata = Flipped(Valid(new BufferMetadata))

  /** Bits to invert; taken when that has been done. */
  val error = Flipped(Decoupled(new BufferError))

  /** A word is shown in the cycle after `read`. */
  val read  = Input(Bool())
  val index = Input(UInt(11.W))
  val data  = Output(UInt(64.W))

  /** A metadata word: buffer, codeword. */
  val metadataIndex = Input(UInt(4.W))
  val metadataWord  = Output(UInt(32.W))
}

/** Four sectors that have been read and not yet been delivered. Words come in through one port of the memory, which
  * they leave to the inversion of wrong bits most of the time; the other port reads.
  */
class SectorBuffers(p: SocParams) extends Module {
  val io = IO(new SectorBuffersIO)

  private val memory   = SyncReadMem(SectorBuffers.Count * SectorFormat.Words, UInt(64.W))
  private val metadata = Mem(SectorBuffers.Count * SectorFormat.Codewords, UInt(32.W))
  io.data         := memory.read(io.index, io.read)
  io.metadataWord := metadata.read(io.metadataIndex)

  if (p.ecc.isEmpty) {
    when(io.word.valid) { memory.write(io.word.bits.index, io.word.bits.data) }
    when(io.metadata.valid) { metadata.write(io.metadata.bits.index, io.metadata.bits.data) }
    io.error.ready := false.B
  } else {
    // A wrong data bit: the word is read, inverted, written; metadata words are inverted in one cycle.
    val fetched  = RegInit(false.B)
    val inverted = RegInit(false.B)
    val fixed    = Reg(UInt(64.W))
    val error    = io.error.bits
    val bit      = error.bit(5, 3) ## ~error.bit(2, 0)
    val inWords  = !error.bit(13)
    val fetch    = io.error.valid && inWords && !io.word.valid && !fetched && !inverted
    val store    = inverted && !io.word.valid
    val at       = Mux(io.word.valid, io.word.bits.index, error.index ## error.bit(12, 6))
    val data     = Mux(io.word.valid, io.word.bits.data, fixed)
    val old      = memory.readWrite(at, data, io.word.valid || store || fetch, io.word.valid || store)
    fetched := fetch
    when(fetched) {
      fixed    := old ^ (1.U << bit)
      inverted := true.B
    }
    when(store) { inverted := false.B }

    val fixWord = io.error.valid && !inWords && !io.metadata.valid
    val oldWord = metadata.read(error.index)
    when(io.metadata.valid || fixWord) {
      metadata.write(
        Mux(io.metadata.valid, io.metadata.bits.index, error.index),
        Mux(io.metadata.valid, io.metadata.bits.data, oldWord ^ (1.U(32.W) << bit(4, 0))(31, 0))
      )
    }
    io.error.ready := store || fixWord
  }
}

object SectorBuffers {
  val Count: Int = 4
}
