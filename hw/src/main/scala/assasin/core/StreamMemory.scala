// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{MuxLookup, log2Ceil}

import assasin.cache.CacheParams
import assasin.cache.{L1Cache, LineDram, UnsharedLines}
import assasin.contract.AddressMap
import assasin.stream.{InputStreamBuffer, OutputStreamBuffer}

/** Scratchpad and stream buffers (AssasinSb), with `arch.dataCache` an L1 cache on CORE_DATA (AssasinSbCache), and with
  * a vector unit the scratchpad in rows of DLEN bits (AssasinV).
  */
class StreamMemory(p: StreamCoreParams) extends TileMemory(p) {
  private val wide   = p.core.vector.map(v => Module(new WideScratchpad(p.soc.spadBytes, v)).io)
  private val spad   = wide.getOrElse(Module(new Scratchpad(p.soc.spadBytes)).io)
  private val input  = Module(new InputStreamBuffer(bytes))
  private val output = Module(new OutputStreamBuffer(bytes))

  // ---- Crossbar -------------------------------------------------------------------------------------------------------------
  private val beat     = io.beat.bits
  private val loadSpad = io.beat.valid && !beat.toStream && beat.toSpad && !io.run
  io.beat.ready                := true.B
  input.io.deliver.valid       := io.beat.valid && (beat.toStream || !beat.toSpad)
  input.io.deliver.bits.pos    := beat.addr
  input.io.deliver.bits.stream := beat.stream
  input.io.deliver.bits.raw    := !beat.toStream
  input.io.deliver.bits.data   := beat.data
  input.io.deliver.bits.mark   := beat.mark && beat.last
  spad.load.valid              := loadSpad
  spad.load.bits               := beat

  // ---- Loads and stores -----------------------------------------------------------------------------------------------------
  private val request = io.dmem.req
  private val inSpad  = request.bits.addr(31, spadBits) === (p.spadBase >> spadBits).U
  spad.core.valid := request.valid && inSpad
  spad.core.bits  := request.bits
  if (p.soc.arch.dataCache) {
    val dataBits = log2Ceil(AddressMap.CoreData.size)
    val inData   = request.bits.addr(31, dataBits) === (AddressMap.CoreData.base >> dataBits).U
    val cache    = Module(new L1Cache(CacheParams.l1))
    val below    = Module(new UnsharedLines(CacheParams.l1.lineBits))
    val dram     = Module(new LineDram(CacheParams.l1.lineBits, reads = 1, writes = 2))
    cache.io.req.valid := request.valid && inData
    cache.io.req.bits  := request.bits
    request.ready      := !inData || cache.io.req.ready
    // The scratchpad's answer, and the one to an access that nothing takes, come in the next cycle.
    val near = RegNext(request.fire && !inData, false.B)
    io.dmem.resp.valid      := near || cache.io.resp.valid
    io.dmem.resp.bits.err   := near && RegNext(!inSpad)
    io.dmem.resp.bits.rdata := Mux(near, spad.rdata, cache.io.resp.bits)

    cache.io.snoop.req.valid := false.B
    cache.io.snoop.req.bits  := 0.U.asTypeOf(cache.io.snoop.req.bits)
    cache.io.flush           := io.start
    io.ready                 := cache.io.flushed
    below.io.l1 <> cache.io.lower
    dram.io.read <> below.io.read
    dram.io.write <> below.io.write
    dram.io.data(0) <> below.io.data
    dram.io.data(1).valid := false.B
    dram.io.data(1).bits  := 0.U
    below.io.beat         := dram.io.beat
    below.io.writing      := dram.io.writing
    dram.io.probe         := below.io.probe
    dram.io.base          := tileBase
    io.dram.get <> dram.io.dram
    io.busy              := !cache.io.idle || !dram.io.idle
    io.counts.waitMem    := cache.io.waiting
    io.counts.l1Miss     := cache.io.miss.valid
    io.counts.l2Miss     := false.B
    io.counts.prefetched := false.B
  } else {
    request.ready           := true.B
    io.dmem.resp.valid      := RegNext(request.fire, false.B)
    io.dmem.resp.bits.err   := RegNext(!inSpad)
    io.dmem.resp.bits.rdata := spad.rdata
    noCache()
  }

  // The unit sees the scratchpad and nothing else; whether the range wraps, `first <= last` says.
  for ((port, ram) <- io.vector.zip(wide)) {
    val base = (p.spadBase >> spadBits).U
    port.check.ok := port.check.first <= port.check.last && port.check.first(31, spadBits) === base &&
      port.check.last(31, spadBits) === base
    port.check.hold  := false.B
    port.check.cause := Mux(port.check.write, 7.U, 5.U)
    ram.vectorLoad <> port.load
    ram.vectorStore <> port.store
    port.loadAnswer := ram.loadAnswer
    port.storeDone  := ram.storeDone
  }

  // ---- Streams --------------------------------------------------------------------------------------------------------------
  private val port     = io.stream.get
  private val pointers = io.pointers
  port.sLog2    := io.partition.sLog2
  port.ringLog2 := log2Ceil(bytes).U(5.W) - io.partition.sLog2

  input.io.partition     := io.partition
  input.io.clear         := pointers.clear
  input.io.writeTail     := pointers.writeTail
  input.io.writeEnd      := pointers.writeEnd
  input.io.writeEndValid := pointers.writeEndValid
  input.io.op.exStream   := port.exStream
  input.io.op.advance    := port.advance
  input.io.op.load       := port.op.load
  input.io.op.read       := port.op.readI
  input.io.op.stream     := port.stream
  input.io.op.size       := port.size
  input.io.op.distance   := port.operand
  pointers.endValid      := input.io.endValid
  pointers.room          := input.io.room

  output.io.partition  := io.partition
  output.io.clear      := pointers.clear
  output.io.writeTail  := pointers.writeOutTail
  output.io.op.store   := port.op.store
  output.io.op.read    := port.op.readO
  output.io.op.stream  := port.stream
  output.io.op.size    := port.size
  output.io.op.operand := port.operand
  output.io.cover      := pointers.cover
  output.io.free <> pointers.free
  output.io.drain <> io.drain
  pointers.outReady := output.io.ready

  // Each buffer stalls only its own operations.
  port.stall      := input.io.op.stall || output.io.op.stall
  port.end        := input.io.op.end
  port.rangeError := Mux(port.op.readI, input.io.op.rangeError, output.io.op.rangeError)
  port.rdata      := Mux(port.op.readO, output.io.op.rdata, input.io.op.rdata)

  // Pointers for CSR reads, which hide an end that is not known, and for the register block.
  private val in  = input.io.peek(0)
  private val out = output.io.peek(0)
  in.stream  := port.peek.stream
  out.stream := port.peek.stream
  port.peek.data := MuxLookup(port.peek.group, Mux(input.io.endValid(port.peek.stream), in.end, ~0.U(32.W)))(
    Seq(0.U -> in.head, 1.U -> in.tail, 2.U -> out.head, 3.U -> out.tail)
  )
  input.io.peek(1) <> pointers.inPeek
  output.io.peek(1) <> pointers.outPeek
}
