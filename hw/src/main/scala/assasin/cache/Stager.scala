// SPDX-License-Identifier: BSD-3-Clause
package assasin.cache

import chisel3._
import chisel3.util.{Decoupled, Queue}

/** Eight bytes for the tile's region of DRAM. */
class StageBeat(lineBits: Int) extends Bundle {

  /** Offset in the region, 8-byte aligned. */
  val offset = UInt((lineBits + 6).W)
  val data   = UInt(64.W)

  /** Valid bytes from the lowest on, 1..8; less than 8 only in the last beat of a packet. */
  val bytes = UInt(4.W)
  val last  = Bool()

  /** The page in `slot` is complete with this beat. */
  val mark = Bool()
  val slot = UInt(7.W)
}

/** Ports of [[Stager]]. */
class StagerIO(lineBits: Int) extends Bundle {
  val beat = Flipped(Decoupled(new StageBeat(lineBits)))

  /** One write for each line that a packet touches, whose data are all in `data`. */
  val write = Decoupled(new LineWrite(lineBits))
  val data  = Decoupled(UInt(64.W))

  /** All writes have been taken. */
  val idle = Output(Bool())
}

/** Cuts packets for the region into writes of lines. */
class Stager(lineBits: Int) extends Module {
  val io = IO(new StagerIO(lineBits))

  private val writes = Module(new Queue(new LineWrite(lineBits), 4))
  private val data   = Module(new Queue(UInt(64.W), 32))
  private val beat   = io.beat.bits
  private val open   = RegInit(false.B) // within a line
  private val first  = Reg(UInt(3.W))
  private val index  = beat.offset(5, 3)
  private val ends   = beat.last || index === 7.U

  // A line can always be ended, so data never wait for a place in `writes`.
  io.beat.ready := data.io.enq.ready && writes.io.enq.ready
  when(io.beat.fire) {
    open := !ends
    when(!open) { first := index }
  }
  private val start = Mux(open, first, index)
  data.io.enq.valid            := io.beat.fire
  data.io.enq.bits             := beat.data
  writes.io.enq.valid          := io.beat.fire && ends
  writes.io.enq.bits.line      := beat.offset >> 6
  writes.io.enq.bits.first     := start
  writes.io.enq.bits.len       := index - start
  writes.io.enq.bits.lastBytes := beat.bytes
  writes.io.enq.bits.source    := LineSource.Stage
  writes.io.enq.bits.mark      := beat.mark && beat.last
  writes.io.enq.bits.slot      := beat.slot
  io.write <> writes.io.deq
  io.data <> data.io.deq
  io.idle := !open && !writes.io.deq.valid
}

/** Data ports of [[LineDram]]. */
object LineSource {
  val Stage: UInt = 0.U(1.W)
  val Evict: UInt = 1.U(1.W)
}
