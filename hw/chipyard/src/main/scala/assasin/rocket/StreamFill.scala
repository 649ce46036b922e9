// SPDX-License-Identifier: BSD-3-Clause
package assasin.rocket

import assasin.stream.InputBeat
import chisel3._
import chisel3.util.{Cat, Valid}
import freechips.rocketchip.tilelink.{TLBundle, TLEdgeOut}

class StreamFillIO(edge: TLEdgeOut) extends Bundle {
  val begin = Flipped(Valid(new Bundle {
    val address = UInt(64.W)
    val bytes   = UInt(64.W)
  }))

  /** [[assasin.stream.InputStreamBufferIO.room]]. */
  val room    = Input(UInt(8.W))
  val deliver = Valid(new InputBeat)
  val tl      = new TLBundle(edge.bundle)
}

/** Brings memory into an input stream buffer, a page at a time with all its lines under way together. */
class StreamFill(edge: TLEdgeOut) extends Module {
  import StreamRoCC.{LineBytes, Lines, PageBytes}
  val io = IO(new StreamFillIO(edge))

  private val address = Reg(UInt(edge.bundle.addressBits.W))
  private val page    = RegInit(0.U(23.W))
  private val pages   = RegInit(0.U(23.W))
  private val fresh   = RegInit(0.U(2.W)) // cycles until the buffer's room is that of this stream
  private val asked   = RegInit(0.U(4.W))
  private val owed    = RegInit(Lines.U(4.W))

  private val mayAsk = fresh === 0.U && page =/= pages && (io.room - page(7, 0)) =/= 0.U && asked =/= Lines.U
  private val line   = asked(2, 0)
  private val offset = Cat(page, line, 0.U(6.W))
  io.tl.a.valid := mayAsk
  io.tl.a.bits  := edge.Get(line, address + offset, 6.U)._2
  when(io.tl.a.fire) { asked := asked + 1.U }

  private val (_, last, _, beat) = edge.count(io.tl.d)
  private val ends               = io.tl.d.fire && last
  private val whole              = ends && owed === 1.U
  io.tl.d.ready          := true.B
  io.deliver.valid       := io.tl.d.valid
  io.deliver.bits.pos    := Cat(page, io.tl.d.bits.source(2, 0), beat(2, 0), 0.U(3.W))
  io.deliver.bits.stream := 0.U
  io.deliver.bits.raw    := false.B
  io.deliver.bits.data   := io.tl.d.bits.data
  io.deliver.bits.mark   := whole
  when(ends) { owed := owed - 1.U }
  when(whole) {
    owed  := Lines.U
    asked := 0.U
    page  := page + 1.U
  }
  when(fresh =/= 0.U) { fresh := fresh - 1.U }
  when(io.begin.valid) {
    address := io.begin.bits.address
    pages   := io.begin.bits.bytes / PageBytes.U
    page    := 0.U
    fresh   := 3.U
  }
  assert(!io.begin.valid || page === pages, "an input begins before the one before it has come")
  require(edge.bundle.dataBits == 64 && LineBytes == 64, "lines of eight beats")

  io.tl.b.ready := true.B
  io.tl.c.valid := false.B
  io.tl.c.bits  := 0.U.asTypeOf(io.tl.c.bits)
  io.tl.e.valid := false.B
  io.tl.e.bits  := 0.U.asTypeOf(io.tl.e.bits)
}
