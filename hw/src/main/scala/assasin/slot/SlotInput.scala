// SPDX-License-Identifier: BSD-3-Clause
package assasin.slot

import assasin.core.DualBankRam
import assasin.stream.{InputBeat, InputPeekIO, InputPointers, PointerWrite, StreamPartition}
import chisel3._
import chisel3.util.{Decoupled, Queue, Valid}

/** Ports of [[SlotInput]]. */
class SlotInputIO(bytes: Int) extends Bundle {
  val partition = Input(new StreamPartition(bytes))
  val clear     = Input(Bool())

  /** The kernel takes input. While it is low, what waits in front of the kernel is dropped. */
  val open    = Input(Bool())
  val deliver = Flipped(Valid(new InputBeat))
  val streams = Vec(KernelSlot.Inputs, Decoupled(new AxisBeat))

  /** Number (modulo 256) of the first page that may not be sent yet. */
  val room          = Output(Vec(8, UInt(8.W)))
  val peek          = Flipped(new InputPeekIO)
  val writeTail     = Flipped(Valid(new PointerWrite))
  val writeEnd      = Flipped(Valid(new PointerWrite))
  val writeEndValid = Flipped(Valid(UInt(8.W)))
  val endValid      = Output(UInt(8.W))
}

/** Input stream buffer of a slot: the rings of [[assasin.stream.InputStreamBuffer]], read as AXI4-Streams, together
  * eight bytes a cycle. The Head moves when bytes leave the ring for the short queue in front of the kernel.
  */
class SlotInput(bytes: Int) extends Module {
  private val depth = 4

  val io = IO(new SlotInputIO(bytes))

  private val part     = io.partition
  private val inputs   = KernelSlot.Inputs
  private val ram      = Module(new DualBankRam(bytes, granuleBits = 32))
  private val pointers = Module(new InputPointers(bytes))
  pointers.io.partition     := part
  pointers.io.clear         := io.clear
  pointers.io.writeTail     := io.writeTail
  pointers.io.writeEnd      := io.writeEnd
  pointers.io.writeEndValid := io.writeEndValid
  pointers.io.headStream    := 0.U
  pointers.io.at.stream     := 0.U
  pointers.io.peek(1) <> io.peek
  io.endValid := pointers.io.endValid
  io.room     := pointers.io.room

  // ---- What there is: one stream after the other is looked at -----------------------------------------------------------------
  private val look  = RegInit(0.U(1.W))
  private val tails = RegInit(VecInit.fill(inputs)(0.U(32.W))) // never past a known end
  private val ends  = Reg(Vec(inputs, UInt(32.W)))
  private val known = RegInit(VecInit.fill(inputs)(false.B))
  look                       := look + 1.U
  pointers.io.peek(0).stream := look
  tails(look)                := pointers.io.peek(0).tail
  ends(look)                 := pointers.io.peek(0).end
  known(look)                := pointers.io.endValid(inputs - 1, 0)(look)
  when(io.clear) {
    tails.foreach(_ := 0.U)
    known.foreach(_ := false.B)
  }

  // ---- Which stream gives the next beat ---------------------------------------------------------------------------------------
  private val queues = Seq.fill(inputs)(Module(new Queue(new AxisBeat, depth, hasFlush = true)))
  private val pos    = RegInit(VecInit.fill(inputs)(0.U(32.W)))
  private val ended  = RegInit(VecInit.fill(inputs)(false.B)) // the last beat is on its way

  private val arriving = RegInit(false.B)
  private val to       = Reg(UInt(1.W))
  private val keep     = Reg(UInt(8.W))
  private val last     = Reg(Bool())

  private val offers = (0 until inputs).map { s =>
    val ahead = tails(s) - pos(s)
    val rest  = ends(s) - pos(s)
    val ends8 = known(s) && rest <= 8.U
    // Whether a beat is the last one shows only when more is there, or the end is known.
    val there = Mux(ends8, ahead === rest, ahead.asSInt > 8.S || known(s) && ahead.asSInt === 8.S)
    val space = queues(s).io.count +& (arriving && to === s.U) < depth.U
    val beat  = Wire(new AxisBeat)
    beat.data := 0.U
    beat.keep := Mux(ends8, ((1.U(9.W) << rest(3, 0)) - 1.U)(7, 0), 0xff.U)
    beat.last := ends8
    (io.open && there && space && !ended(s), beat, Mux(ends8, rest(3, 0), 8.U(4.W)))
  }
  private val wants = offers.map(_._1)
  private val pick  = Mux(wants(0) && wants(1), !to, wants(1))
  private val taken = wants.reduce(_ || _)
  private val past  = pos(pick) + Mux(pick.asBool, offers(1)._3, offers(0)._3)
  arriving := taken
  when(taken) {
    to          := pick
    keep        := Mux(pick.asBool, offers(1)._2.keep, offers(0)._2.keep)
    last        := Mux(pick.asBool, offers(1)._2.last, offers(0)._2.last)
    pos(pick)   := past
    ended(pick) := Mux(pick.asBool, offers(1)._2.last, offers(0)._2.last)
  }
  when(io.clear) { pos.foreach(_ := 0.U) }
  when(!io.open) { ended.foreach(_ := false.B) }
  pointers.io.move.valid       := taken
  pointers.io.move.bits.stream := pick
  pointers.io.move.bits.value  := past

  // ---- Memory -----------------------------------------------------------------------------------------------------------------
  private val readRow = part.offset(pick, pos(pick))(part.offsetBits - 1, 3)
  ram.io.read.evenRow := readRow
  ram.io.read.oddRow  := readRow
  for ((queue, s) <- queues.zipWithIndex) {
    queue.io.flush.get     := !io.open
    queue.io.enq.valid     := arriving && to === s.U
    queue.io.enq.bits.data := ram.io.read.odd ## ram.io.read.even
    queue.io.enq.bits.keep := keep
    queue.io.enq.bits.last := last
    io.streams(s) <> queue.io.deq
  }

  private val beat       = io.deliver.bits
  private val beatOffset = Mux(beat.raw, beat.pos(part.offsetBits - 1, 0), part.offset(beat.stream, beat.pos))
  ram.io.writeEn         := io.deliver.valid
  ram.io.write.evenRow   := beatOffset(part.offsetBits - 1, 3)
  ram.io.write.oddRow    := beatOffset(part.offsetBits - 1, 3)
  ram.io.write.data      := beat.data
  ram.io.write.mask      := 0xff.U
  pointers.io.mark.valid := io.deliver.valid && beat.mark && !beat.raw
  pointers.io.mark.bits  := (beatOffset >> part.pageLog2)(6, 0)
}
