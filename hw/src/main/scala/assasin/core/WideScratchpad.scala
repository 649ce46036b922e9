// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Decoupled, Valid, log2Ceil}

import assasin.vector.{VectorLoadRequest, VectorParams, VectorStoreRequest}

/** Ports of [[WideScratchpad]]. */
class WideScratchpadIO(v: VectorParams) extends ScratchpadIO {

  /** The vector unit's accesses as in [[assasin.vector.VectorMemoryIO]]; of an address the low bits count. */
  val vectorLoad  = Flipped(Decoupled(new VectorLoadRequest(v)))
  val loadAnswer  = Output(Valid(UInt(v.memoryBits.W)))
  val vectorStore = Flipped(Decoupled(new VectorStoreRequest(v)))
  val storeDone   = Output(Bool())
}

/** Data memory of a core with a vector unit: one read and one write a cycle, of memoryBits of
  * [[assasin.vector.VectorParams]] at any byte address. The core and the crossbar go before the unit. A load is
  * answered, and a store done, in the next cycle.
  */
class WideScratchpad(bytes: Int, v: VectorParams) extends Module {
  private val bits = log2Ceil(bytes)

  val io = IO(new WideScratchpadIO(v))

  private val ram = Module(new GatedRowBanks(bytes, v.dBytes, v.memoryBytes, v.memoryBytes, v.clockGate))
  private val req = io.core.bits

  private val coreReads = io.core.valid && !req.write
  io.vectorLoad.ready := !coreReads
  ram.io.read.enable  := coreReads || io.vectorLoad.valid
  ram.io.read.addr    := Mux(coreReads, req.addr(bits - 1, 2) ## 0.U(2.W), io.vectorLoad.bits.addr(bits - 1, 0))
  io.rdata            := ram.io.read.data(31, 0)
  io.loadAnswer.valid := RegNext(io.vectorLoad.fire, false.B)
  io.loadAnswer.bits  := ram.io.read.data

  private val coreWrites = io.core.valid && req.write
  private val scalar     = io.load.valid || coreWrites
  io.vectorStore.ready := !scalar
  ram.io.writeEn       := scalar || io.vectorStore.valid
  ram.io.write.addr := Mux(
    io.load.valid,
    io.load.bits.addr(bits - 1, 3) ## 0.U(3.W),
    Mux(coreWrites, req.addr(bits - 1, 2) ## 0.U(2.W), io.vectorStore.bits.addr(bits - 1, 0))
  )
  ram.io.write.data := Mux(io.load.valid, io.load.bits.data, Mux(coreWrites, req.wdata, io.vectorStore.bits.data))
  ram.io.write.mask := Mux(io.load.valid, io.load.bits.mask, Mux(coreWrites, req.mask, io.vectorStore.bits.mask))
  io.storeDone      := RegNext(io.vectorStore.fire, false.B)
}
