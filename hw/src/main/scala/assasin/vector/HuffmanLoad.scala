// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Decoupled, Valid, is, switch}

class HuffmanLoadIO(p: VectorParams) extends Bundle {

  /** Loads from the first cycle of `active` on until `done`; begins anew after a cycle without. The others hold still
    * meanwhile: the address, a multiple of 8, and what is to become of the table.
    */
  val active  = Input(Bool())
  val address = Input(UInt(p.xLen.W))
  val request = Input(new HuffmanBuild)

  /** It is there and good; or the byte at `byte` cannot be read. */
  val done  = Output(Bool())
  val good  = Output(Bool())
  val fault = Output(Bool())
  val cause = Output(UInt(5.W))
  val byte  = Output(UInt(p.xLen.W))

  val fill  = Output(Valid(new HuffmanWord))
  val build = Output(Valid(new HuffmanBuild))

  /** As [[HuffmanTablesIO]] has them. */
  val built     = Input(Bool())
  val builtGood = Input(Bool())

  val check      = new VectorCheckIO(p)
  val load       = Decoupled(new VectorLoadRequest(p))
  val loadAnswer = Input(Valid(UInt(p.memoryBits.W)))

  /** An answer of memory is awaited. */
  val loading = Output(Bool())

  val clear = Input(Bool())
}

/** Reads a Huffman table from memory in the commit stage, two words at a time, and has it built. */
class HuffmanLoad(p: VectorParams) extends Module {
  val io = IO(new HuffmanLoadIO(p))

  private object State extends ChiselEnum {
    // Asks for two words; looks which byte of them cannot be read; waits for them; writes the second one; has the table
    // built; waits for that; has ended.
    val Ask, Byte, Answer, Second, Build, Wait, Done = Value
  }
  private val state  = RegInit(State.Ask)
  private val begun  = RegInit(false.B)
  private val pair   = Reg(UInt(7.W))
  private val second = Reg(UInt(32.W))
  private val byte   = Reg(UInt(p.xLen.W))
  private val fault  = Reg(Bool())
  private val cause  = Reg(UInt(5.W))

  private val loading  = RegInit(false.B)
  private val dropping = RegInit(false.B)
  private val address  = io.address + (pair ## 0.U(3.W))
  private val runs     = io.active && begun
  private val faults   = !io.check.ok && !io.check.hold

  io.check.valid := runs && (state === State.Ask || state === State.Byte)
  io.check.write := false.B
  io.check.first := Mux(state === State.Byte, byte, address)
  io.check.last  := Mux(state === State.Byte, byte, address + 7.U)

  io.load.valid      := runs && state === State.Ask && io.check.ok && !loading && !io.clear
  io.load.bits.addr  := address
  io.load.bits.bytes := 8.U
  private val answered = io.loadAnswer.valid && loading && !dropping
  loading := io.load.fire || (loading && !io.loadAnswer.valid)
  // What was asked for before the instruction was cancelled.
  dropping   := (loading && !io.loadAnswer.valid || io.load.fire) && (dropping || !io.active || io.clear)
  io.loading := loading

  private val first = state === State.Answer
  io.fill.valid     := runs && (first && answered || state === State.Second)
  io.fill.bits.set  := io.request.set
  io.fill.bits.word := pair ## !first
  io.fill.bits.data := Mux(first, io.loadAnswer.bits(31, 0), second)
  io.build.valid    := runs && state === State.Build
  io.build.bits     := io.request

  io.done  := begun && state === State.Done
  io.good  := io.builtGood
  io.fault := fault
  io.cause := cause
  io.byte  := byte

  when(!io.active) {
    begun := false.B
  }.elsewhen(!begun) {
    begun := true.B
    pair  := 0.U
    fault := false.B
    state := State.Ask
  }.otherwise {
    switch(state) {
      is(State.Ask) {
        byte                                                             := address
        when(io.load.fire)(state := State.Answer).elsewhen(faults)(state := State.Byte)
      }
      is(State.Byte) {
        when(io.check.ok)(byte := byte + 1.U).elsewhen(faults) {
          fault := true.B
          cause := io.check.cause
          state := State.Done
        }
      }
      is(State.Answer) {
        when(answered) {
          second := io.loadAnswer.bits(63, 32)
          state  := State.Second
        }
      }
      is(State.Second) {
        pair  := pair + 1.U
        state := Mux(pair === (HuffmanCode.words / 2 - 1).U, State.Build, State.Ask)
      }
      is(State.Build)(state := State.Wait)
      is(State.Wait)(when(io.built)(state := State.Done))
    }
  }
  when(io.clear)(begun := false.B)
}
