// SPDX-License-Identifier: BSD-3-Clause
package assasin.mem

import assasin.bus.{Axi4Addr, Axi4IO, Axi4Params, Axi4ReadIO, Axi4WriteIO, RoundRobin}
import chisel3._
import chisel3.util.{DecoupledIO, Mux1H, OHToUInt, Queue, UIntToOH}

/** Brings the chip's read and write masters to one AXI4 port, round robin. A master's transactions stay in order: the
  * id on the DRAM port is the master's number.
  *
  * @param axi
  *   the DRAM port
  * @param readers
  *   number of read masters
  * @param writers
  *   number of write masters
  */
class DramArbiter(axi: Axi4Params, readers: Int, writers: Int) extends Module {
  require(
    readers <= (1 << axi.idBits) && writers <= (1 << axi.idBits),
    s"$readers, $writers masters for ${axi.idBits} id bits"
  )

  val io = IO(new Bundle {
    val read  = Vec(readers, Flipped(new Axi4ReadIO(axi)))
    val write = Vec(writers, Flipped(new Axi4WriteIO(axi)))
    val dram  = new Axi4IO(axi)

    /** Bytes moved since reset, eight a beat. */
    val readBytes  = Output(UInt(64.W))
    val writeBytes = Output(UInt(64.W))

    /** No transaction is under way. */
    val idle = Output(Bool())
  })

  /** Registered address channel: takes the addresses of the requesters in turn; sends one when there is room. */
  private def choose(from: Seq[DecoupledIO[Axi4Addr]], to: DecoupledIO[Axi4Addr], room: Bool): Unit = {
    val full    = RegInit(false.B)
    val addr    = Reg(new Axi4Addr(axi))
    val owner   = RegInit(1.U(from.size.W))
    val request = VecInit(from.map(_.valid)).asUInt
    val take    = request.orR && (!full || to.fire)
    val grant   = Mux(take, RoundRobin.pick(request, owner), 0.U)
    when(take) {
      addr    := Mux1H(grant, from.map(_.bits))
      addr.id := OHToUInt(grant)
      owner   := grant
      full    := true.B
    }.elsewhen(to.fire) {
      full := false.B
    }
    from.zip(grant.asBools).foreach { case (f, g) => f.ready := g }
    to.valid := full && room
    to.bits  := addr
  }

  /** Counts what is under way; true when nothing is. */
  private def quiet(start: Bool, end: Bool): Bool = {
    val count = RegInit(0.U(8.W))
    when(start =/= end) { count := Mux(start, count + 1.U, count - 1.U) }
    count === 0.U
  }

  choose(io.read.map(_.ar), io.dram.ar, true.B)
  private val readSel = UIntToOH(io.dram.r.bits.id, readers)
  for ((m, i) <- io.read.zipWithIndex) {
    m.r.valid := io.dram.r.valid && readSel(i)
    m.r.bits  := io.dram.r.bits
  }
  io.dram.r.ready := (readSel & VecInit(io.read.map(_.r.ready)).asUInt).orR

  // Write data follow in the order of the addresses, and never before them.
  private val route    = Module(new Queue(UInt(writers.W), 8))
  private val writeSel = route.io.deq.bits
  choose(io.write.map(_.aw), io.dram.aw, route.io.enq.ready)
  route.io.enq.valid := io.dram.aw.fire
  route.io.enq.bits  := UIntToOH(io.dram.aw.bits.id, writers)
  route.io.deq.ready := io.dram.w.fire && io.dram.w.bits.last
  io.dram.w.valid    := route.io.deq.valid && (writeSel & VecInit(io.write.map(_.w.valid)).asUInt).orR
  io.dram.w.bits     := Mux1H(writeSel, io.write.map(_.w.bits))
  private val respSel = UIntToOH(io.dram.b.bits.id, writers)
  for ((m, i) <- io.write.zipWithIndex) {
    m.w.ready := route.io.deq.valid && writeSel(i) && io.dram.w.ready
    m.b.valid := io.dram.b.valid && respSel(i)
    m.b.bits  := io.dram.b.bits
  }
  io.dram.b.ready := (respSel & VecInit(io.write.map(_.b.ready)).asUInt).orR

  private def count(beat: Bool): UInt = {
    val beats = RegInit(0.U(61.W))
    when(beat) { beats := beats + 1.U }
    beats ## 0.U(3.W)
  }
  io.readBytes  := count(io.dram.r.fire)
  io.writeBytes := count(io.dram.w.fire)

  io.idle := !io.dram.ar.valid && !io.dram.aw.valid && quiet(io.dram.ar.fire, io.dram.r.fire && io.dram.r.bits.last) &&
    quiet(io.dram.aw.fire, io.dram.b.fire)
}
