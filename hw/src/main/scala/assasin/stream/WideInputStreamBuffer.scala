// SPDX-License-Identifier: BSD-3-Clause
package assasin.stream

import chisel3._
import chisel3.util.Valid

import assasin.core.RowBanks
import assasin.vector.{StreamConsume, StreamInputLookIO, StreamReadRequest, VectorParams}

/** Ports of [[WideInputStreamBuffer]]. */
class WideInputStreamBufferIO(bytes: Int, v: VectorParams) extends InputStreamBufferIO(bytes) {

  /** The instruction in EX is a StreamLoad. */
  val exLoad = Input(Bool())

  /** The vector unit's accesses as in [[assasin.vector.VectorStreamIO]]. */
  val look       = Flipped(new StreamInputLookIO)
  val unitRead   = Flipped(Valid(new StreamReadRequest))
  val readAnswer = Output(UInt(v.memoryBits.W))
  val consume    = Flipped(Valid(new StreamConsume))
}

/** [[InputStreamBuffer]] in rows of DLEN bits for a core whose vector unit has VarVE (docs/varve/unit.md 4.1): the unit
  * reads it at any byte address, and goes before the core.
  *
  * The memory is read when an announced StreamLoad leaves EX, so that it does not wait for the memory. A StreamLoad
  * that lost the port or that waited for its data reads again, and takes one cycle more.
  */
class WideInputStreamBuffer(bytes: Int, v: VectorParams) extends Module {
  val io = IO(new WideInputStreamBufferIO(bytes, v))

  private val part = io.partition
  private val ram = Module(
    new RowBanks(bytes, v.dBytes, readBytes = v.memoryBytes, writeBytes = 8, granule = 8, rings = true)
  )
  private val pointers = Module(new InputPointers(bytes, looks = true))
  pointers.io.partition     := part
  pointers.io.clear         := io.clear
  pointers.io.writeTail     := io.writeTail
  pointers.io.writeEnd      := io.writeEnd
  pointers.io.writeEndValid := io.writeEndValid
  pointers.io.peek <> io.peek
  pointers.io.look.get <> io.look
  io.endValid := pointers.io.endValid
  io.room     := pointers.io.room

  // ---- StreamLoad -----------------------------------------------------------------------------------------------------------
  private val width = (1.U(3.W) << io.op.size)(2, 0)
  // Position of the StreamLoad in MEM, or of the bytes ReadIStream wants.
  private val pos   = Reg(UInt(32.W))
  private val past  = pos + width
  private val at    = pointers.io.at
  private val known = at.known
  at.stream := io.op.stream

  // The memory's answer is that for the StreamLoad in MEM.
  private val fresh = RegInit(false.B)

  private val atEnd   = known && (at.end - pos).asSInt < width.zext
  private val present = (at.tail - pos).asSInt >= width.zext
  private val loaded  = io.op.load && !atEnd && present && fresh && !io.consume.valid

  pointers.io.move.valid       := io.consume.valid || loaded
  pointers.io.move.bits.stream := Mux(io.consume.valid, io.consume.bits.stream, io.op.stream)
  pointers.io.move.bits.value  := Mux(io.consume.valid, io.consume.bits.head, past)

  pointers.io.headStream := io.op.exStream
  private val exPos = Mux(io.op.load && io.op.stream === io.op.exStream, past, pointers.io.head)

  // ---- ReadIStream: position and range, memory, data --------------------------------------------------------------------------
  private val phase    = RegInit(0.U(2.W))
  private val badRange = Reg(Bool())
  private val readDone = phase === 2.U || phase === 1.U && badRange
  private val limit    = InputPointers.clip(at.tail, at.end, known)
  when(!io.op.read || readDone) {
    phase := 0.U
  }.elsewhen(phase === 0.U || !io.unitRead.valid) {
    phase := phase + 1.U
  }
  when(io.op.read && phase === 0.U) {
    badRange := io.op.distance < width || io.op.distance > part.ring ||
      !at.far && io.op.distance > limit
  }

  when(io.op.advance) {
    pos := exPos
  }.elsewhen(io.op.read && phase === 0.U) {
    pos := limit - io.op.distance
  }

  io.op.stall      := io.op.load && !atEnd && !loaded || io.op.read && !readDone
  io.op.end        := atEnd
  io.op.rangeError := badRange

  // ---- Memory read: the unit goes first ---------------------------------------------------------------------------------------
  // A StreamLoad that has what it needs, and waits only for the Head's write port, keeps asking for its data.
  private val again    = io.op.load && !atEnd && present && !loaded
  private val wanted   = io.op.advance && io.exLoad || again
  private val reads    = io.op.read && phase === 1.U && !badRange
  private val coreNext = Mux(io.op.advance, io.op.exStream, io.op.stream)
  private val stream   = Mux(io.unitRead.valid, io.unitRead.bits.stream, coreNext)
  private val address  = Mux(io.unitRead.valid, io.unitRead.bits.pos, Mux(io.op.advance, exPos, pos))
  fresh               := wanted && !io.unitRead.valid
  ram.io.ringMask.get := part.ringMask
  ram.io.read.enable  := io.unitRead.valid || wanted || reads
  ram.io.read.addr    := part.offset(stream, address)
  io.readAnswer       := ram.io.read.data
  io.op.rdata         := ram.io.read.data(31, 0)

  // ---- Memory write: the crossbar's -------------------------------------------------------------------------------------------
  private val beat       = io.deliver.bits
  private val beatOffset = Mux(beat.raw, beat.pos(part.offsetBits - 1, 0), part.offset(beat.stream, beat.pos))
  ram.io.writeEn    := io.deliver.valid
  ram.io.write.addr := beatOffset
  ram.io.write.data := beat.data
  ram.io.write.mask := 1.U

  pointers.io.mark.valid := io.deliver.valid && beat.mark && !beat.raw
  pointers.io.mark.bits  := (beatOffset >> part.pageLog2)(6, 0)
}
