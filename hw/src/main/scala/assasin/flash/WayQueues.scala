// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import chisel3._
import chisel3.util.{Cat, Valid}

class WayQueuesIO(p: SocParams) extends Bundle {
  val push    = Flipped(Valid(new FlashDescriptor))
  val pushLun = Input(Bool())

  /** Free places of `spaceWay`, which is also the way of a descriptor that is pushed, of its LUNs. */
  val spaceWay = Input(UInt(4.W))
  val space    = Output(Vec(p.luns, UInt(4.W)))

  /** Shows the oldest descriptor of `readDie` in the next cycle. */
  val read    = Input(Bool())
  val readDie = Input(UInt(Die.Bits.W))
  val head    = Output(new FlashDescriptor)

  /** Drops the oldest descriptor of a die. */
  val pop = Flipped(Valid(UInt(Die.Bits.W)))

  /** Dies that have a descriptor. */
  val nonEmpty = Output(UInt(Die.count(p).W))
}

/** Descriptor FIFOs of all dies, eight places each, in one memory. Descriptors for a way that does not exist (they are
  * `bad`) queue at way 0.
  */
class WayQueues(p: SocParams) extends Module {
  val io = IO(new WayQueuesIO(p))

  private val depthLog2 = 3
  private val dies      = Die.count(p)
  private val memory    = SyncReadMem(dies << depthLog2, new FlashDescriptor)

  // Read and write pointers: one bit more than the depth needs tells full from empty. They are 0 up to their first step.
  private class Pointers {
    private val values = Mem(dies, UInt((depthLog2 + 1).W))
    private val known  = RegInit(0.U(dies.W))

    def apply(die: UInt): UInt = Mux((known & Die.bit(p, die)).orR, values.read(Die.index(p, die)), 0.U)
    def step(die: UInt): Unit = {
      values.write(Die.index(p, die), apply(die) + 1.U)
      known := known | Die.bit(p, die)
    }
  }
  private val heads    = new Pointers
  private val tails    = new Pointers
  private val nonEmpty = RegInit(0.U(dies.W))

  private def place(die: UInt, pointer: UInt): UInt = Cat(Die.index(p, die), pointer(depthLog2 - 1, 0))
  private def existing(way: UInt): UInt             = Mux(way < p.ways.U, way, 0.U)
  private def only(when: Bool, die: UInt): UInt     = Mux(when, Die.bit(p, die), 0.U)

  // The way that is asked about is that of the descriptor that is pushed.
  private val pushWay = existing(io.spaceWay)
  for (lun <- 0 until p.luns) {
    val asked = Die((lun == 1).B, pushWay)
    io.space(lun) := (1 << depthLog2).U - (tails(asked) - heads(asked))
  }
  private val pushDie = Die(io.pushLun, pushWay)
  private val pushed  = io.push.valid && Mux(io.pushLun, io.space.last, io.space.head) =/= 0.U
  when(pushed) {
    memory.write(place(pushDie, tails(pushDie)), io.push.bits)
    tails.step(pushDie)
  }
  private val last = heads(io.pop.bits) + 1.U === tails(io.pop.bits)
  when(io.pop.valid) { heads.step(io.pop.bits) }
  when(pushed || io.pop.valid) {
    nonEmpty := (nonEmpty & ~only(io.pop.valid && last, io.pop.bits)) | only(pushed, pushDie)
  }

  io.head     := memory.read(place(io.readDie, heads(io.readDie)), io.read)
  io.nonEmpty := nonEmpty
}
