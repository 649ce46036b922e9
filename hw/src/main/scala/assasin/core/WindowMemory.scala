// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Cat, Fill, log2Ceil}

import assasin.stream.SoftPointers

/** Scratchpad, and stream buffers as windows for loads and stores (AssasinSp).
  *
  * While the core does not run, what the crossbar writes to the window of the input buffer goes to the output buffer as
  * well: the firmware clears both with it before another owner gets the core. Nothing else on the crossbar can write
  * the output buffer.
  */
class WindowMemory(p: StreamCoreParams) extends TileMemory(p) {
  private val offsetBits = log2Ceil(bytes)
  require(
    spadBits == offsetBits && p.spadBase % (4L << spadBits) == 0,
    s"spadBase = ${p.spadBase}: the windows follow each other from a multiple of ${4 << spadBits} on"
  )

  private val spad     = Module(new Scratchpad(p.soc.spadBytes))
  private val input    = Module(new DualBankRam(bytes, granuleBits = 8))
  private val output   = Module(new DualBankRam(bytes, granuleBits = 8))
  private val pointers = Module(new SoftPointers(bytes))
  pointers.io.partition := io.partition
  pointers.io.core <> io.soft.get
  pointers.io.ports <> io.pointers
  noCache()

  // ---- Crossbar -------------------------------------------------------------------------------------------------------------
  private val beat    = io.beat.bits
  private val deliver = io.beat.valid && (beat.toStream || !beat.toSpad)
  private val offset  = inputOffset(beat)
  private val both    = deliver && !beat.toStream && !io.run
  io.beat.ready          := true.B
  spad.io.load.valid     := io.beat.valid && !beat.toStream && beat.toSpad && !io.run
  spad.io.load.bits      := beat
  pointers.io.mark.valid := io.beat.valid && beat.toStream && beat.mark && beat.last
  pointers.io.mark.bits  := slot(offset)

  // ---- Loads and stores -----------------------------------------------------------------------------------------------------
  private val request = io.dmem.req
  private val req     = request.bits
  private val window  = req.addr(spadBits + 1, spadBits)
  private val inside  = req.addr(31, spadBits + 2) === (p.spadBase >> (spadBits + 2)).U && window =/= 3.U
  private val row     = req.addr(offsetBits - 1, 3)
  private val mask    = Mux(req.addr(2), Cat(req.mask, 0.U(4.W)), req.mask.pad(8))
  private val store   = request.valid && req.write && inside
  spad.io.core.valid := request.valid && inside && window === 0.U
  spad.io.core.bits  := req

  // A delivery goes before a store into the input buffer.
  request.ready           := !(deliver && req.write && window === 1.U)
  input.io.read.evenRow   := row
  input.io.read.oddRow    := row
  input.io.writeEn        := deliver || store && window === 1.U
  input.io.write.evenRow  := Mux(deliver, offset(offsetBits - 1, 3), row)
  input.io.write.oddRow   := input.io.write.evenRow
  input.io.write.data     := Mux(deliver, beat.data, Fill(2, req.wdata))
  input.io.write.mask     := Mux(deliver, beat.mask, mask)
  output.io.writeEn       := both || store && window === 2.U
  output.io.write.evenRow := Mux(both, offset(offsetBits - 1, 3), row)
  output.io.write.oddRow  := output.io.write.evenRow
  output.io.write.data    := Mux(both, beat.data, Fill(2, req.wdata))
  output.io.write.mask    := Mux(both, beat.mask, mask)

  // The core's loads go before the drain's reads.
  private val loads    = request.valid && !req.write && window === 2.U
  private val drain    = io.drain.req.bits
  private val drainRow = io.partition.offset(drain.stream, drain.pos)(offsetBits - 1, 3)
  io.drain.req.ready     := !loads
  io.drain.data          := Cat(output.io.read.odd, output.io.read.even)
  output.io.read.evenRow := Mux(loads, row, drainRow)
  output.io.read.oddRow  := output.io.read.evenRow

  private val odd        = RegNext(req.addr(2))
  private val lastWindow = RegNext(window)
  private val inputWord  = Mux(odd, input.io.read.odd, input.io.read.even)
  private val outputWord = Mux(odd, output.io.read.odd, output.io.read.even)
  io.dmem.resp.valid      := RegNext(request.fire, false.B)
  io.dmem.resp.bits.err   := RegNext(!inside)
  io.dmem.resp.bits.rdata := Mux(lastWindow === 0.U, spad.io.rdata, Mux(lastWindow === 1.U, inputWord, outputWord))
}
