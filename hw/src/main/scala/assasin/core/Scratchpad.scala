// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Cat, Fill, Valid, isPow2, log2Ceil}

/** Ports of [[Scratchpad]]. */
class ScratchpadIO extends Bundle {

  /** The core's access, `addr` an offset; taken in every cycle. */
  val core = Flipped(Valid(new DmemReq))

  /** The aligned word, in the next cycle. */
  val rdata = Output(UInt(32.W))

  /** The crossbar's write, `addr` an offset; the core must not store in its cycle. */
  val load = Flipped(Valid(new TileBeat))
}

/** Data memory of a core: one access a cycle. */
class Scratchpad(bytes: Int) extends Module {
  require(isPow2(bytes), s"bytes = $bytes: choose a power of two")
  private val bits = log2Ceil(bytes)

  val io = IO(new ScratchpadIO)

  private val ram = Module(new DualBankRam(bytes, granuleBits = 8))
  private val req = io.core.bits
  private val row = req.addr(bits - 1, 3)

  ram.io.read.evenRow  := row
  ram.io.read.oddRow   := row
  ram.io.writeEn       := io.load.valid || io.core.valid && req.write
  ram.io.write.evenRow := Mux(io.load.valid, io.load.bits.addr(bits - 1, 3), row)
  ram.io.write.oddRow  := ram.io.write.evenRow
  ram.io.write.data    := Mux(io.load.valid, io.load.bits.data, Fill(2, req.wdata))
  ram.io.write.mask := Mux(
    io.load.valid,
    io.load.bits.mask,
    Mux(req.addr(2), Cat(req.mask, 0.U(4.W)), req.mask.pad(8))
  )
  private val odd = RegNext(req.addr(2))
  io.rdata := Mux(odd, ram.io.read.odd, ram.io.read.even)
}
