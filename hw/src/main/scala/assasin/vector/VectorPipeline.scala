// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Arbiter, Cat, Fill, Mux1H, PriorityEncoderOH, PriorityMux, Queue, UIntToOH, Valid}

class VectorPipelineIO(p: VectorParams) extends VectorUnitIO(p) {

  /** An instruction is in the commit stage. */
  val held = Output(Bool())

  /** Without a request, an answer of memory or other pointers of streams no register changes. The last results may
    * still come out of stages that nobody waits for.
    */
  val quiet = Output(Bool())
}

/** All of [[VectorUnit]] that its clock gate stops: commit stage, queues, paths and registers. */
class VectorPipeline(p: VectorParams) extends Module {
  val io = IO(new VectorPipelineIO(p))

  private val clear   = io.issue.clear
  private val gate    = Module(new CommitGate(p))
  private val file    = Module(new RegisterFile(p))
  private val execute = Module(new ExecutePath(p))
  private val load    = Module(new LoadPath(p))
  private val store   = Module(new StorePath(p))
  private val unpack  = if (p.pup) Some(Module(new UnpackPath(p))) else None
  private val pack    = if (p.pup) Some(Module(new PackPath(p))) else None
  private val depths =
    Seq(p.executeQueue, p.loadQueue, p.storeQueue) ++ (if (p.pup) Seq(p.unpackQueue, p.packQueue) else Nil)
  private val queues = depths.zipWithIndex.map { case (depth, path) =>
    // The unpack path of VarVE-full keeps instructions that are under way.
    val keeps = p.full && path == VectorPath.Unpack
    Module(new IssueQueue(p, if (keeps) 2 * depth else depth, path, keeps))
  }
  private val hazards = Module(new HazardMatrix(p, queues.map(_.io.entries.size)))
  private val paths   = Seq(execute.io, load.io, store.io) ++ unpack.map(_.io) ++ pack.map(_.io)

  // Commit: a tag, and the dispatch register.
  private val tag     = RegInit(0.U(p.tagBits.W))
  private val slots   = 1 << (p.tagBits - 1)
  private val active  = RegInit(0.U(slots.W))
  private val waits   = RegInit(false.B)
  private val waiting = Reg(new VectorOp(p))
  // The registers that it reads and writes; those of the one that leaves the commit stage.
  private val registers    = Reg(new RegisterUse)
  private val newRegisters = gate.io.dispatch.bits.registers
  private val taken = VecInit(queues.zipWithIndex.map { case (queue, path) =>
    queue.io.in.ready && waiting.path === path.U
  }).asUInt.orR
  private val slotOf                 = (t: UInt) => UIntToOH(t(p.tagBits - 2, 0), slots)
  private val freed                  = paths.map(path => Mux(path.end.valid, slotOf(path.end.bits), 0.U)).reduce(_ | _)
  private val enters                 = gate.io.dispatch.fire && !gate.io.empty
  private val busyPaths              = paths.map(_.busy).reduce(_ || _)
  private val queued                 = queues.map(_.io.entries.map(_.valid).reduce(_ || _))
  private def under(path: Int): Bool = queued(path) || (waits && waiting.path === path.U)
  private val loads                  = under(VectorPath.Load) || load.io.busy
  private val stores                 = under(VectorPath.Store) || store.io.busy
  // Instructions still use streams, or results of ended streams wait for the core.
  private val streaming = WireDefault(false.B)
  // A VRCNUM that has left the commit stage has not moved its streams.
  private val pending  = WireDefault(false.B)
  private val underway = waits || queued.reduce(_ || _) || busyPaths || streaming || pending
  private val window   = Module(new VectorWindow(p))
  private val busy     = underway || window.io.working

  // The commit stage awaits an answer of memory.
  private val looking = WireDefault(false.B)

  gate.io.offer   := io.issue.offer
  gate.io.advance := io.issue.advance
  gate.io.commit <> io.issue.commit
  gate.io.clear          := clear
  gate.io.idle           := !busy
  gate.io.dispatch.ready := (!waits || taken) && (active & slotOf(tag)) === 0.U && !window.io.working
  gate.io.carefulEnd     := Mux(load.io.carefulEnd.valid, load.io.carefulEnd, store.io.carefulEnd)
  when(enters) {
    waiting     := gate.io.dispatch.bits
    registers   := newRegisters
    waiting.tag := tag
    tag         := tag + 1.U
  }
  waits  := !clear && (enters || (waits && !taken))
  active := Mux(clear, 0.U, (active & ~freed) | Mux(enters, slotOf(tag), 0.U))

