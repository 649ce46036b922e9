package assasin.core

import chisel3._
import chisel3.util.{Cat, Fill, MuxLookup, log2Ceil}

import assasin.contract.{AddressMap, CoreState}
import assasin.stream.{InputStreamBuffer, OutputDrain, OutputStreamBuffer}
import assasin.xbar.XbarBeat

/** One ASSASIN core: pipeline, instruction memory, scratchpad, stream buffers, drain and register block. */
class StreamCore(val p: StreamCoreParams) extends Module {
  val io = IO(new StreamCoreIO(p))

  private val bytes = p.soc.streamBytes

  private val core   = Module(new Core(p.core))
  private val regs   = Module(new StreamCoreRegs(bytes))
  private val imem   = Module(new DualBankRam(p.soc.imemBytes, granuleBits = 32))
  private val spad   = Module(new DualBankRam(p.soc.spadBytes, granuleBits = 8))
  private val input  = Module(new InputStreamBuffer(bytes))
  private val output = Module(new OutputStreamBuffer(bytes))
  private val drain  = Module(new OutputDrain(p.dramDst))

  core.io.hartId     := io.hartId
  core.io.run        := regs.io.run
  core.io.entry      := regs.io.entry
  core.io.irqPending := false.B

  regs.io.bus <> io.regs
  regs.io.status                := core.io.status
  io.event                      := regs.io.event
  io.running                    := core.io.status.state === CoreState.Running.U || drain.io.busy
  if (p.soc.trace) io.trace.get := core.io.trace.get

  // ---- Packets from the crossbar, one cycle later at the memories -----------------------------------------------------------
  io.in.ready := true.B
  private val beatIndex = RegInit(0.U(3.W))
  private val beatBytes = Cat(beatIndex, 0.U(3.W))
  when(io.in.valid) { beatIndex := Mux(io.in.bits.last, 0.U, beatIndex + 1.U) }
  private val arrived  = RegNext(io.in.valid, false.B)
  private val beat     = Reg(new XbarBeat)
  private val beatMask = Reg(UInt(8.W))
  when(io.in.valid) {
    beat      := io.in.bits
    beat.addr := io.in.bits.addr + beatBytes
    // Bytes of the packet from this beat on; the last beat may be partial.
    val rest = io.in.bits.bytes - beatBytes
    beatMask := Mux(rest >= 8.U, "hff".U, (1.U << rest(2, 0)) - 1.U)
  }

  private def inWindow(base: BigInt, size: BigInt): Bool =
    !beat.toStream && beat.addr(17, log2Ceil(size)) === (base >> log2Ceil(size)).U
  private val toSpad = inWindow(AddressMap.XbSpad.base, AddressMap.XbSpad.size)
  private val toImem = inWindow(AddressMap.XbImem.base, AddressMap.XbImem.size)
  private val toRaw  = inWindow(AddressMap.XbIsb.base, AddressMap.XbIsb.size)

  input.io.deliver.valid       := arrived && (beat.toStream || toRaw)
  input.io.deliver.bits.pos    := beat.addr
  input.io.deliver.bits.stream := beat.stream
  input.io.deliver.bits.raw    := !beat.toStream
  input.io.deliver.bits.data   := beat.data
  input.io.deliver.bits.mark   := beat.mark && beat.last

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
  imem.io.write.mask    := beatMask

  // ---- Scratchpad: the core's, and the crossbar's while the core is stopped -----------------------------------------------------
  private val spadBits = log2Ceil(p.soc.spadBytes)
  private val request  = core.io.dmem.req
  private val inSpad   = request.bits.addr(31, spadBits) === (p.spadBase >> spadBits).U
  private val dataRow  = request.bits.addr(spadBits - 1, 3)
  private val dataOdd  = request.bits.addr(2)
  private val loadSpad = arrived && toSpad && !regs.io.run
  request.ready         := true.B
  spad.io.read.evenRow  := dataRow
  spad.io.read.oddRow   := dataRow
  spad.io.writeEn       := loadSpad || request.valid && request.bits.write && inSpad
  spad.io.write.evenRow := Mux(loadSpad, beat.addr(spadBits - 1, 3), dataRow)
  spad.io.write.oddRow  := spad.io.write.evenRow
  spad.io.write.data    := Mux(loadSpad, beat.data, Fill(2, request.bits.wdata))
  spad.io.write.mask := Mux(
    loadSpad,
    beatMask,
    Mux(dataOdd, Cat(request.bits.mask, 0.U(4.W)), request.bits.mask.pad(8))
  )
  private val readOdd = RegNext(dataOdd)
  core.io.dmem.resp.valid      := RegNext(request.fire, false.B)
  core.io.dmem.resp.bits.err   := RegNext(!inSpad)
  core.io.dmem.resp.bits.rdata := Mux(readOdd, spad.io.read.odd, spad.io.read.even)

  // ---- Streams --------------------------------------------------------------------------------------------------------------
  private val port = core.io.stream.get
  port.sLog2    := regs.io.partition.sLog2
  port.ringLog2 := log2Ceil(bytes).U(5.W) - regs.io.partition.sLog2

  input.io.partition     := regs.io.partition
  input.io.clear         := regs.io.clear
  input.io.writeTail     := regs.io.writeTail
  input.io.writeEnd      := regs.io.writeEnd
  input.io.writeEndValid := regs.io.writeEndValid
  input.io.op.exStream   := port.exStream
  input.io.op.advance    := port.advance
  input.io.op.load       := port.op.load
  input.io.op.read       := port.op.readI
  input.io.op.stream     := port.stream
  input.io.op.size       := port.size
  input.io.op.distance   := port.operand
  regs.io.endValid       := input.io.endValid
  io.room                := input.io.room

  output.io.partition  := regs.io.partition
  output.io.clear      := regs.io.clear
  output.io.writeTail  := regs.io.writeOutTail
  output.io.op.store   := port.op.store
  output.io.op.read    := port.op.readO
  output.io.op.stream  := port.stream
  output.io.op.size    := port.size
  output.io.op.operand := port.operand
  output.io.cover      := regs.io.cover
  regs.io.outReady     := output.io.ready

  // Each buffer stalls only its own operations.
  port.stall      := input.io.op.stall || output.io.op.stall
  port.end        := input.io.op.end
  port.rangeError := Mux(port.op.readI, input.io.op.rangeError, output.io.op.rangeError)
  port.rdata      := Mux(port.op.readO, output.io.op.rdata, input.io.op.rdata)

  // ---- Drain ----------------------------------------------------------------------------------------------------------------
  drain.io.job <> regs.io.drain
  drain.io.cancel := regs.io.clear
  drain.io.read <> output.io.drain
  output.io.free <> drain.io.done
  io.out <> drain.io.out
  regs.io.drainDone  := drain.io.done.fire
  regs.io.drainSpace := drain.io.space

  // ---- Pointers for CSR reads (0) and the register block (1) ------------------------------------------------------------------
  for ((peek, i) <- Seq(port.peek, regs.io.peek).zipWithIndex) {
    input.io.peek(i).stream  := peek.stream
    output.io.peek(i).stream := peek.stream
    val known = input.io.endValid(peek.stream)
    // The register shows what was written; the CSR hides an end that is not known.
    val end = if (i == 0) Mux(known, input.io.peek(i).end, ~0.U(32.W)) else input.io.peek(i).end
    peek.data := MuxLookup(peek.group, end)(
      Seq(
        0.U -> input.io.peek(i).head,
        1.U -> input.io.peek(i).tail,
        2.U -> output.io.peek(i).head,
        3.U -> output.io.peek(i).tail
      )
    )
  }
}
