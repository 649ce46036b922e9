// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Fill, UIntToOH, Valid}

class VectorUnitIO(p: VectorParams) extends Bundle {
  val issue  = new VectorIssueIO(p)
  val memory = new VectorMemoryIO(p)
  val stream = if (p.pup) Some(new VectorStreamIO(p)) else None
  val trace  = if (p.trace) Some(Output(new VectorTraceIO(p))) else None
}

/** The vector unit (docs/varve/unit.md): integer vectors of fixed width behind a core's commit point. */
class VectorUnit(p: VectorParams) extends Module {
  val io = IO(new VectorUnitIO(p))

  private val clear   = io.issue.clear
  private val gate    = Module(new CommitGate(p))
  private val file    = Module(new RegisterFile(p))
  private val execute = Module(new ExecutePath(p))
  private val load    = Module(new LoadPath(p))
  private val store   = Module(new StorePath(p))
  private val depths  = Seq(p.executeQueue, p.loadQueue, p.storeQueue)
  private val queues  = depths.map(depth => Module(new IssueQueue(p, depth)))
  private val hazards = Module(new HazardMatrix(p, depths))
  private val paths   = Seq(execute.io, load.io, store.io)

  // Commit: a tag, and the dispatch register.
  private val tag     = RegInit(0.U(p.tagBits.W))
  private val slots   = 1 << (p.tagBits - 1)
  private val active  = RegInit(0.U(slots.W))
  private val waits   = RegInit(false.B)
  private val waiting = Reg(new VectorOp(p))
  private val taken = VecInit(queues.zipWithIndex.map { case (queue, path) =>
    queue.io.in.ready && waiting.path === path.U
  }).asUInt.orR
  private val slotOf    = (t: UInt) => UIntToOH(t(p.tagBits - 2, 0), slots)
  private val freed     = paths.map(path => Mux(path.end.valid, slotOf(path.end.bits), 0.U)).reduce(_ | _)
  private val enters    = gate.io.dispatch.fire && !gate.io.empty
  private val busyPaths = paths.map(_.busy).reduce(_ || _)
  private val queued    = queues.map(_.io.entries(0).valid)
  private val busy      = waits || queued.reduce(_ || _) || busyPaths

  gate.io.offer   := io.issue.offer
  gate.io.advance := io.issue.advance
  gate.io.commit <> io.issue.commit
  gate.io.clear          := clear
  gate.io.idle           := !busy
  gate.io.dispatch.ready := (!waits || taken) && (active & slotOf(tag)) === 0.U
  gate.io.carefulEnd     := Mux(load.io.carefulEnd.valid, load.io.carefulEnd, store.io.carefulEnd)
  when(enters) {
    waiting     := gate.io.dispatch.bits
    waiting.tag := tag
    tag         := tag + 1.U
  }
  waits  := !clear && (enters || (waits && !taken))
  active := Mux(clear, 0.U, (active & ~freed) | Mux(enters, slotOf(tag), 0.U))

  // Queues and paths.
  for (((queue, path), number) <- queues.zip(paths).zipWithIndex) {
    queue.io.in.valid := waits && waiting.path === number.U
    queue.io.in.bits  := waiting
    queue.io.clear    := clear
    path.op <> queue.io.out
    path.clear                   := clear
    path.v0                      := file.io.v0
    path.olderReads              := hazards.io.olderReads(number)
    hazards.io.sequenced(number) := path.use
    for ((entry, seen) <- queue.io.entries.zip(hazards.io.queued(number))) {
      seen.valid       := entry.valid
      seen.bits.tag    := entry.bits.tag
      seen.bits.reads  := entry.bits.readRegisters
      seen.bits.writes := entry.bits.writeRegisters
    }
  }
  execute.io.olderWrites := hazards.io.olderWrites(VectorPath.Execute) | load.io.landing
  load.io.olderWrites    := hazards.io.olderWrites(VectorPath.Load) | execute.io.landing
  store.io.olderWrites   := hazards.io.olderWrites(VectorPath.Store) | execute.io.landing | load.io.landing

  // Between programs the registers become 0, one element group a cycle. The paths write no more then.
  private val erasing   = RegNext(clear && io.issue.erase, false.B)
  private val eraseNext = RegInit(0.U((p.egBits + 1).W))
  private val erased    = eraseNext(p.egBits)
  when(!erasing) { eraseNext := 0.U }.elsewhen(!erased) { eraseNext := eraseNext + 1.U }
  io.issue.erased := erasing && erased

  // Registers: arithmetic writes when it has to, loads otherwise.
  file.io.operands <> execute.io.operands
  private val window = Module(new VectorWindow(p))
  window.io.request <> io.issue.window
  window.io.idle        := !busy && !clear
  io.issue.windowAnswer := window.io.answer

