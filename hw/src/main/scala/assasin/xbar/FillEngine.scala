// SPDX-License-Identifier: BSD-3-Clause
package assasin.xbar

import chisel3._
import chisel3.util.{Decoupled, Enum, Valid, is, switch}

/** Fills DRAM with zeros, in packets of 64 bytes.
  *
  * @param dramDst
  *   crossbar destination of the DRAM writer
  */
class FillEngine(dramDst: Int) extends Module {
  val io = IO(new Bundle {

    /** Length in bytes, a multiple of 64; ignored while busy. */
    val push  = Flipped(Valid(UInt(32.W)))
    val addr  = Input(UInt(32.W))
    val out   = Decoupled(new XbarBeat)
    val order = Input(new WriteOrder)
    val busy  = Output(Bool())

    /** Firmware and crossbar are in reset: a fill under way ends where it is. */
    val flush = Input(Bool())
  })
  private val sIdle :: sSend :: sMark :: sWait :: Nil = Enum(4)

  private val state   = RegInit(sIdle)
  private val addr    = Reg(UInt(32.W))
  private val packets = Reg(UInt(26.W))
  private val beat    = RegInit(0.U(3.W))
  private val barrier = Module(new ReadBarrier)

  io.out.valid         := state === sSend
  io.out.bits.data     := 0.U
  io.out.bits.last     := beat === 7.U
  io.out.bits.dst      := dramDst.U
  io.out.bits.addr     := addr
  io.out.bits.bytes    := 64.U
  io.out.bits.toStream := false.B
  io.out.bits.stream   := 0.U
  io.out.bits.mark     := false.B

  barrier.io.start := state === sMark
  barrier.io.order := io.order
  switch(state) {
    is(sIdle) {
      when(io.push.valid && io.push.bits(31, 6) =/= 0.U) {
        addr    := io.addr(31, 6) ## 0.U(6.W)
        packets := io.push.bits(31, 6)
        state   := sSend
      }
    }
    is(sSend) {
      when(io.out.fire) {
        beat := beat + 1.U
        when(beat === 7.U) {
          addr    := addr + 64.U
          packets := packets - 1.U
          when(packets === 1.U) { state := sMark }
        }
      }
    }
    is(sMark) { state := sWait }
    is(sWait) { when(barrier.io.clear) { state := sIdle } }
  }
  when(io.flush) {
    state := sIdle
    beat  := 0.U
  }
  io.busy := state =/= sIdle
}
