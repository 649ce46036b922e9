// SPDX-License-Identifier: BSD-3-Clause
package assasin.stream

import chisel3._
import chisel3.util.{Cat, Decoupled, Queue}

import assasin.xbar.{XbarBeat, XbarPort}

/** A piece of an output stream to move to DRAM or to a core. */
class DrainJob extends Bundle {
  val stream = UInt(3.W)

  /** Stream position, 8-byte aligned. */
  val pos = UInt(32.W)

  /** 1..65536. */
  val bytes = UInt(17.W)

  /** DRAM address, 64-byte aligned; with `toCore` the offset in the core, or with `toStream` the position in its input
    * stream, 8-byte aligned.
    */
  val addr = UInt(32.W)

  /** To core `core` instead of DRAM. */
  val toCore = Bool()
  val core   = UInt(4.W)

  /** To input stream `toId` of that core. */
  val toStream = Bool()
  val toId     = UInt(3.W)
}

/** First byte and length of a packet that is complete. */
class DrainPacket extends Bundle {
  val addr  = UInt(32.W)
  val bytes = UInt(7.W)

  /** The job's last. */
  val end = Bool()
}

/** Ports of [[OutputDrain]]. */
class OutputDrainIO extends Bundle {
  val job    = Flipped(Decoupled(new DrainJob))
  val cancel = Input(Bool())
  val read   = new DrainReadIO
  val out    = Decoupled(new XbarBeat)

  /** A job is done. */
  val done = Decoupled(new StreamSpan)

  /** Free places in the queue. */
  val space = Output(UInt(4.W))
  val busy  = Output(Bool())

  /** No job is in hand; so for at least a cycle between two jobs. */
  val between = Output(Bool())
}

/** Moves queued pieces of output streams to DRAM or to cores in packets of up to 64 bytes, eight bytes a cycle. A job
  * is done when the crossbar has taken its last beat. `mark` is set on the last packet of a job to an input stream. A
  * job to a core that does not exist goes nowhere.
  *
  * `cancel` drops queued jobs and ends the running one at the next packet without reporting it.
  *
  * @param dramDst
  *   crossbar destination of the DRAM writer
  * @param tiles
  *   number of cores and slots
  */
class OutputDrain(dramDst: Int, tiles: Int) extends Module {
  private val depth = 4

  val io = IO(new OutputDrainIO)

  private val jobs = Module(new Queue(new DrainJob, depth, hasFlush = true))
  jobs.io.enq <> io.job
  jobs.io.flush.get := io.cancel
  io.space          := depth.U - jobs.io.count

  private val active    = RegInit(false.B)
  private val cancelled = Reg(Bool())
  private val job       = Reg(new DrainJob)
  private val left      = Reg(UInt(17.W))
  private val beat      = Reg(UInt(3.W)) // of the packet being read

  // Beats of complete packets and of the one being read: room for two packets.
  private val beats   = Module(new Queue(UInt(65.W), 16))
  private val packets = Module(new Queue(new DrainPacket, 4))
  // Beats in the queue, plus one on its way from the memory.
  private val arriving = RegInit(false.B)
  private val hasRoom  = beats.io.count +& arriving.asUInt < 16.U

  private val lastBeat = beat === 7.U || left <= 8.U
  io.read.req.valid       := active && left =/= 0.U && hasRoom && packets.io.count < 3.U
  io.read.req.bits.stream := job.stream
  io.read.req.bits.pos    := job.pos
  arriving                := io.read.req.fire

  private val arrivingLast   = RegNext(lastBeat)
  private val arrivingPacket = Reg(new DrainPacket)
  beats.io.enq.valid   := arriving
  beats.io.enq.bits    := Cat(arrivingLast, io.read.data)
  packets.io.enq.valid := arriving && arrivingLast
  packets.io.enq.bits  := arrivingPacket

  when(io.read.req.fire) {
    job.pos              := job.pos + 8.U
    beat                 := Mux(lastBeat, 0.U, beat + 1.U)
    left                 := Mux(lastBeat && (cancelled || left <= 8.U), 0.U, left - 8.U)
    arrivingPacket.addr  := job.addr
    arrivingPacket.bytes := Cat(0.U(1.W), beat, 0.U(3.W)) + Mux(left < 8.U, left(3, 0), 8.U)
    arrivingPacket.end   := left <= 8.U
    when(lastBeat) { job.addr := job.addr + 64.U }
  }.elsewhen(cancelled && beat === 0.U) {
    left := 0.U
  }

  private val sent = active && left === 0.U && !arriving && !packets.io.deq.valid
  io.done.valid       := sent && !cancelled
  io.done.bits.stream := job.stream
  io.done.bits.bytes  := job.bytes
  jobs.io.deq.ready   := !active
  when(sent && (cancelled || io.done.ready)) { active := false.B }
  when(jobs.io.deq.fire) {
    active    := true.B
    cancelled := false.B
    job       := jobs.io.deq.bits
    left      := jobs.io.deq.bits.bytes
    beat      := 0.U
  }
  when(io.cancel) { cancelled := true.B }
  io.busy    := active || jobs.io.deq.valid
  io.between := !active

  // The job holds still until its last packet has gone.
  private val nowhere = job.toCore && job.core >= tiles.U
  private val lastOut = beats.io.deq.bits(64)
  private val takes   = packets.io.deq.valid && (io.out.ready || nowhere)
  io.out.valid         := packets.io.deq.valid && !nowhere
  io.out.bits.data     := beats.io.deq.bits(63, 0)
  io.out.bits.last     := lastOut
  io.out.bits.dst      := Mux(job.toCore, XbarPort.core(0).U + job.core, dramDst.U)
  io.out.bits.addr     := packets.io.deq.bits.addr
  io.out.bits.bytes    := packets.io.deq.bits.bytes
  io.out.bits.toStream := job.toCore && job.toStream
  io.out.bits.stream   := job.toId
  io.out.bits.mark     := job.toCore && job.toStream && packets.io.deq.bits.end
  beats.io.deq.ready   := takes
  packets.io.deq.ready := takes && lastOut
}
