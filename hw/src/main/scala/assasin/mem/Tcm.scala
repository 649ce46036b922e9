// SPDX-License-Identifier: BSD-3-Clause
package assasin.mem

import chisel3._
import chisel3.util.{Decoupled, log2Ceil}

/** Access to a memory of 64-bit words; a read's data is shown in the cycle after the request was taken. */
class TcmReq(words: Int) extends Bundle {
  val word  = UInt(log2Ceil(words).W)
  val write = Bool()
  val data  = UInt(64.W)
  val mask  = UInt(8.W)
}

/** Port of the firmware memory, seen from the master. */
class TcmPortIO(words: Int) extends Bundle {
  val req  = Decoupled(new TcmReq(words))
  val data = Input(UInt(64.W))
}

/** Firmware memory: one port for instruction fetch, one shared by the firmware's data and the AXI4 slave, which take
  * turns when both want it.
  *
  * @param bytes
  *   size, a multiple of 4096
  */
class Tcm(bytes: Int) extends Module {
  require(bytes >= 4096 && bytes % 4096 == 0, s"TCM of $bytes bytes: choose a multiple of 4096")
  private val words = bytes / 8

  val io = IO(new Bundle {
    val fetch = new Bundle {
      val en = Input(Bool())

      /** Address of a 32-bit word, in words. */
      val word = Input(UInt((log2Ceil(words) + 1).W))
      val data = Output(UInt(32.W))
    }
    val firmware = Flipped(new TcmPortIO(words))
    val dma      = Flipped(new TcmPortIO(words))
  })

  private val mem = SyncReadMem(words, Vec(8, UInt(8.W)))

  private val half = RegNext(io.fetch.word(0))
  private val line = mem.read(io.fetch.word >> 1, io.fetch.en).asUInt
  io.fetch.data := Mux(half, line(63, 32), line(31, 0))

  /** The AXI4 slave had the port last. */
  private val dmaLast = RegInit(false.B)
  private val dma     = io.dma.req.valid && !(io.firmware.req.valid && dmaLast)
  private val req     = Mux(dma, io.dma.req.bits, io.firmware.req.bits)
  private val en      = io.dma.req.valid || io.firmware.req.valid
  when(en) { dmaLast := dma }

  private val bytesIn = VecInit.tabulate(8)(i => req.data(8 * i + 7, 8 * i))
  private val out     = mem.readWrite(req.word, bytesIn, req.mask.asBools, en, req.write).asUInt
  io.firmware.req.ready := !dma
  io.dma.req.ready      := dma
  io.firmware.data      := out
  io.dma.data           := out
}
