// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Cat, Decoupled, Fill, MuxLookup, Valid}

import assasin.bus.{RegBusIO, RegReq}
import assasin.contract.CoreRegs
import assasin.stream.{DrainJob, PointerWrite, StreamPartition, StreamSpan}
import assasin.vector.{VectorCounts, VectorParams}

/** Ports of [[StreamCoreRegs]]. */
class StreamCoreRegsIO(bytes: Int, vectorParams: Option[VectorParams]) extends Bundle {
  val bus    = Flipped(new RegBusIO)
  val run    = Output(Bool())
  val entry  = Output(UInt(32.W))
  val status = Input(new CoreStatusIO)

  /** By a debugger. */
  val halted = Input(Bool())
  val counts = Input(new TileCounts)
  val vector = vectorParams.map(p => Input(new VectorCounts(p)))
  val event  = Output(Bool())

  val partition = Output(new StreamPartition(bytes))

  /** Stream pointers, marks, ends and drains to their reset state, for one cycle. */
  val clear = Output(Bool())

  /** Pointers of the stream that the bus reads. */
  val peek          = new StreamPeekIO
  val writeTail     = Valid(new PointerWrite)
  val writeOutTail  = Valid(new PointerWrite)
  val writeEnd      = Valid(new PointerWrite)
  val writeEndValid = Valid(UInt(8.W))
  val endValid      = Input(UInt(8.W))
  val outReady      = Input(UInt(8.W))

  val drain      = Decoupled(new DrainJob)
  val cover      = Valid(new StreamSpan)
  val drainDone  = Input(Bool())
  val drainSpace = Input(UInt(4.W))
}

/** Register block CORE (hw/regs/core.toml). Answers in the cycle after the request.
  *
  * @param bytes
  *   size of a stream buffer
  * @param vector
  *   of a vector unit that is counted
  */
class StreamCoreRegs(bytes: Int, vector: Option[VectorParams] = None) extends Module {
  val io = IO(new StreamCoreRegsIO(bytes, vector))

  private val offsetBits = io.partition.offsetBits

  private val pending = RegNext(io.bus.req.fire, false.B)
  private val request = Reg(new RegReq(12))
  when(io.bus.req.valid) { request := io.bus.req.bits }
  io.bus.req.ready := true.B

  private val addr                      = request.addr
  private val data                      = request.wdata
  private def reads(n: Int): Bool       = pending && !request.write && addr === n.U
  private def writes(n: Int): Bool      = pending && request.write && addr === n.U
  private def writesGroup(n: Int): Bool = pending && request.write && addr(11, 5) === (n >> 5).U

  // ---- Control --------------------------------------------------------------------------------------------------------------
  private val run   = RegInit(false.B)
  private val entry = RegInit(0.U(32.W))
  private val clear = RegInit(false.B)
  when(writes(CoreRegs.Ctrl.offset)) { run := data(CoreRegs.Ctrl.Run.lsb) }
  when(writes(CoreRegs.Entry.offset)) { entry := data }

  // While stopped, or in the write that stops; the pipeline has let go when the pulse comes.
  private val clears =
    writes(CoreRegs.Ctrl.offset) && data(CoreRegs.Ctrl.Clear.lsb) && !(run && data(CoreRegs.Ctrl.Run.lsb))

  private val partition = RegInit({
    val p = Wire(new StreamPartition(bytes))
    p.sLog2    := 0.U
    p.pageLog2 := 0.U
    p.ringMask := (bytes - 1).U
    p.pageMask := 0.U
    p.pages    := 0.U
    p
  })
  private val partitions = writes(CoreRegs.Partition.offset) && !run
  when(partitions) {
    val sLog2    = data(CoreRegs.Partition.SLog2.lsb + 1, CoreRegs.Partition.SLog2.lsb)
    val asked    = data(CoreRegs.Partition.PageLog2.lsb + 4, CoreRegs.Partition.PageLog2.lsb)
    val ringLog2 = offsetBits.U(5.W) - sLog2
    // An illegal page size becomes the nearest legal one.
    val pageLog2 = Mux(asked < 9.U, 9.U, Mux(asked > ringLog2, ringLog2, asked))
    partition.sLog2    := sLog2
    partition.pageLog2 := pageLog2
    partition.ringMask := (bytes - 1).U >> sLog2
    partition.pageMask := ((1.U << pageLog2) - 1.U)(offsetBits - 1, 0)
    partition.pages    := (1.U << (ringLog2 - pageLog2)(2, 0))(7, 0)
  }
  clear := clears || partitions

