// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

import chisel3._
import chisel3.util.{log2Ceil, Decoupled, MuxLookup, Valid}

class RemainderQueueIO(p: CodeParams) extends Bundle {

  /** Index into CODE_INFO; changes only while the queue is empty. */
  val strength = Input(UInt(3.W))

  /** There is a place for one more codeword. */
  val room = Output(Bool())

  /** The next beat of a remainder. */
  val beat = Flipped(Valid(UInt(p.beatBits.W)))

  /** After its last beat: the remainder is for the decoder, as that of the codeword `id`, or it is forgotten. */
  val keep   = Input(Bool())
  val forget = Input(Bool())
  val id     = Input(UInt(8.W))

  /** See [[DecoderIO]]. */
  val out = Decoupled(UInt(p.beatBits.W))
}

/** Remainders of codewords on their way to the decoder, with a place for two of the strongest code and for more of
  * weaker ones. All remainders are written; those of codewords without errors are written over.
  */
class RemainderQueue(p: CodeParams) extends Module {
  val io = IO(new RemainderQueueIO(p))

  // Beats of a codeword with its id.
  private def beatsOf(code: BchCode): Int = code.parityBytes(p.beatBytes) / p.beatBytes + 1
  private val depth                       = 1 << log2Ceil(2 * p.codes.map(beatsOf).max)
  private val memory                      = Mem(depth, UInt(p.beatBits.W))

  // Places in the memory, with one bit more than an address has: the next beat goes to `write`; those before `kept` are
  // for the decoder, which takes that at `read` next.
  private def place            = RegInit(0.U((log2Ceil(depth) + 1).W))
  private val write            = place
  private val kept             = place
  private val read             = place
  private def address(x: UInt) = x(log2Ceil(depth) - 1, 0)

  when(io.beat.valid || io.keep) {
    memory.write(address(write), Mux(io.keep, io.id, io.beat.bits))
    write := write + 1.U
    assert(write - read =/= depth.U, "a beat of a remainder without a place for it")
  }
  when(io.keep) { kept := write + 1.U }
  when(io.forget) { write := kept }
  when(io.out.fire) { read := read + 1.U }
  io.out.valid := kept =/= read
  io.out.bits  := memory.read(address(read))
  io.room := kept - read <= MuxLookup(io.strength, depth.U)(p.codes.zipWithIndex.map { case (code, k) =>
    (k + 1).U -> (depth - beatsOf(code)).U
  })
}
