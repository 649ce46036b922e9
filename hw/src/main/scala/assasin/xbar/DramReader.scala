// SPDX-License-Identifier: BSD-3-Clause
package assasin.xbar

import assasin.SocParams
import assasin.bus.{Axi4, Axi4Params, Axi4ReadIO, RoundRobin}
import assasin.flash.FlashFetch
import chisel3._
import chisel3.util.{Decoupled, Mux1H, Queue}

/** Where a read of DRAM goes. */
class DramReadTarget extends Bundle {
  val dst = UInt(6.W)

  /** Offset at the destination, or stream position with `toStream`. */
  val addr     = UInt(32.W)
  val toStream = Bool()
  val stream   = UInt(3.W)
}

/** A read of DRAM. */
class DramReadReq extends Bundle {

  /** First byte, 64-byte aligned (the low six bits are ignored). */
  val src    = UInt(32.W)
  val bytes  = UInt(17.W)
  val target = new DramReadTarget
}

/** A packet that is on its way from DRAM. */
private class PendingPacket extends Bundle {
  val target = new DramReadTarget
  val bytes  = UInt(7.W)

  /** Last packet of its request. */
  val end = Bool()

  /** Of the copy engine. */
  val copy = Bool()
}

object DramReader {

  /** Ports for copies: the copy engine's and the parity engine's. */
  val Copies = 2
}

/** Reads DRAM for the channels' program buffers, the copy engine and the parity engine, in bursts of 64 bytes with up
  * to `outstanding` under way, and sends each as a packet. Requests are served one after the other, round robin; `mark`
  * is set on the last packet of a request.
  */
class DramReader(p: SocParams, axi: Axi4Params, outstanding: Int = 32) extends Module {
  val io = IO(new Bundle {
    val fetch = Vec(p.channels, Flipped(Decoupled(new FlashFetch)))
    val copy  = Vec(DramReader.Copies, Flipped(Decoupled(new DramReadReq)))

    /** Pulse: the last packet of a copy of the copy engine has left. */
    val copied = Output(Bool())
    val dram   = new Axi4ReadIO(axi)
    val out    = Decoupled(new XbarBeat)
    val order  = Input(new WriteOrder)
    val idle   = Output(Bool())
  })

  private val n = p.channels + DramReader.Copies

  // The request after the current one is chosen early, so that its wait for older writes overlaps with the current one's reads.
  private val owner     = RegInit(1.U(n.W))
  private val nextValid = RegInit(false.B)
  private val next      = Reg(new DramReadReq)
  private val nextCopy  = Reg(Bool())
  private val barrier   = Module(new ReadBarrier)

  private val requests = VecInit(io.fetch.map(_.valid) ++ io.copy.map(_.valid)).asUInt
  private val grant    = RoundRobin.pick(requests, owner)
  private val choose   = !nextValid && requests.orR

  io.fetch.zipWithIndex.foreach { case (f, i) => f.ready := choose && grant(i) }
  io.copy.zipWithIndex.foreach { case (c, i) => c.ready := choose && grant(p.channels + i) }
  barrier.io.start := choose
  barrier.io.order := io.order
  when(choose) {
    val fetches = io.fetch.zipWithIndex.map { case (f, i) =>
      val r = Wire(new DramReadReq)
      r.src             := f.bits.addr
      r.bytes           := f.bits.bytes
      r.target.dst      := XbarPort.channel(p.tiles, i).U
      r.target.addr     := 0.U
      r.target.toStream := false.B
      r.target.stream   := 0.U
      r
    }
    next      := Mux1H(grant, fetches ++ io.copy.map(_.bits))
    nextCopy  := grant(p.channels)
    owner     := grant
    nextValid := true.B
  }

  private val active  = RegInit(false.B)
  private val current = Reg(new DramReadReq)
  private val isCopy  = Reg(Bool())
  when(!active && nextValid && barrier.io.clear) {
    active    := true.B
    current   := next
    isCopy    := nextCopy
    nextValid := false.B
  }

  private val packets = Module(new Queue(new PendingPacket, outstanding))
  private val data    = Module(new Queue(UInt(axi.dataBits.W), 8 * outstanding, useSyncReadMem = true))
  // Bursts asked for whose packet has not left; keeps a place in `data` for every beat.
  private val reserved = RegInit(0.U(8.W))
  private val end      = current.bytes <= 64.U
  private val bytes    = Mux(end, current.bytes(6, 0), 64.U)
  private val ask      = active && packets.io.enq.ready && reserved < outstanding.U

  io.dram.ar.valid      := ask
  io.dram.ar.bits.id    := 0.U
  io.dram.ar.bits.addr  := current.src(31, 6) ## 0.U(6.W)
  io.dram.ar.bits.len   := (bytes - 1.U)(5, 3)
  io.dram.ar.bits.size  := Axi4.Size8
  io.dram.ar.bits.burst := Axi4.Incr

  packets.io.enq.valid       := io.dram.ar.fire
  packets.io.enq.bits.target := current.target
  packets.io.enq.bits.bytes  := bytes
  packets.io.enq.bits.end    := end
  packets.io.enq.bits.copy   := isCopy
  when(io.dram.ar.fire) {
    current.src         := current.src + 64.U
    current.bytes       := current.bytes - 64.U
    current.target.addr := current.target.addr + 64.U
    when(end) { active := false.B }
  }

  data.io.enq.valid := io.dram.r.valid
  data.io.enq.bits  := io.dram.r.bits.data
  io.dram.r.ready   := data.io.enq.ready

  /** Whole packets in `data`. */
  private val whole = RegInit(0.U(8.W))
  private val beat  = RegInit(0.U(3.W))
  private val head  = packets.io.deq.bits
  private val last  = beat === (head.bytes - 1.U)(5, 3)

  io.out.valid         := whole =/= 0.U && data.io.deq.valid
  io.out.bits.data     := data.io.deq.bits
  io.out.bits.last     := last
  io.out.bits.dst      := head.target.dst
  io.out.bits.addr     := head.target.addr
  io.out.bits.bytes    := head.bytes
  io.out.bits.toStream := head.target.toStream
  io.out.bits.stream   := head.target.stream
  io.out.bits.mark     := head.end

  private val sent = io.out.fire && last
  data.io.deq.ready    := io.out.fire
  packets.io.deq.ready := sent
  when(io.out.fire) { beat := Mux(last, 0.U, beat + 1.U) }

  private val arrived = io.dram.r.fire && io.dram.r.bits.last
  when(arrived =/= sent) { whole := Mux(arrived, whole + 1.U, whole - 1.U) }
  when(io.dram.ar.fire =/= sent) { reserved := Mux(sent, reserved - 1.U, reserved + 1.U) }

  io.copied := sent && head.end && head.copy
  io.idle   := !nextValid && !active && reserved === 0.U
}
