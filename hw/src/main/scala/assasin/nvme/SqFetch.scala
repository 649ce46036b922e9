// SPDX-License-Identifier: BSD-3-Clause
package assasin.nvme

import assasin.mem.StageWrite
import chisel3._
import chisel3.util.{Decoupled, Fill, Valid, log2Ceil}

/** One transfer between host and device memory. */
class DmaDescriptor extends Bundle {

  /** Host address. */
  val host = UInt(64.W)

  /** Address in the chip's map. */
  val dev = UInt(32.W)

  /** Bytes, 1 to 2^28 - 1. */
  val len = UInt(28.W)
}

/** Fetches submission entries into the staging memory: a ring of slots, filled and shown to the firmware in order.
  * Entries whose queue is deleted or that a controller reset catches on their way are dropped when they arrive.
  *
  * @param slots
  *   entries staged at once, a power of two
  * @param stageBase
  *   device address of the staging memory
  */
class SqFetch(slots: Int, stageBase: BigInt) extends Module {
  require(slots >= 2 && slots <= 16 && (slots & (slots - 1)) == 0, s"slots = $slots: choose a power of two up to 16")
  private val bits = log2Ceil(slots)

  val io = IO(new Bundle {
    val wanted  = Output(Bool())
    val fetch   = Flipped(Valid(new SqeFetch))
    val fetched = Decoupled(UInt(QueueId.IdBits.W))
    val deleted = Flipped(Valid(UInt(QueueId.IdBits.W)))
    val flush   = Input(Bool())

    val dma = Decoupled(new DmaDescriptor)

    /** Pulse: the oldest descriptor has been carried out. */
    val done = Input(Bool())

    /** Entries that lie in the controller memory buffer come from there. */
    val window    = Input(new ControllerMemoryWindow)
    val local     = Decoupled(new ControllerMemoryFetch)
    val localDone = Input(Bool())

    /** Entry data from the AXI4 slave. */
    val stage = Flipped(Valid(new StageWrite))

    /** Oldest entry, for the firmware. */
    val valid = Output(Bool())
    val queue = Output(UInt(QueueId.IdBits.W))

    /** Entries waiting, those of deleted queues included. */
    val count = Output(UInt(8.W))
    val pop   = Input(Bool())

    /** Entries asked for and not shown yet. */
    val coming = Output(UInt((bits + 1).W))

    /** Dword of the oldest entry, shown in the cycle after `readEn`. */
    val readEn   = Input(Bool())
    val readWord = Input(UInt(4.W))
    val readData = Output(UInt(32.W))

    val idle = Output(Bool())
  })

  private val mem = SyncReadMem(8 * slots, Vec(8, UInt(8.W)))
  when(io.stage.valid) {
    val bytes = VecInit.tabulate(8)(i => io.stage.bits.data(8 * i + 7, 8 * i))
    mem.write(io.stage.bits.word(bits + 2, 0), bytes, io.stage.bits.mask.asBools)
  }

  // The ring, oldest first: shown [head, arrived), landed [arrived, landed), on its way [landed, issued), to be asked for [issued, tail).
  private val head    = RegInit(0.U((bits + 1).W))
  private val arrived = RegInit(0.U((bits + 1).W))
  private val landed  = RegInit(0.U((bits + 1).W))
  private val issued  = RegInit(0.U((bits + 1).W))
  private val tail    = RegInit(0.U((bits + 1).W))
  private val queues  = Reg(Vec(slots, UInt(QueueId.IdBits.W)))
  private val dead    = RegInit(0.U(slots.W))
  private val addr    = Reg(UInt(64.W))

  /** Offset in the controller memory buffer, and that it lies there. */
  private val offset = io.fetch.bits.addr - io.window.base
  private val entry  = Reg(UInt((ControllerMemory.AddrBits - 6).W))
  private val local  = RegInit(false.B)

  private def slot(pointer: UInt): UInt = pointer(bits - 1, 0)
  private def bit(pointer: UInt): UInt  = (1.U(slots.W) << slot(pointer))(slots - 1, 0)

  // One entry at a time between queue table and descriptor port.
  io.wanted := tail === issued && (tail - head) < slots.U && !io.flush
  when(io.fetch.valid) {
    queues(slot(tail)) := io.fetch.bits.queue
    addr               := io.fetch.bits.addr
    entry              := offset(ControllerMemory.AddrBits - 1, 6)
    local              := io.window.enable && offset(63, ControllerMemory.AddrBits) === 0.U
    tail               := tail + 1.U
  }

  // The two ways take turns, so that entries land in order.
  private val localFlying = RegInit(false.B)
  io.local.valid      := tail =/= issued && local && issued === landed
  io.local.bits.entry := entry
  io.local.bits.slot  := slot(issued)
  when(io.local.fire) { localFlying := true.B }.elsewhen(io.localDone) { localFlying := false.B }

  io.dma.valid     := tail =/= issued && !local && !localFlying
  io.dma.bits.host := addr
  io.dma.bits.dev  := stageBase.U | (slot(issued) << 6)
  io.dma.bits.len  := 64.U
  when(io.dma.fire || io.local.fire) { issued := issued + 1.U }
  when(io.done || io.localDone) { landed := landed + 1.U }

  // An entry that has landed is counted into its queue's head before the firmware sees it.
  private val arriving   = arrived =/= landed
  private val arriveDead = (dead & bit(arrived)).orR
  private val arrive     = arriving && (arriveDead || io.fetched.ready)
  io.fetched.valid := arriving && !arriveDead && !io.flush
  io.fetched.bits  := queues(slot(arrived))
  when(arrive && !(io.flush && !arriveDead)) { arrived := arrived + 1.U }

  private val shown    = head =/= arrived
  private val headDead = (dead & bit(head)).orR
  private val drop     = shown && (headDead || io.pop)
  when(drop) { head := head + 1.U }

  // Entries that are not shown yet die with their queue; a reset takes the shown ones as well.
  private val hidden = VecInit
    .tabulate(slots) { i =>
      val age = i.U(bits.W) - slot(head)
      age >= (arrived - head) && age < (tail - head)
    }
    .asUInt
  private val killed = WireDefault(0.U(slots.W))
  when(io.deleted.valid) { killed := hidden & VecInit(queues.map(_ === io.deleted.bits)).asUInt }
  when(io.flush) { killed := Fill(slots, 1.U) }
  dead := (dead & ~Mux(io.fetch.valid, bit(tail), 0.U)) | killed

  io.valid  := shown && !headDead
  io.queue  := queues(slot(head))
  io.count  := arrived - head
  io.coming := tail - arrived

  private val half = RegNext(io.readWord(0))
  private val line = mem.read(slot(head) ## io.readWord(3, 1), io.readEn).asUInt
  io.readData := Mux(half, line(63, 32), line(31, 0))

  io.idle := arrived === tail && !(shown && headDead)
}