  io.run       := run
  io.entry     := entry
  io.clear     := clear
  io.partition := partition

  // ---- Stream pointers ------------------------------------------------------------------------------------------------------
  private val pointer = Wire(new PointerWrite)
  pointer.stream         := addr(4, 2)
  pointer.value          := data
  io.writeTail.valid     := writesGroup(CoreRegs.Itail.offset)
  io.writeTail.bits      := pointer
  io.writeOutTail.valid  := writesGroup(CoreRegs.Otail.offset)
  io.writeOutTail.bits   := pointer
  io.writeEnd.valid      := writesGroup(CoreRegs.Iend.offset)
  io.writeEnd.bits       := pointer
  io.writeEndValid.valid := writes(CoreRegs.IendValid.offset)
  io.writeEndValid.bits  := data(7, 0)
  // IHEAD .. IEND are five groups of eight from 0x80 on, in the order of StreamPeekIO.
  io.peek.group  := addr(7, 5) ^ 4.U
  io.peek.stream := addr(4, 2)
  private val isPointer = addr(11, 5) >= (CoreRegs.Ihead.offset >> 5).U && addr(11, 5) <= (CoreRegs.Iend.offset >> 5).U

  // ---- Drains ---------------------------------------------------------------------------------------------------------------
  private val drainPos   = RegInit(0.U(32.W))
  private val drainDst   = RegInit(0.U(32.W))
  private val drainDstAt = RegInit(0.U(32.W))
  private val drains     = RegInit(0.U(16.W))
  when(writes(CoreRegs.DrainPos.offset)) { drainPos := data }
  when(writes(CoreRegs.DrainDst.offset)) { drainDst := data }
  when(writes(CoreRegs.DrainDstPos.offset)) { drainDstAt := data }
  when(io.drainDone) { drains := drains + 1.U }
  when(clear) { drains := 0.U }
  private val drainBytes = data(CoreRegs.DrainPush.Len.width - 1, 0)
  io.drain.valid       := writes(CoreRegs.DrainPush.offset) && drainBytes =/= 0.U
  io.drain.bits.stream := data(CoreRegs.DrainPush.StreamId.lsb + 2, CoreRegs.DrainPush.StreamId.lsb)
  io.drain.bits.pos    := Cat(drainPos(31, 3), 0.U(3.W))
  io.drain.bits.bytes  := drainBytes
  private val toCore   = data(CoreRegs.DrainPush.ToCore.lsb)
  private val toStream = drainDst(CoreRegs.DrainDst.Stream.lsb)
  private val offset   = drainDst(CoreRegs.DrainDst.Offset.width - 1, 3)
  io.drain.bits.toCore   := toCore
  io.drain.bits.core     := drainDst(CoreRegs.DrainDst.Core.lsb + 3, CoreRegs.DrainDst.Core.lsb)
  io.drain.bits.toStream := toStream
  io.drain.bits.toId     := drainDst(CoreRegs.DrainDst.StreamId.lsb + 2, CoreRegs.DrainDst.StreamId.lsb)
  io.drain.bits.addr := Mux(
    toCore,
    Cat(Mux(toStream, drainDstAt(31, 3), offset), 0.U(3.W)),
    Cat(drainDst(31, 6), 0.U(6.W))
  )
  io.cover.valid       := io.drain.fire
  io.cover.bits.stream := io.drain.bits.stream
  io.cover.bits.bytes  := drainBytes