  // Queues and paths.
  for (((queue, path), number) <- queues.zip(paths).zipWithIndex) {
    queue.io.in.valid    := waits && waiting.path === number.U
    queue.io.in.bits     := waiting
    queue.io.clear       := clear
    queue.io.inRegisters := registers
    path.op <> queue.io.out
    path.registers               := queue.io.outRegisters
    path.clear                   := clear
    path.v0                      := file.io.v0
    hazards.io.sequenced(number) := path.use
    for ((entry, seen) <- queue.io.entries.zip(hazards.io.queued(number))) {
      seen.valid          := entry.valid
      seen.bits.tag       := entry.bits.tag
      seen.bits.registers := entry.bits.registers
      seen.bits.kept      := entry.bits.kept
    }
  }
  private val unpacked =
    unpack.fold(0.U(p.egs.W))(path => path.io.strip.fold(path.io.landing)(path.io.landing | _.fresh))
  private val loaded           = load.io.landing | unpacked
  private val lasting          = load.io.lasting | unpack.fold(0.U(p.egs.W))(_.io.lasting)
  private def masks(path: Int) = hazards.io.masks(HazardMatrix.masking(p).indexOf(path))
  private def look(from: LookingPathIO, path: Int, landing: UInt): Unit = {
    val hazard = hazards.io.looks(HazardMatrix.looking(p).indexOf(path))
    hazard.eg           := from.older.eg
    from.older.reads    := hazard.reads
    from.older.writes   := hazard.writes || landing(from.older.eg)
    from.older.writesV0 := hazard.writesV0 || landing(p.egsPerRegister - 1, 0).orR
  }
  execute.io.olderReads  := masks(VectorPath.Execute).reads
  execute.io.olderWrites := masks(VectorPath.Execute).writes | lasting
  look(load.io, VectorPath.Load, execute.io.landing | unpacked)
  look(store.io, VectorPath.Store, execute.io.landing | loaded)
  for (path <- unpack) {
    path.io.olderReads  := masks(VectorPath.Unpack).reads
    path.io.olderWrites := masks(VectorPath.Unpack).writes | execute.io.landing | load.io.landing
  }
  for (path <- pack) look(path.io, VectorPath.Pack, execute.io.landing | loaded)

  // Between programs the registers become 0, one element group a cycle. The paths write no more then.
  private val erasing   = RegNext(clear && io.issue.erase, false.B)
  private val eraseNext = RegInit(0.U((p.egBits + 1).W))
  private val erased    = eraseNext(p.egBits)
  when(!erasing) { eraseNext := 0.U }.elsewhen(!erased) { eraseNext := eraseNext + 1.U }
  io.issue.erased := erasing && erased

  // Nothing is under way, and what the commit stage holds waits for a stream.
  private val erases = Mux(erasing, !clear || !erased, clear || eraseNext =/= 0.U)
  io.held  := gate.io.held
  io.quiet := !busy && !looking && !erases && (!gate.io.held || io.issue.commit.waits.valid)

  // Registers: arithmetic writes when it has to, loads and unpacks otherwise.
  file.io.operands <> execute.io.operands
  window.io.request <> io.issue.window
  window.io.idle        := !underway && !looking && !clear
  window.io.clear       := clear
  window.io.other       := 0.U
  io.issue.windowAnswer := window.io.answer

  // The window is idle while anything is under way, and an access with indices is alone.
  private val readers = Seq(store.io.read, load.io.read, window.io.read)
  for (reader <- readers) {
    reader.data    := file.io.element.data
    reader.element := file.io.element.element
  }
  private def chosen[T <: Data](of: ElementReadIO => T): T =
    Mux(window.io.reading, of(readers(2)), Mux(load.io.reading, of(readers(1)), of(readers(0))))
  file.io.element.eg   := chosen(_.eg)
  file.io.element.byte := chosen(_.byte)

