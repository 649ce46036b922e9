// SPDX-License-Identifier: BSD-3-Clause
package assasin.nvme

import assasin.SocParams
import assasin.contract.HdmaRegs
import assasin.xbar.{DramReadReq, XbarPort}
import chisel3._
import chisel3.util.{Decoupled, Queue, Valid}

/** A copy as the firmware pushes it: the registers COPY_SRC, COPY_DST, COPY_POS and the length. */
class CopyPush extends Bundle {
  val src   = UInt(32.W)
  val dst   = UInt(32.W)
  val pos   = UInt(32.W)
  val bytes = UInt(17.W)
}

/** Queue of copies from DRAM to the cores, carried out by the DRAM reader one after the other. A copy to a core that
  * does not exist, or of nothing, ends at once.
  */
class CopyEngine(p: SocParams, depth: Int = 16) extends Module {
  val io = IO(new Bundle {
    val push   = Flipped(Valid(new CopyPush))
    val space  = Output(UInt(8.W))
    val reader = Decoupled(new DramReadReq)

    /** Pulse from the reader: a copy has left. */
    val copied = Input(Bool())

    /** Pulse: a copy is done. */
    val done  = Output(Bool())
    val flush = Input(Bool())
    val idle  = Output(Bool())
  })
  private val queue = Module(new Queue(new CopyPush, depth, hasFlush = true))
  queue.io.enq.valid := io.push.valid
  queue.io.enq.bits  := io.push.bits
  queue.io.flush.get := io.flush
  io.space           := depth.U - queue.io.count

  private def field(word: UInt, lsb: Int, width: Int): UInt = word(lsb + width - 1, lsb)

  private val busy = RegInit(false.B)
  private val head = queue.io.deq.bits
  private val core = field(head.dst, HdmaRegs.CopyDst.Core.lsb, HdmaRegs.CopyDst.Core.width)
  private val void = core >= p.tiles.U || head.bytes === 0.U
  private val skip = queue.io.deq.valid && !busy && void

  io.reader.valid                := queue.io.deq.valid && !busy && !void && !io.flush
  io.reader.bits.src             := head.src
  io.reader.bits.bytes           := head.bytes
  io.reader.bits.target.dst      := XbarPort.core(0).U + core
  io.reader.bits.target.toStream := head.dst(HdmaRegs.CopyDst.Stream.lsb)
  io.reader.bits.target.stream   := field(head.dst, HdmaRegs.CopyDst.StreamId.lsb, HdmaRegs.CopyDst.StreamId.width)
  io.reader.bits.target.addr := Mux(
    io.reader.bits.target.toStream,
    head.pos,
    field(head.dst, HdmaRegs.CopyDst.Offset.lsb, HdmaRegs.CopyDst.Offset.width)
  )
  queue.io.deq.ready := io.reader.fire || skip
  when(io.reader.fire) { busy := true.B }.elsewhen(io.copied) { busy := false.B }

  /** The copy under way began before a reset. */
  private val muted = RegInit(false.B)
  when(io.flush) { muted := busy && !io.copied }.elsewhen(io.copied) { muted := false.B }
  io.done := (skip || (io.copied && !muted)) && !io.flush
  io.idle := !queue.io.deq.valid && !busy
}
