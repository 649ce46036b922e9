// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Cat, MuxLookup, log2Ceil}

import assasin.contract.{AddressMap, CoreState}
import assasin.stream.OutputDrain
import assasin.vector.VectorUnit
import assasin.xbar.XbarBeat

/** One ASSASIN core: pipeline, instruction memory, data memories as `p.soc.arch` wants them, drain and register block.
  */
class StreamCore(val p: StreamCoreParams) extends Module {
  val io = IO(new StreamCoreIO(p))

  private val arch = p.soc.arch

  private val core   = Module(new Core(p.core))
  private val regs   = Module(new StreamCoreRegs(p.soc.streamBytes, p.core.vector.filter(_.counters)))
  private val imem   = Module(new DualBankRam(p.soc.imemBytes, granuleBits = 32))
  private val drain  = Module(new OutputDrain(p.dramDst, p.soc.tiles))
  private val vector = p.core.vector.map(v => Module(new VectorUnit(v)))
  private val memory: TileMemory =
    if (arch.streamInstructions) Module(new StreamMemory(p))
    else if (arch.scratchpad) Module(new WindowMemory(p))
    else Module(new CachedMemory(p))

  // ---- Run: with caches, not before they are ready ----------------------------------------------------------------------------
  private val run =
    if (arch.dataCache) {
      val started = RegInit(false.B)
      when(!regs.io.run) { started := false.B }.elsewhen(memory.io.ready) { started := true.B }
      memory.io.start := regs.io.run && !started
      regs.io.run && started
    } else {
      memory.io.start := false.B
      regs.io.run
    }
  core.io.hartId     := io.hartId
  core.io.run        := run
  core.io.entry      := regs.io.entry
  core.io.irqPending := false.B

  regs.io.bus <> io.regs
  regs.io.status := core.io.status
  regs.io.halted := core.io.debug.halted
  when(regs.io.run && !run) { regs.io.status.state := CoreState.Running.U }
  io.event := regs.io.event
  core.io.debug <> io.debug
  io.status := regs.io.status
  io.running := regs.io.status.state === CoreState.Running.U && !core.io.debug.halted || drain.io.busy ||
    memory.io.busy || vector.fold(false.B)(_.io.issue.status.busy)
  if (p.soc.trace) io.trace.get := core.io.trace.get

  // ---- Packets from the crossbar, one cycle later at the memories -----------------------------------------------------------
  private val beatIndex = RegInit(0.U(3.W))
  private val beatBytes = Cat(beatIndex, 0.U(3.W))
  private val arrived   = RegInit(false.B)
  private val beat      = Reg(new XbarBeat)
  private val valid     = Reg(UInt(4.W)) // bytes
  when(io.in.ready) { arrived := io.in.valid }
  when(io.in.fire) {
    beatIndex := Mux(io.in.bits.last, 0.U, beatIndex + 1.U)
    beat      := io.in.bits
    beat.addr := io.in.bits.addr + beatBytes
    // Bytes of the packet from this beat on; the last beat may be partial.
    val rest = io.in.bits.bytes - beatBytes
    valid := Mux(rest >= 8.U, 8.U, rest(3, 0))
  }

  private def inWindow(base: BigInt, size: BigInt): Bool =
    !beat.toStream && beat.addr(17, log2Ceil(size)) === (base >> log2Ceil(size)).U
  private val toSpad = inWindow(AddressMap.XbSpad.base, AddressMap.XbSpad.size)
  private val toImem = inWindow(AddressMap.XbImem.base, AddressMap.XbImem.size)
  private val toRaw  = inWindow(AddressMap.XbIsb.base, AddressMap.XbIsb.size)

  memory.io.beat.valid         := arrived && (beat.toStream || toRaw || toSpad)
  memory.io.beat.bits.addr     := beat.addr
  memory.io.beat.bits.toStream := beat.toStream
  memory.io.beat.bits.stream   := beat.stream
  memory.io.beat.bits.data     := beat.data
  memory.io.beat.bits.bytes    := valid
  memory.io.beat.bits.last     := beat.last
  memory.io.beat.bits.mark     := beat.mark
  memory.io.beat.bits.toSpad   := toSpad
  io.in.ready                  := !memory.io.beat.valid || memory.io.beat.ready

  // ---- Instruction memory ---------------------------------------------------------------------------------------------------
  private val fetchRow = core.io.imem.addr(log2Ceil(p.soc.imemBytes) - 1, 3)
  private val fetchOdd = RegNext(core.io.imem.addr(2))
  private val loadImem = beat.addr(log2Ceil(p.soc.imemBytes) - 1, 3)
  imem.io.read.evenRow  := fetchRow
  imem.io.read.oddRow   := fetchRow
  core.io.imem.data     := Mux(fetchOdd, imem.io.read.odd, imem.io.read.even)
  imem.io.writeEn       := arrived && toImem && !regs.io.run
  imem.io.write.evenRow := loadImem
  imem.io.write.oddRow  := loadImem
  imem.io.write.data    := beat.data
  imem.io.write.mask    := memory.io.beat.bits.mask

  // ---- Data memories and streams ----------------------------------------------------------------------------------------------
  memory.io.hartId    := io.hartId(3, 0)
  memory.io.partition := regs.io.partition
  memory.io.run       := regs.io.run
  memory.io.pc        := core.io.status.pc
  memory.io.dmem <> core.io.dmem
  memory.io.stream.foreach(_ <> core.io.stream.get)
  memory.io.soft.foreach(_ <> core.io.pointers.get)
  memory.io.dram.foreach(io.dram.get <> _)
  for ((unit, port) <- vector.zip(core.io.vector)) {
    port <> unit.io.issue
    memory.io.vector.get <> unit.io.memory
    for ((streams, ports) <- memory.io.vectorStreams.zip(unit.io.stream)) streams <> ports
  }
  regs.io.counts := memory.io.counts
  for ((sink, counts) <- regs.io.vector.zip(vector.flatMap(_.io.counts))) {
    sink            := counts
    sink.waitIssue  := counts.waitIssue && !core.io.waitResult.get
    sink.waitResult := counts.waitIssue && core.io.waitResult.get
  }

  private val pointers = memory.io.pointers
  pointers.clear         := regs.io.clear
  pointers.writeTail     := regs.io.writeTail
  pointers.writeOutTail  := regs.io.writeOutTail
  pointers.writeEnd      := regs.io.writeEnd
  pointers.writeEndValid := regs.io.writeEndValid
  pointers.cover         := regs.io.cover
  regs.io.endValid       := pointers.endValid
  regs.io.outReady       := pointers.outReady
  io.room                := pointers.room

  pointers.inPeek.stream  := regs.io.peek.stream
  pointers.outPeek.stream := regs.io.peek.stream
  regs.io.peek.data := MuxLookup(regs.io.peek.group, pointers.inPeek.end)(
    Seq(
      0.U -> pointers.inPeek.head,
      1.U -> pointers.inPeek.tail,
      2.U -> pointers.outPeek.head,
      3.U -> pointers.outPeek.tail
    )
  )

  // ---- Drain ----------------------------------------------------------------------------------------------------------------
  drain.io.job <> regs.io.drain
  drain.io.cancel := regs.io.clear
  drain.io.read <> memory.io.drain
  pointers.free <> drain.io.done
  io.out <> drain.io.out
  memory.io.draining := drain.io.busy
  memory.io.between  := drain.io.between
  regs.io.drainDone  := drain.io.done.fire
  regs.io.drainSpace := drain.io.space
}