  // A register that is unpacked goes before one that is loaded if an operation counts on it.
  private val claimed = unpack.fold(false.B)(_.io.claimed)
  private val writers = Seq[(Bool, RegisterWrite, UInt)](
    (execute.io.write.valid, execute.io.write.bits, execute.io.writeTag),
    (load.io.write.valid && !claimed, load.io.write.bits, load.io.writeTag)
  ) ++ unpack.map(path => (path.io.write.valid, path.io.write.bits, path.io.writeTag))
  load.io.write.ready := !execute.io.write.valid && !claimed
  for (path <- unpack) {
    path.io.write.ready := !execute.io.write.valid && (!load.io.write.valid || claimed)
    path.io.claimable   := !execute.io.writesNext
  }
  file.io.write.valid                       := writers.map(_._1).reduce(_ || _)
  file.io.write.bits                        := PriorityMux(writers.map(w => w._1 -> w._2))
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
    val inTurn = entries.map(e => e.valid && ShortNumbers.before(e.bits.tag, mine.tag) && overlap(e.bits, mine))
    !inTurn.reduce(_ || _) && !(path.pending.valid && overlap(path.pending.bits, mine))
  }
  load.io.ordered  := ordered(load.io.range.bits, store.io, queues(VectorPath.Store))
  store.io.ordered := ordered(store.io.range.bits, load.io, queues(VectorPath.Load))

  // What a tile counts: why the commit stage stands still, or the path that has no room for what it has sent on.
  private val counts    = Wire(new VectorCounts(p))
  private val gateStrip = WireDefault(false.B)
  private val gateReads = WireDefault(gate.io.memory)
  private val behind    = waits && !taken
  private val doing     = Mux1H(paths.zipWithIndex.map { case (path, i) => (waiting.path === i.U) -> path.activity })
  private val waitsFor  = io.issue.commit.waits
  private val reasons = Seq(
    counts.issued     -> (io.issue.commit.valid && io.issue.commit.done),
    counts.waitIssue  -> !gate.io.stuck,
    counts.waitInput  -> (waitsFor.valid && !waitsFor.bits.output),
    counts.waitOutput -> waitsFor.valid,
    counts.waitStrip  -> gateStrip,
    counts.waitMemory -> gateReads,
    counts.waitUnit   -> (!behind || doing.beat),
    counts.waitHazard -> doing.hazard,
    counts.waitStrip  -> doing.strip,
    counts.waitMemory -> doing.memory,
    counts.waitUnit   -> true.B
  )
  private val reason = reasons.map(_._1).zip(PriorityEncoderOH(reasons.map(_._2)))
  for (sink <- reasons.map(_._1).distinct) sink := reason.collect { case (`sink`, holds) => holds }.reduce(_ || _)
  counts.waitResult   := false.B
  counts.strip        := false.B
  counts.taken        := 0.U
  counts.unpackWaits  := unpack.fold(false.B)(u => !u.io.activity.beat && u.io.activity.strip)
  counts.executeWaits := !execute.io.activity.beat && execute.io.activity.hazard
  for ((beat, i) <- counts.beats.zipWithIndex) beat := (if (i < paths.size) paths(i).activity.beat else false.B)

  if (p.pup) connectStreams()
  else {
    load.io.load <> io.memory.load
    load.io.loadAnswer := io.memory.loadAnswer
    store.io.store <> io.memory.store
    store.io.storeDone := io.memory.storeDone
    io.issue.result <> execute.io.result
  }

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

  io.issue.status.busy  := busy || looking
  io.issue.status.vxsat := execute.io.vxsat
  if (!p.pup) {
    io.issue.status.loads  := loads
    io.issue.status.stores := stores
  }

  io.counts.foreach(_ := counts)

  io.trace.foreach { trace =>
    trace.commit.valid      := gate.io.dispatch.fire
    trace.commit.bits.tag   := tag
    trace.commit.bits.empty := gate.io.empty
    trace.write.valid       := writers.map(_._1).reduce(_ || _)
    trace.write.bits.tag    := PriorityMux(writers.map(w => w._1 -> w._3))
    trace.write.bits.write  := PriorityMux(writers.map(w => w._1 -> w._2))
    trace.stops             := false.B
    for ((end, path) <- trace.ends.zip(paths)) end := path.end
  }

  /** Streams of VarVE: the descriptors and the gate, and what their paths share with the others. */
  private def connectStreams(): Unit = {
    val table   = Module(new StreamTable(p))
    val streams = Module(new StreamGate(p))
    val stream  = io.stream.get
    val input   = unpack.get.io
    val output  = pack.get.io

    // Commit stage.
    val packing = table.io.writes || output.storing
    gate.io.streams.get <> streams.io.commit
    streams.io.offer   := io.issue.offer
    streams.io.loads   := loads
    streams.io.stores  := stores
    streams.io.packing := packing
    streams.io.sLog2   := stream.sLog2
    streams.io.clear   := clear
    gateStrip          := streams.io.waitsStrip
    gateReads          := gate.io.memory || streams.io.waitsMemory
    counts.strip       := streams.io.counted
    counts.taken       := streams.io.taken
    streams.io.table <> table.io.look
    streams.io.input <> stream.input
    streams.io.output <> stream.output
    table.io.clear   := clear
    table.io.declare := streams.io.declare
    table.io.advance := streams.io.advance
    table.io.reserve := streams.io.reserve
    table.io.enter   := streams.io.enter
    table.io.close   := streams.io.close
    table.io.raise   := streams.io.raise

    looking                        := streams.io.loading
    io.issue.status.loads          := loads || table.io.reads || looking
    io.issue.status.stores         := stores || packing
    io.issue.status.ownInputs.get  := table.io.ownInputs
    io.issue.status.ownOutputs.get := table.io.ownOutputs

    // Huffman streams.
    val huffman = streams.io.huffman
    val tables  = Module(new HuffmanTables)
    val rows    = Module(new SymbolRows(p))
    val under   = RegInit(0.U(2.W))
    huffman.tables <> tables.io
    rows.io.write := huffman.element
    rows.io.read  := input.rows
    input.row     := rows.io.row
    under         := Mux(clear, 0.U, under + huffman.unpack - input.rowsDone)
    huffman.full  := under === 2.U
    // The gate looks while nothing is under way.
    val look = output.look
    tables.io.look.set    := Mux(busy, look.set, huffman.tables.look.set)
    tables.io.look.symbol := Mux(busy, look.symbol, huffman.tables.look.symbol)
    look.code             := tables.io.look.code
    look.length           := tables.io.look.length

    // Paths.
    stream.read                := Mux(input.read.valid, input.read, streams.io.read)
    streams.io.readGranted     := !input.read.valid
    streams.io.readAnswer      := stream.readAnswer
    input.readAnswer           := stream.readAnswer
    stream.consume             := input.consume
    stream.write               := output.write
    table.io.inputDone(0)      := input.done
    table.io.inputDone(1)      := input.strip.fold(0.U.asTypeOf(Valid(UInt(4.W))))(_.done)
    table.io.outputDone        := output.done
    table.io.write             := output.stream
    output.at                  := table.io.at
    table.io.move              := output.move
    table.io.settle            := output.settle
    table.io.select            := io.issue.window.bits.select
    table.io.windowWrite.valid := io.issue.window.fire && io.issue.window.bits.write && !io.issue.window.bits.nume
    table.io.windowWrite.bits  := io.issue.window.bits.data
    window.io.other            := table.io.word

    // Port D: a pack goes behind the others. The gate reads while nothing is under way.
    output.granted          := !load.io.reading && !store.io.wants
    output.read.data        := file.io.element.data
    streams.io.mask.data    := file.io.element.data
    streams.io.mask.element := file.io.element.element
    streams.io.granted      := !window.io.reading
    when(output.reading && output.granted)(file.io.element.eg := output.read.eg)
      .elsewhen(!busy && !io.issue.window.fire) {
        file.io.element.eg   := streams.io.mask.eg
        file.io.element.byte := streams.io.mask.byte
      }

    // Loads go before unpacks, and these before what the gate looks at; memory answers in order. Who asked is known until
    // the answer has come, also over a clear.
    val askers = Seq(load.io.load, input.load, streams.io.load)
    val first  = PriorityEncoderOH(askers.map(_.valid))
    val owners = Module(new Queue(UInt(askers.size.W), 16))
    val turn   = owners.io.enq.ready
    io.memory.load.valid := askers.map(_.valid).reduce(_ || _) && turn
    io.memory.load.bits  := PriorityMux(askers.map(asker => asker.valid -> asker.bits))
    for ((asker, mine) <- askers.zip(first)) asker.ready := io.memory.load.ready && turn && mine
    owners.io.enq.valid := io.memory.load.fire
    owners.io.enq.bits  := VecInit(first).asUInt
    owners.io.deq.ready := io.memory.loadAnswer.valid

    load.io.loadAnswer.valid := io.memory.loadAnswer.valid && owners.io.deq.bits(0)
    load.io.loadAnswer.bits  := io.memory.loadAnswer.bits(p.dLen - 1, 0)
    for ((answer, i) <- Seq(input.loadAnswer, streams.io.loadAnswer).zipWithIndex) {
      answer.valid := io.memory.loadAnswer.valid && owners.io.deq.bits(i + 1)
      answer.bits  := io.memory.loadAnswer.bits
    }

    // Stores and packs for memory are not under way together.
    io.memory.store.valid := store.io.store.valid || output.store.valid
    io.memory.store.bits  := Mux(store.io.store.valid, store.io.store.bits, output.store.bits)
    store.io.store.ready  := io.memory.store.ready
    output.store.ready    := io.memory.store.ready && !store.io.store.valid
    store.io.storeDone    := io.memory.storeDone && !output.storing
    output.storeDone      := io.memory.storeDone && output.storing

    if (p.full) connectStrips(table, streams)

    // Scalar results.
    val ended = Module(new Queue(new VectorResult(p), 2))
    ended.reset            := reset.asBool || clear
    ended.io.enq.valid     := streams.io.result.valid
    ended.io.enq.bits      := streams.io.result.bits
    streams.io.resultReady := ended.io.enq.ready
    streaming              := table.io.busy || ended.io.deq.valid
    val results = Module(new Arbiter(new VectorResult(p), 3))
    results.io.in(0) <> execute.io.result
    results.io.in(1) <> output.result
    results.io.in(2) <> ended.io.deq
    io.issue.result <> results.io.out
  }

  /** VarVE-full: tags, metadata and NumE. */
  private def connectStrips(table: StreamTable, streams: StreamGate): Unit = {
    val tags     = Module(new RegisterTags(p))
    val strip    = Module(new StripState(p))
    val metadata = Module(new MetadataFile(p))
    val input    = unpack.get.io
    val output   = pack.get.io
    val gateway  = streams.io.strip.get
    val look     = window.io.strip.get

    // Commit stage.
    val op = gate.io.dispatch.bits
    gate.io.variable.get                    := tags.io.variable
    gate.io.packed.get                      := strip.io.packed
    tags.io.op.valid                        := enters
    tags.io.op.bits                         := op
    tags.io.writes                          := newRegisters.writes
    tags.io.clear                           := clear
    strip.io.clear                          := clear
    strip.io.op.valid                       := enters
    strip.io.op.bits                        := op
    strip.io.writes                         := newRegisters.writes
    when(enters)(waiting.variable.get.place := strip.io.place)
    strip.io.counted(0)                     := execute.io.strip.get.counted
    strip.io.counted(1)                     := input.strip.get.counted(0)
    strip.io.counted(2)                     := input.strip.get.counted(1)
    strip.io.closed(0)                      := output.strip.get.closed
    strip.io.closed(1)                      := execute.io.strip.get.closed
    strip.io.renew                          := gateway.renew
    strip.io.early                          := gateway.early
    strip.io.taken                          := gateway.taken

    // Instructions that give bytes of a stream buffer back themselves, as they read: a VRCNUM goes behind them.
    val isGiving = enters && op.path === VectorPath.Unpack.U && op.use.get.buffer && !op.isVariable
    val gives    = RegInit(0.U(p.tagBits.W))
    gives := Mux(clear, 0.U, gives + isGiving - input.gave)

    gateway.variable         := tags.io.next
    gateway.packed           := strip.io.next
    gateway.numE             := strip.io.numE
    gateway.settled          := strip.io.settled && gives === 0.U
    gateway.mayLeave         := strip.io.mayLeave && gives === 0.U
    gateway.resolved         := strip.io.resolved
    gateway.pending          := strip.io.pending
    gateway.ahead            := strip.io.ahead
    pending                  := strip.io.pending
    input.strip.get.oldest   := strip.io.oldest
    input.strip.get.resolves := gateway.taken
    queues(VectorPath.Unpack).io.kept.get <> input.strip.get.kept
    hazards.io.writtenTag.get := input.strip.get.next.tag
    hazards.io.written.get.eg := input.strip.get.next.eg
    input.strip.get.free := {
      val landing = execute.io.landing | load.io.landing
      !(hazards.io.written.get.reads || hazards.io.written.get.writes || landing(input.strip.get.next.eg))
    }
    input.strip.get.numEs := strip.io.numEs
    gateway.renumber      := strip.io.write.valid
    gateway.table <> table.io.strip.get

    // IHEAD: what unpacks of pup give back goes first.
    val moved = table.io.consume.get
    moved.ready := !input.consume.valid
    when(!input.consume.valid) {
      io.stream.get.consume.valid := moved.valid
      io.stream.get.consume.bits  := moved.bits
    }

    // Metadata. The gate looks while nothing is under way.
    metadata.io.clear := clear
    for (i <- 0 until 2) metadata.io.reads(i) <> execute.io.strip.get.reads(i)
    metadata.io.reads(2).register := Mux(
      window.io.working,
      look.register,
      Mux(output.busy, output.register, gateway.register)
    )
    metadata.io.reads(3).register := Mux(input.strip.get.reading, input.strip.get.read.eg, gateway.mask)
    output.strip.get.metadata     := metadata.io.reads(2).metadata
    gateway.values <> output.strip.get.values
    output.strip.get.numEs := strip.io.numEs
    // Who packs or adds up goes by the NumE that those before it leave: a pack waits for older sums, a sum until older
    // packs have read their registers.
    def older(other: UInt, than: UInt): Bool = ShortNumbers.before(other, than)
    val adds                                 = execute.io.strip.get
    val sumsBefore = queues(VectorPath.Execute).io.entries.map { entry =>
      entry.valid && entry.bits.isSum && older(entry.bits.tag, output.use.bits.tag)
    } :+ (adds.sums && older(execute.io.use.bits.tag, output.use.bits.tag)) :+ adds.closed.valid
    val packsBefore = queues(VectorPath.Pack).io.entries.map { entry =>
      entry.valid && older(entry.bits.tag, execute.io.use.bits.tag)
    } :+ (output.use.valid && output.use.bits.reads =/= 0.U && older(output.use.bits.tag, execute.io.use.bits.tag))
    output.strip.get.known := VecInit(strip.io.known.map(_ && !sumsBefore.reduce(_ || _)))
    adds.known             := VecInit(strip.io.known.map(_ && !packsBefore.reduce(_ || _)))
    adds.numEs             := strip.io.numEs
    gateway.yielded        := metadata.io.reads(2).metadata.count
    gateway.length         := metadata.io.reads(3).metadata.count
    input.strip.get.length := metadata.io.reads(3).metadata.count

    val unpacks = input.strip.get.metadata.valid && input.write.fire
    metadata.io.write.valid         := execute.io.strip.get.metadata.valid || unpacks
    metadata.io.write.bits.register := Mux(unpacks, input.write.bits.eg, execute.io.strip.get.metadata.bits.register)
    metadata.io.write.bits.metadata := Mux(
      unpacks,
      input.strip.get.metadata.bits,
      execute.io.strip.get.metadata.bits.metadata
    )
    // A load, or an unpack of pup, leaves a register of fixed width.
    val fixed =
      file.io.write.valid && file.io.write.bits.mask.orR && !execute.io.write.valid && !unpacks && !window.io.write.valid
    metadata.io.length.valid         := execute.io.strip.get.length.valid || fixed
    metadata.io.length.bits.register := Mux(fixed, file.io.write.bits.eg, execute.io.strip.get.length.bits.register)
    metadata.io.length.bits.count    := Mux(fixed, p.elements.U, execute.io.strip.get.length.bits.count)

    // The window, while nothing is under way.
    look.variable := tags.io.variable
    look.metadata := metadata.io.reads(2).metadata
    when(look.change.valid) {
      metadata.io.write.valid         := true.B
      metadata.io.write.bits.register := look.register
      metadata.io.write.bits.metadata := look.change.bits
    }

    for (trace <- io.trace) {
      trace.metadata.get := metadata.io.write
      trace.widths.get   := Cat(metadata.io.write.bits.metadata.widths.reverse.map(_.pad(8)))
      trace.length.get   := metadata.io.length
    }

    // Masks that are not written yet.
    input.strip.get.forwards := execute.io.strip.get.forwards
    input.strip.get.blocked  := masks(VectorPath.Unpack).writes | adds.unforwarded | load.io.landing

    // Port D, behind a pack.
    input.strip.get.read.data                                                   := file.io.element.data
    input.strip.get.granted                                                     := output.granted && !output.reading
    when(input.strip.get.reading && input.strip.get.granted)(file.io.element.eg := input.strip.get.read.eg)

    tags.io.write        := look.tag
    tags.io.named        := io.issue.window.bits.select(4, 0)
    strip.io.altered     := io.issue.window.fire && io.issue.window.bits.write
    strip.io.write.valid := io.issue.window.fire && io.issue.window.bits.nume && io.issue.window.bits.write
    strip.io.write.bits  := io.issue.window.bits.data
    when(io.issue.window.bits.nume)(window.io.other := strip.io.packed ## 0.U(15.W) ## strip.io.numE.pad(16))
  }
}
