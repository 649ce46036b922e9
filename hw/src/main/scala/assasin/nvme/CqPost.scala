// SPDX-License-Identifier: BSD-3-Clause
package assasin.nvme

import assasin.bus.RoundRobin
import chisel3._
import chisel3.util.{Cat, Decoupled, Enum, OHToUInt, PopCount, Queue, Valid, is, log2Ceil, switch}

/** A completion as the firmware pushes it. */
class CqePush extends Bundle {
  val dw0  = UInt(32.W)
  val dw1  = UInt(32.W)
  val cid  = UInt(16.W)
  val sqid = UInt(8.W)

  /** SC[7:0], SCT[10:8], CRD, More[13], DNR[14]. */
  val status = UInt(15.W)

  /** Firmware's card-to-host transfers pushed so far, modulo 256: these go first. */
  val after = UInt(8.W)
}

/** Interrupt of a posted completion. */
class RaisedCqe extends Bundle {
  val vector = UInt(4.W)

  /** Its completion queue. */
  val queue = UInt(QueueId.IdBits.W)
}

private class PostedCqe(slots: Int) extends Bundle {
  val slot  = UInt(log2Ceil(slots).W)
  val raise = new RaisedCqe
}

/** Posts completions: takes a place in the completion queue, puts the entry into the staging memory, has it moved to
  * the host and then raises the interrupt. Completions for a full queue wait without holding up those for others. A
  * completion never overtakes the card-to-host transfers that the firmware pushed before it.
  *
  * @param slots
  *   completions staged at once
  * @param stageBase
  *   device address of their staging memory
  */
class CqPost(slots: Int, stageBase: BigInt) extends Module {
  require(slots >= 2 && (slots & (slots - 1)) == 0, s"slots = $slots: choose a power of two")

  val io = IO(new Bundle {
    val push  = Flipped(Valid(new CqePush))
    val space = Output(UInt(4.W))

    /** Completions pushed and not with the host yet. */
    val leaving = Output(UInt(4.W))

    /** Firmware's card-to-host transfers handed to the DMA so far, modulo 256. */
    val handed = Input(UInt(8.W))

    val post     = Decoupled(UInt(8.W))
    val postResp = Flipped(Valid(new CqePlace))
    val roomMade = Input(Bool())
    val flush    = Input(Bool())

    val dma = Decoupled(new DmaDescriptor)

    /** Pulse: the oldest descriptor has been carried out. */
    val done = Input(Bool())

    /** Staging memory, from the AXI4 slave: 64-bit words, data in the cycle after `stageEn`. */
    val stageEn   = Input(Bool())
    val stageWord = Input(UInt(4.W))
    val stageData = Output(UInt(64.W))

    /** A completion that interrupts is in the host's memory. */
    val raise = Valid(new RaisedCqe)

    /** Pulse: a completion had no queue. */
    val dropped = Output(Bool())
    val idle    = Output(Bool())
  })

  private val entries = SyncReadMem(slots, new CqePush)
  private val stage   = SyncReadMem(2 * slots, UInt(64.W))

  private val used    = RegInit(0.U(slots.W))
  private val posted  = RegInit(0.U(slots.W))
  private val blocked = RegInit(0.U(slots.W))

  /** Slots whose earlier transfers are known to have gone; the comparison of counters only holds for a while. */
  private val ordered = RegInit(0.U(slots.W))

  /** Posted slots that interrupt. */
  private val irqOn = RegInit(0.U(slots.W))

  private val sPick :: sLoad :: sOrder :: sPost :: sPlace :: sLow :: sHigh :: sSend :: Nil = Enum(8)

  private val state   = RegInit(sPick)
  private val chosen  = RegInit(1.U(slots.W))
  private val slot    = OHToUInt(chosen)
  private val entry   = Reg(new CqePush)
  private val place   = Reg(new CqePlace)
  private val aborted = RegInit(false.B)

