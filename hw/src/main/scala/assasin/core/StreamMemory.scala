// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{MuxLookup, log2Ceil}

import assasin.cache.CacheParams
import assasin.cache.{L1Cache, LineDram, UnsharedLines}
import assasin.contract.AddressMap
import assasin.stream.{InputStreamBuffer, OutputStreamBuffer, WideInputStreamBuffer, WideOutputStreamBuffer}

/** Scratchpad and stream buffers (AssasinSb), with `arch.dataCache` an L1 cache on CORE_DATA (AssasinSbCache), and with
  * a vector unit the scratchpad in rows of DLEN bits (AssasinV), if it has VarVE the stream buffers too (AssasinVp).
  */
class StreamMemory(p: StreamCoreParams) extends TileMemory(p) {
  private val wide = p.core.vector.map(v => Module(new WideScratchpad(p.soc.spadBytes, v)).io)
  private val spad = wide.getOrElse(Module(new Scratchpad(p.soc.spadBytes)).io)

  private val pup        = p.core.vector.filter(_.pup)
  private val wideInput  = pup.map(v => Module(new WideInputStreamBuffer(bytes, v)).io)
  private val wideOutput = pup.map(v => Module(new WideOutputStreamBuffer(bytes, v)).io)
  private val input      = wideInput.getOrElse(Module(new InputStreamBuffer(bytes)).io)
  private val output     = wideOutput.getOrElse(Module(new OutputStreamBuffer(bytes)).io)

  // ---- Crossbar -------------------------------------------------------------------------------------------------------------
  private val beat     = io.beat.bits
  private val loadSpad = io.beat.valid && !beat.toStream && beat.toSpad && !io.run
  io.beat.ready             := true.B
  input.deliver.valid       := io.beat.valid && (beat.toStream || !beat.toSpad)
  input.deliver.bits.pos    := beat.addr
  input.deliver.bits.stream := beat.stream
  input.deliver.bits.raw    := !beat.toStream
  input.deliver.bits.data   := beat.data
  input.deliver.bits.mark   := beat.mark && beat.last
  spad.load.valid           := loadSpad
  spad.load.bits            := beat

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

  input.partition     := io.partition
  input.clear         := pointers.clear
  input.writeTail     := pointers.writeTail
  input.writeEnd      := pointers.writeEnd
  input.writeEndValid := pointers.writeEndValid
  input.op.exStream   := port.exStream
  input.op.advance    := port.advance
  input.op.load       := port.op.load
  input.op.read       := port.op.readI
  input.op.stream     := port.stream
  input.op.size       := port.size
  input.op.distance   := port.operand
  pointers.endValid   := input.endValid
  pointers.room       := input.room

  output.partition  := io.partition
  output.clear      := pointers.clear
  output.writeTail  := pointers.writeOutTail
  output.op.store   := port.op.store
  output.op.read    := port.op.readO
  output.op.stream  := port.stream
  output.op.size    := port.size
  output.op.operand := port.operand
  output.cover      := pointers.cover
  output.free <> pointers.free
  output.drain <> io.drain
  pointers.outReady := output.ready

  for ((streams, wide) <- io.vectorStreams.zip(wideInput)) {
    wide.look <> streams.input
    wide.unitRead      := streams.read
    streams.readAnswer := wide.readAnswer
    wide.consume       := streams.consume
    wide.exLoad        := port.exLoad.get
    streams.sLog2      := port.sLog2
    streams.ringLog2   := port.ringLog2
  }
  for ((streams, wide) <- io.vectorStreams.zip(wideOutput)) {
    wide.look <> streams.output
    wide.unitWrite := streams.write
  }

  // Each buffer stalls only its own operations.
  port.stall      := input.op.stall || output.op.stall
  port.end        := input.op.end
  port.rangeError := Mux(port.op.readI, input.op.rangeError, output.op.rangeError)
  port.rdata      := Mux(port.op.readO, output.op.rdata, input.op.rdata)

  // Pointers for CSR reads, which hide an end that is not known, and for the register block.
  private val in  = input.peek(0)
  private val out = output.peek(0)
  in.stream  := port.peek.stream
  out.stream := port.peek.stream
  port.peek.data := MuxLookup(port.peek.group, Mux(input.endValid(port.peek.stream), in.end, ~0.U(32.W)))(
    Seq(0.U -> in.head, 1.U -> in.tail, 2.U -> out.head, 3.U -> out.tail)
  )
  input.peek(1) <> pointers.inPeek
  output.peek(1) <> pointers.outPeek
}