  // ---- Events ---------------------------------------------------------------------------------------------------------------
  private val stopped    = RegInit(false.B)
  private val drained    = RegInit(false.B)
  private val enable     = RegInit(CoreRegs.EventEnable.reset.U(3.W))
  private val isRunning  = io.status.state === assasin.contract.CoreState.Running.U
  private val wasRunning = RegNext(isRunning, false.B)
  when(writes(CoreRegs.Event.offset)) {
    when(data(CoreRegs.Event.Stopped.lsb)) { stopped := false.B }
    when(data(CoreRegs.Event.Drained.lsb)) { drained := false.B }
  }
  when(wasRunning && !isRunning && run) { stopped := true.B }
  when(io.drainDone) { drained := true.B }
  when(writes(CoreRegs.EventEnable.offset)) { enable := data(2, 0) }
  private val events = Cat(io.outReady.orR, drained, stopped)
  io.event := RegNext((events & enable).orR, false.B)

  // ---- Counters -------------------------------------------------------------------------------------------------------------
  private val ofVector = io.vector.toSeq.flatMap(_.counters).map { case (offset, n) =>
    offset -> (n & Fill(n.getWidth, isRunning))
  }
  private val ofCore = Seq[(Int, UInt)](
    CoreRegs.CyclesLo.offset        -> isRunning,
    CoreRegs.InstretLo.offset       -> io.status.retire,
    CoreRegs.WaitInCyclesLo.offset  -> io.status.waitIn,
    CoreRegs.WaitOutCyclesLo.offset -> io.status.waitOut,
    CoreRegs.WaitMemCyclesLo.offset -> io.counts.waitMem,
    CoreRegs.L1MissesLo.offset      -> io.counts.l1Miss,
    CoreRegs.L2MissesLo.offset      -> io.counts.l2Miss,
    CoreRegs.PrefetchesLo.offset    -> io.counts.prefetched
  )
  private val counted = (ofCore ++ ofVector).flatMap { case (offset, increment) =>
    val counter = Module(new WideCounter(increment.getWidth))
    counter.io.clear     := clear
    counter.io.increment := increment
    counter.io.takeLow   := reads(offset)
    Seq(offset           -> counter.io.low, offset + 4 -> counter.io.high)
  }

  // ---- Reads ----------------------------------------------------------------------------------------------------------------
  private val status = Cat(
    io.halted,
    io.status.cause,
    io.status.waitStream & VecInit.fill(3)(io.status.waitIn || io.status.waitOut).asUInt,
    io.status.waitOut,
    io.status.waitIn,
    io.status.state
  )
  private val table = Seq(
    CoreRegs.Ctrl.offset        -> run.asUInt,
    CoreRegs.Entry.offset       -> entry,
    CoreRegs.Status.offset      -> status,
    CoreRegs.Pc.offset          -> io.status.pc,
    CoreRegs.Tval.offset        -> io.status.tval,
    CoreRegs.ExitCode.offset    -> io.status.exitCode,
    CoreRegs.Event.offset       -> events,
    CoreRegs.EventEnable.offset -> enable,
    CoreRegs.Partition.offset   -> Cat(partition.pageLog2, 0.U(2.W), partition.sLog2),
    CoreRegs.OutReady.offset    -> io.outReady,
    CoreRegs.DrainPos.offset    -> drainPos,
    CoreRegs.DrainDst.offset    -> drainDst,
    CoreRegs.DrainDstPos.offset -> drainDstAt,
    CoreRegs.DrainState.offset  -> Cat(drains, 0.U(12.W), io.drainSpace),
    CoreRegs.IendValid.offset   -> io.endValid
  ) ++ counted
  private val plain = MuxLookup(addr, 0.U(32.W))(table.map { case (n, v) => n.U -> v })
  io.bus.resp.valid := pending
  io.bus.resp.bits  := Mux(isPointer, io.peek.data, plain)
}
