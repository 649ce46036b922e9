// SPDX-License-Identifier: BSD-3-Clause
package assasin.stream

import chisel3._
import chisel3.util.Valid

import assasin.core.GatedRowBanks
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
    new GatedRowBanks(bytes, v.dBytes, v.memoryBytes, writeBytes = 8, v.clockGate, granule = 8, rings = true)
  )
  private val pointers = Module(new InputPointers(bytes, looks = true))
  private val access   = new InputStreamAccess(io, pointers)
  pointers.io.look.get <> io.look

  // The memory's answer is that for the StreamLoad in MEM.
  private val fresh  = RegInit(false.B)
  private val loaded = io.op.load && !access.atEnd && access.present && fresh && !io.consume.valid
  pointers.io.move.valid       := io.consume.valid || loaded
  pointers.io.move.bits.stream := Mux(io.consume.valid, io.consume.bits.stream, io.op.stream)
  pointers.io.move.bits.value  := Mux(io.consume.valid, io.consume.bits.head, access.past)
  access.drive(loaded, busy = io.unitRead.valid)

  // ---- Memory read: the unit goes first ---------------------------------------------------------------------------------------
  // A StreamLoad that has what it needs, and waits only for the Head's write port, keeps asking for its data.
  private val again    = io.op.load && !access.atEnd && access.present && !loaded
  private val wanted   = io.op.advance && io.exLoad || again
  private val coreNext = Mux(io.op.advance, io.op.exStream, io.op.stream)
  private val stream   = Mux(io.unitRead.valid, io.unitRead.bits.stream, coreNext)
  private val address  = Mux(io.unitRead.valid, io.unitRead.bits.pos, Mux(io.op.advance, access.exPos, access.pos))
  fresh               := wanted && !io.unitRead.valid
  ram.io.ringMask.get := part.ringMask
  ram.io.read.enable  := io.unitRead.valid || wanted || access.reads
  ram.io.read.addr    := part.offset(stream, address)
  io.readAnswer       := ram.io.read.data
  io.op.rdata         := ram.io.read.data(31, 0)

  // ---- Memory write: the crossbar's -------------------------------------------------------------------------------------------
  ram.io.writeEn    := io.deliver.valid
  ram.io.write.addr := access.beatOffset
  ram.io.write.data := io.deliver.bits.data
  ram.io.write.mask := 1.U
}
