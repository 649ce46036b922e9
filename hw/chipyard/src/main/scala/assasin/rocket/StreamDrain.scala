// SPDX-License-Identifier: BSD-3-Clause
package assasin.rocket

import assasin.stream.{DrainReadIO, StreamSpan}
import chisel3._
import chisel3.util.{Cat, Decoupled, Queue, Valid}
import freechips.rocketchip.tilelink.{TLBundle, TLEdgeOut}

class StreamDrainIO(edge: TLEdgeOut) extends Bundle {
  val begin = Flipped(Valid(UInt(64.W)))

  /** The buffer holds a page that no drain covers; a word has been stored into it. */
  val ready  = Input(Bool())
  val stored = Input(Bool())
  val read   = new DrainReadIO
  val cover  = Valid(new StreamSpan)
  val free   = Decoupled(new StreamSpan)

  /** All that was stored is in memory. */
  val idle = Output(Bool())
  val tl   = new TLBundle(edge.bundle)
}

/** Brings an output stream buffer's pages to memory, one after the other. */
class StreamDrain(edge: TLEdgeOut) extends Module {
  import StreamRoCC.{Lines, PageBytes}
  val io = IO(new StreamDrainIO(edge))

  private val words   = PageBytes / 8
  private val address = Reg(UInt(edge.bundle.addressBits.W))
  private val page    = RegInit(0.U(23.W))
  private val active  = RegInit(false.B)
  private val asked   = RegInit(0.U(7.W))
  private val sent    = RegInit(0.U(7.W))
  private val owed    = RegInit(0.U(4.W))
  private val waiting = RegInit(0.U(32.W)) // bytes stored and not in memory

  private val begins = !active && io.ready && waiting >= PageBytes.U
  private val whole  = active && sent === words.U && owed === 0.U
  private val span   = Wire(new StreamSpan)
  span.stream    := 0.U
  span.bytes     := PageBytes.U
  io.cover.valid := begins
  io.cover.bits  := span
  io.free.valid  := whole
  io.free.bits   := span

  // The memory answers a cycle after it was asked.
  private val data    = Module(new Queue(UInt(64.W), 4))
  private val reading = RegNext(io.read.req.fire, false.B)
  io.read.req.valid       := active && asked =/= words.U && data.io.count +& reading < 3.U
  io.read.req.bits.stream := 0.U
  io.read.req.bits.pos    := Cat(page, asked(5, 0), 0.U(3.W))
  data.io.enq.valid       := reading
  data.io.enq.bits        := io.read.data
  when(io.read.req.fire) { asked := asked + 1.U }

  private val line = sent(5, 3)
  io.tl.a.valid     := data.io.deq.valid
  io.tl.a.bits      := edge.Put(line, address + Cat(page, line, 0.U(6.W)), 6.U, data.io.deq.bits)._2
  data.io.deq.ready := io.tl.a.ready
  when(io.tl.a.fire) { sent := sent + 1.U }
  io.tl.d.ready := true.B
  when(io.tl.d.fire) { owed := owed - 1.U }

  when(begins) {
    active := true.B
    asked  := 0.U
    sent   := 0.U
    owed   := Lines.U
  }
  when(io.free.fire) {
    active := false.B
    page   := page + 1.U
  }
  waiting := waiting + Mux(io.stored, 4.U, 0.U) - Mux(io.free.fire, PageBytes.U, 0.U)
  io.idle := waiting === 0.U
  when(io.begin.valid) {
    address := io.begin.bits
    page    := 0.U
  }
  assert(!io.begin.valid || io.idle, "an output begins before the one before it is in memory")
  require(edge.bundle.dataBits == 64, "lines of eight beats")

  io.tl.b.ready := true.B
  io.tl.c.valid := false.B
  io.tl.c.bits  := 0.U.asTypeOf(io.tl.c.bits)
  io.tl.e.valid := false.B
  io.tl.e.bits  := 0.U.asTypeOf(io.tl.e.bits)
}