  // Push.
  private val free  = ~used
  private val fresh = RoundRobin.pick(free, 1.U(slots.W))
  private val taken = io.push.valid && free.orR
  io.space   := PopCount(free)
  io.leaving := PopCount(used)

  // Pick the next one that is not blocked, oldest first within a lap of the slots.
  private val ready = used & ~posted & ~blocked
  private val pick  = RoundRobin.pick(ready, chosen)
  private val start = state === sPick && ready.orR && !io.flush
  private val read  = entries.read(OHToUInt(pick), start)

  private val freed = WireDefault(0.U(slots.W))
  private val block = WireDefault(0.U(slots.W))
  private val abort = aborted || io.flush

  io.post.valid := state === sPost
  io.post.bits  := entry.sqid
  io.dropped    := false.B

  io.dma.valid     := state === sSend && !abort
  io.dma.bits.host := place.addr
  io.dma.bits.dev  := stageBase.U | (slot << 4)
  io.dma.bits.len  := 16.U

  private val low  = entry.dw1 ## entry.dw0
  private val high = Cat(entry.status, place.phase, entry.cid, 0.U(8.W), entry.sqid, place.sqHead)
  when(state === sLow || state === sHigh) { stage.write(slot ## (state === sHigh), Mux(state === sHigh, high, low)) }
  io.stageData := stage.read(io.stageWord, io.stageEn)

  switch(state) {
    is(sPick) {
      when(start) {
        chosen := pick
        state  := sLoad
      }
    }
    is(sLoad) {
      entry := read
      state := sOrder
    }
    is(sOrder) {
      when((ordered & chosen).orR || !(io.handed - entry.after)(7) || abort) {
        ordered := ordered | chosen
        state   := sPost
      }
    }
    is(sPost) { when(io.post.ready) { state := sPlace } }
    is(sPlace) {
      when(io.postResp.valid) {
        place := io.postResp.bits
        state := sPick
        when(abort) {
          freed := chosen
        }.elsewhen(io.postResp.bits.absent) {
          freed      := chosen
          io.dropped := true.B
        }.elsewhen(io.postResp.bits.full) {
          block := chosen
        }.otherwise {
          state := sLow
        }
      }
    }
    is(sLow) { state := sHigh }
    is(sHigh) { state := sSend }
    is(sSend) {
      when(abort) {
        freed := chosen
        state := sPick
      }.elsewhen(io.dma.fire) {
        state := sPick
      }
    }
  }
  when(taken) {
    entries.write(OHToUInt(fresh), io.push.bits)
    ordered := ordered & ~fresh
  }
  aborted := abort && state =/= sPick && freed === 0.U

  // Carried out, in order.
  private val flying = Module(new Queue(new PostedCqe(slots), slots))
  flying.io.enq.valid             := io.dma.fire
  flying.io.enq.bits.slot         := slot
  flying.io.enq.bits.raise.vector := place.vector
  flying.io.enq.bits.raise.queue  := place.queue
  flying.io.deq.ready             := io.done
  private val landed = Mux(io.done, (1.U(slots.W) << flying.io.deq.bits.slot)(slots - 1, 0), 0.U)
  io.raise.valid := (landed & irqOn).orR && !io.flush
  io.raise.bits  := flying.io.deq.bits.raise

  private val sent = Mux(io.dma.fire, chosen, 0.U)
  posted  := (posted | sent) & ~landed
  irqOn   := Mux(io.flush, 0.U, (irqOn | Mux(place.ien, sent, 0.U)) & ~landed)
  blocked := Mux(io.roomMade, 0.U, blocked | block) & ~freed
  // A reset frees what waits; the one being worked on frees itself.
  private val working = Mux(state === sPick, 0.U, chosen)
  private val cleared = Mux(io.flush, used & ~posted & ~working & ~sent, 0.U)
  used := (used & ~landed & ~freed & ~cleared) | Mux(taken, fresh, 0.U)

  io.idle := state === sPick && !ready.orR && posted === 0.U
}
