// SPDX-License-Identifier: BSD-3-Clause
package assasin.stream

import chisel3._
import chisel3.util.{Decoupled, MuxLookup, Valid}

import assasin.core.PointerPortIO

/** Ports of [[SoftPointers]]. */
class SoftPointersIO(bytes: Int) extends Bundle {
  val partition = Input(new StreamPartition(bytes))
  val core      = Flipped(new PointerPortIO)

  /** Slot number, in the input buffer, of a page that is complete. */
  val mark  = Flipped(Valid(UInt(7.W)))
  val ports = new StreamPointersIO(bytes)
}

/** What the register block, the drain and the channels see of the pointers of a tile's streams. */
class StreamPointersIO(bytes: Int) extends Bundle {
  val clear         = Input(Bool())
  val writeTail     = Flipped(Valid(new PointerWrite))
  val writeOutTail  = Flipped(Valid(new PointerWrite))
  val writeEnd      = Flipped(Valid(new PointerWrite))
  val writeEndValid = Flipped(Valid(UInt(8.W)))
  val endValid      = Output(UInt(8.W))

  /** Input stream s: number (modulo 256) of the first page that may not be sent yet. */
  val room = Output(Vec(8, UInt(8.W)))

  /** See [[OutputPointersIO]]. */
  val cover    = Flipped(Valid(new StreamSpan))
  val free     = Flipped(Decoupled(new StreamSpan))
  val outReady = Output(UInt(8.W))

  /** For the register block. */
  val inPeek  = Flipped(new InputPeekIO)
  val outPeek = Flipped(new OutputPeekIO)
}

/** Stream pointers that the program moves by CSR writes, and the waiting CSR reads. */
class SoftPointers(bytes: Int) extends Module {
  val io = IO(new SoftPointersIO(bytes))

  private val input  = Module(new InputPointers(bytes))
  private val output = Module(new OutputPointers(bytes))
  private val core   = io.core
  private val stream = core.peek.stream

  input.io.partition     := io.partition
  input.io.clear         := io.ports.clear
  input.io.headStream    := 0.U
  input.io.at.stream     := stream
  input.io.mark          := io.mark
  input.io.writeTail     := io.ports.writeTail
  input.io.writeEnd      := io.ports.writeEnd
  input.io.writeEndValid := io.ports.writeEndValid
  io.ports.endValid      := input.io.endValid
  io.ports.room          := input.io.room

  output.io.partition := io.partition
  output.io.clear     := io.ports.clear
  output.io.stream    := 0.U
  output.io.cover     := io.ports.cover
  output.io.writeTail := io.ports.writeOutTail
  output.io.free <> io.ports.free
  io.ports.outReady := output.io.ready

  private val publish = core.publish
  input.io.move.valid        := publish.valid && !publish.bits.out
  input.io.move.bits.stream  := publish.bits.stream
  input.io.move.bits.value   := publish.bits.value
  output.io.move.valid       := publish.valid && publish.bits.out
  output.io.move.bits.stream := publish.bits.stream
  output.io.move.bits.value  := publish.bits.value

  private val in  = input.io.peek(0)
  private val out = output.io.peek(0)
  in.stream  := stream
  out.stream := stream
  input.io.peek(1) <> io.ports.inPeek
  output.io.peek(1) <> io.ports.outPeek

  // A CSR read hides an end that is not known.
  private val known = input.io.at.known
  core.peek.data := MuxLookup(core.peek.group, out.tail)(
    Seq(
      0.U -> in.head,
      1.U -> in.tail,
      2.U -> out.head,
      4.U -> Mux(known, in.end, ~0.U(32.W)),
      6.U -> in.tail
    )
  )
  // What is there is found out in a cycle of its own: as part of the stall it would be the tile's slowest path.
  private val atEnd  = RegNext(!core.peek.group(0) && known && in.tail === in.end)
  private val there  = RegNext(Mux(core.peek.group(0), out.tail - out.head, in.tail - in.head))
  private val looked = RegInit(false.B)
  looked        := core.waits && core.stall
  core.stall    := !looked || there.asSInt < core.grain.zext && !atEnd
  core.sLog2    := io.partition.sLog2
  core.ringLog2 := io.partition.offsetBits.U(5.W) - io.partition.sLog2
}
