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

  /** Shows the oldest descriptor of `readSlot` in the next cycle. */
  val read     = Input(Bool())
  val readSlot = Input(UInt(Slot.Bits.W))
  val head     = Output(new FlashDescriptor)

  /** Drops the oldest descriptor of a slot. */
  val pop = Flipped(Valid(UInt(Slot.Bits.W)))

  /** Slots that have a descriptor. */
  val nonEmpty = Output(UInt(Slot.count(p).W))
}

/** Descriptor FIFOs of all slots, eight places each, in one memory. Descriptors for a way that does not exist (they are
  * `bad`) queue at way 0.
  */
class WayQueues(p: SocParams) extends Module {
  val io = IO(new WayQueuesIO(p))

  private val depthLog2 = 3
  private val slots     = Slot.count(p)
  private val memory    = SyncReadMem(slots << depthLog2, new FlashDescriptor)

  // Read and write pointers of the ways, a nibble a way: one bit more than the depth needs tells full from empty. Those of each
  // LUN are a register: a wider one would cost more in simulation.
  private val heads    = Seq.fill(p.luns)(RegInit(0.U((4 * p.ways).W)))
  private val tails    = Seq.fill(p.luns)(RegInit(0.U((4 * p.ways).W)))
  private val nonEmpty = RegInit(0.U(slots.W))

  private def ofWay(all: UInt, way: UInt): UInt = (all >> Cat(way, 0.U(2.W)))(3, 0)
  private def nibble(all: Seq[UInt], slot: UInt): UInt =
    ofWay(if (p.luns == 1) all.head else Mux(Slot.lun(slot), all.last, all.head), Slot.way(slot))
  private def advance(all: Seq[UInt], slot: UInt): Unit = {
    val old  = nibble(all, slot)
    val flip = ((old ^ (old + 1.U)) << Cat(Slot.way(slot), 0.U(2.W)))(4 * p.ways - 1, 0)
    for ((ofLun, lun) <- all.zipWithIndex) when((p.luns == 1).B || Slot.lun(slot) === (lun == 1).B) {
      ofLun := ofLun ^ flip
    }
  }
  private def place(slot: UInt, pointer: UInt): UInt = Cat(Slot.index(p, slot), pointer(depthLog2 - 1, 0))
  private def existing(way: UInt): UInt              = Mux(way < p.ways.U, way, 0.U)
  private def only(when: Bool, slot: UInt): UInt     = Mux(when, Slot.bit(p, slot), 0.U)

  // The way that is asked about is that of the descriptor that is pushed.
  private val spaces = heads.zip(tails).map { case (head, tail) =>
    val way = existing(io.spaceWay)
    (1 << depthLog2).U - (ofWay(tail, way) - ofWay(head, way))
  }
  for (lun <- 0 until p.luns) io.space(lun) := spaces(lun)
  private val pushSlot = Slot(io.pushLun, existing(io.spaceWay))
  private val pushed   = io.push.valid && Mux(io.pushLun, spaces.last, spaces.head) =/= 0.U
  when(pushed) {
    memory.write(place(pushSlot, nibble(tails, pushSlot)), io.push.bits)
    advance(tails, pushSlot)
  }
  private val last = (nibble(heads, io.pop.bits) + 1.U)(3, 0) === nibble(tails, io.pop.bits)
  when(io.pop.valid) { advance(heads, io.pop.bits) }
  when(pushed || io.pop.valid) {
    nonEmpty := (nonEmpty & ~only(io.pop.valid && last, io.pop.bits)) | only(pushed, pushSlot)
  }

  io.head     := memory.read(place(io.readSlot, nibble(heads, io.readSlot)), io.read)
  io.nonEmpty := nonEmpty
}
