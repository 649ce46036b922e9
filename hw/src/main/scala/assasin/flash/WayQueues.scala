// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import chisel3._
import chisel3.util.{Cat, UIntToOH, Valid, log2Ceil}

class WayQueuesIO(p: SocParams) extends Bundle {
  val push = Flipped(Valid(new FlashDescriptor))

  /** Free places of `spaceWay`. */
  val spaceWay = Input(UInt(4.W))
  val space    = Output(UInt(4.W))

  /** Shows the oldest descriptor of `readWay` in the next cycle. */
  val read    = Input(Bool())
  val readWay = Input(UInt(4.W))
  val head    = Output(new FlashDescriptor)

  /** Drops the oldest descriptor of a way. */
  val pop = Flipped(Valid(UInt(4.W)))

  /** Bit w: way w has a descriptor. */
  val nonEmpty = Output(UInt(p.ways.W))
}

/** Descriptor FIFOs of all ways, eight places each, in one memory. Descriptors for a way that does not exist (they are
  * `bad`) queue at way 0.
  */
class WayQueues(p: SocParams) extends Module {
  val io = IO(new WayQueuesIO(p))

  private val depthLog2 = 3
  private val memory    = SyncReadMem(p.ways << depthLog2, new FlashDescriptor)

  // Read and write pointers of all ways, a nibble a way: one bit more than the depth needs tells full from empty.
  private val heads    = RegInit(0.U((4 * p.ways).W))
  private val tails    = RegInit(0.U((4 * p.ways).W))
  private val nonEmpty = RegInit(0.U(p.ways.W))

  private def nibble(all: UInt, way: UInt): UInt = (all >> Cat(way, 0.U(2.W)))(3, 0)
  private def next(all: UInt, way: UInt): UInt = {
    val old = nibble(all, way)
    (all ^ ((old ^ (old + 1.U)) << Cat(way, 0.U(2.W))))(4 * p.ways - 1, 0)
  }
  private def place(way: UInt, pointer: UInt): UInt =
    Cat(way, pointer(depthLog2 - 1, 0))(log2Ceil(p.ways << depthLog2) - 1, 0)
  private def existing(way: UInt): UInt = Mux(way < p.ways.U, way, 0.U)
  private def bit(way: UInt): UInt      = UIntToOH(way, p.ways)

  private val pushWay = existing(io.push.bits.way)
  private val pushed  = io.push.valid && (nibble(tails, pushWay) - nibble(heads, pushWay)) =/= (1 << depthLog2).U
  when(pushed) {
    memory.write(place(pushWay, nibble(tails, pushWay)), io.push.bits)
    tails := next(tails, pushWay)
  }
  private val last = (nibble(heads, io.pop.bits) + 1.U)(3, 0) === nibble(tails, io.pop.bits)
  when(io.pop.valid) { heads := next(heads, io.pop.bits) }
  when(pushed || io.pop.valid) {
    nonEmpty := (nonEmpty & ~Mux(io.pop.valid && last, bit(io.pop.bits), 0.U)) | Mux(pushed, bit(pushWay), 0.U)
  }

  private val asked = existing(io.spaceWay)
  io.space    := (1 << depthLog2).U - (nibble(tails, asked) - nibble(heads, asked))
  io.head     := memory.read(place(io.readWay, nibble(heads, io.readWay)), io.read)
  io.nonEmpty := nonEmpty
}