  // The window is idle while anything is under way, and an access with indices is alone.
  private val readers = Seq(store.io.read, load.io.read, window.io.read)
  for (reader <- readers) {
    reader.data    := file.io.element.data
    reader.element := file.io.element.element
  }
  private def chosen[T <: Data](of: ElementReadIO => T): T =
    Mux(io.issue.window.fire, of(readers(2)), Mux(load.io.reading, of(readers(1)), of(readers(0))))
  file.io.element.eg                        := chosen(_.eg)
  file.io.element.byte                      := chosen(_.byte)
  load.io.write.ready                       := !execute.io.write.valid
  file.io.write.valid                       := execute.io.write.valid || load.io.write.valid
  file.io.write.bits                        := Mux(execute.io.write.valid, execute.io.write.bits, load.io.write.bits)
  when(window.io.write.valid)(file.io.write := window.io.write)
  when(erasing) {
    file.io.write.valid     := !erased
    file.io.write.bits.eg   := eraseNext(p.egBits - 1, 0)
    file.io.write.bits.data := 0.U
    file.io.write.bits.mask := Fill(p.dBytes, 1.U(1.W))
  }

  // Memory: program order of what overlaps (docs/varve/unit.md 3.8).
  private def overlap(a: AccessRange, b: AccessRange): Bool = a.first <= b.last && b.first <= a.last
  private def ordered(mine: AccessRange, path: MemoryPathIO, queue: IssueQueue): Bool = {
    val entries = queue.io.entries.map { entry =>
      val range = Wire(Valid(new AccessRange(p)))
      range.valid      := entry.valid
      range.bits.tag   := entry.bits.tag
      range.bits.first := entry.bits.first
      range.bits.last  := entry.bits.last
      range
    } :+ path.range
    val inTurn = entries.map(e => e.valid && (e.bits.tag - mine.tag)(p.tagBits - 1) && overlap(e.bits, mine))
    !inTurn.reduce(_ || _) && !(path.pending.valid && overlap(path.pending.bits, mine))
  }
  load.io.ordered  := ordered(load.io.range.bits, store.io, queues(VectorPath.Store))
  store.io.ordered := ordered(store.io.range.bits, load.io, queues(VectorPath.Load))

  load.io.load <> io.memory.load
  load.io.loadAnswer.valid := io.memory.loadAnswer.valid
  load.io.loadAnswer.bits  := io.memory.loadAnswer.bits(p.dLen - 1, 0)
  store.io.store <> io.memory.store
  store.io.storeDone := io.memory.storeDone

  // A careful access is alone, and the gate does not ask while it is under way.
  private val asking = Seq(load.io.check, store.io.check)
  io.memory.check.valid := gate.io.check.valid || asking.map(_.valid).reduce(_ || _)
  for (signal <- 0 to 2) {
    def of(check: VectorCheckIO): Data = Seq(check.write, check.first, check.last)(signal)
    of(io.memory.check) := Mux(asking(0).valid, of(asking(0)), Mux(asking(1).valid, of(asking(1)), of(gate.io.check)))
  }
  for (check <- gate.io.check +: asking) {
    check.ok    := io.memory.check.ok
    check.hold  := io.memory.check.hold
    check.cause := io.memory.check.cause
  }

  io.issue.result <> execute.io.result
  io.issue.status.busy   := busy
  io.issue.status.loads  := queued(VectorPath.Load) || load.io.busy || (waits && waiting.path === VectorPath.Load.U)
  io.issue.status.stores := queued(VectorPath.Store) || store.io.busy || (waits && waiting.path === VectorPath.Store.U)
  io.issue.status.vxsat  := execute.io.vxsat
  io.issue.status.ownInputs.foreach(_ := 0.U)
  io.issue.status.ownOutputs.foreach(_ := 0.U)
  for (stream <- io.stream) {
    stream.input.stream  := 0.U
    stream.output.stream := 0.U
    stream.read          := 0.U.asTypeOf(stream.read)
    stream.consume       := 0.U.asTypeOf(stream.consume)
    stream.write         := 0.U.asTypeOf(stream.write)
  }

  io.trace.foreach { trace =>
    trace.commit.valid      := gate.io.dispatch.fire
    trace.commit.bits.tag   := tag
    trace.commit.bits.empty := gate.io.empty
    trace.write.valid       := execute.io.write.valid || load.io.write.fire
    trace.write.bits.tag    := Mux(execute.io.write.valid, execute.io.writeTag, load.io.writeTag)
    trace.write.bits.write  := file.io.write.bits
    for ((end, path) <- trace.ends.zip(paths)) end := path.end
  }
}
