// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Decoupled, Valid, log2Ceil}

/** [[StreamGate]]'s ports. */
class StreamGateIO(p: VectorParams) extends Bundle {
  val offer  = Input(new VectorOffer(p))
  val commit = Flipped(new StreamCommitIO(p))

  /** Vector loads or stores, packs for memory are under way. */
  val loads   = Input(Bool())
  val stores  = Input(Bool())
  val packing = Input(Bool())

  val table  = new StreamTableLookIO(p)
  val input  = new StreamInputLookIO
  val output = new StreamOutputLookIO
  val sLog2  = Input(UInt(2.W))

  /** Used while nothing is under way; a cycle of the window, in which it is not `granted`, waits. */
  val mask    = new ElementReadIO(p)
  val granted = Input(Bool())

  /** Happens at the end of this cycle, as the instruction leaves. */
  val declare = Valid(new StreamDeclare(p))
  val advance = Valid(new StreamAdvance(p))
  val reserve = Valid(new StreamReserve(p))
  val enter   = Valid(new StreamName)
  val close   = Valid(new StreamName)
  val raise   = Valid(new StreamName)

  /** A stream ends: rd takes the number of its elements; or VRCNUM's rd NumE. */
  val resultReady = Input(Bool())
  val result      = Valid(new VectorResult(p))

  val strip = if (p.full) Some(new StripGateIO(p)) else None

  /** Huffman streams. */
  val huffman = new HuffmanGateIO(p)

  /** Looks at widths of streams in memory; of those in stream buffers, when nobody else reads. */
  val load        = Decoupled(new VectorLoadRequest(p))
  val loadAnswer  = Input(Valid(UInt(p.memoryBits.W)))
  val read        = Output(Valid(new StreamReadRequest))
  val readGranted = Input(Bool())
  val readAnswer  = Input(UInt(p.memoryBits.W))

  /** An answer of memory is awaited. */
  val loading = Output(Bool())

  /** The instruction in the commit stage waits for the number of a strip; for memory, or for older accesses to it. */
  val waitsStrip  = Output(Bool())
  val waitsMemory = Output(Bool())

  /** Elements that are taken at the end of this cycle; with `counted` a VRCNUM's among them. */
  val taken   = Output(UInt((p.vlBits + 1).W))
  val counted = Output(Bool())

  val clear = Input(Bool())
}

/** What Huffman streams need besides. */
class HuffmanGateIO(p: VectorParams) extends Bundle {

  /** Symbols are looked up while nothing is under way. */
  val tables = Flipped(new HuffmanTablesIO)

  /** An element of an unpack has been decoded. As many unpacks are under way as there are banks of them. */
  val element = Output(Valid(new SymbolWrite(p)))
  val full    = Input(Bool())

  /** An unpack of decoded elements leaves. */
  val unpack = Output(Bool())
}

/** What VarVE-full needs besides. */
class StripGateIO(p: VectorParams) extends Bundle {
  private val countBits = log2Ceil(p.elements + 1)

  /** Registers that hold vectors of VarVE-full, and PACKED, behind the instruction that leaves; NumE and whether VRCNUM
    * may read it.
    */
  val variable = Input(UInt(32.W))
  val packed   = Input(Bool())
  val numE     = Input(UInt(countBits.W))
  val settled  = Input(Bool())

  /** VRCNUM may leave before that. It leaves, so or not. */
  val mayLeave = Input(Bool())
  val renew    = Output(Bool())
  val early    = Output(Bool())

  /** The oldest of those that left early: NumE of its strip; it has moved its streams. Whether there are any, and
    * elements by which they may move streams.
    */
  val resolved = Flipped(Valid(UInt(countBits.W)))
  val taken    = Output(Bool())
  val pending  = Input(Bool())
  val ahead    = Input(UInt((countBits + 1).W))

  /** Elements of the register packed, and length of the mask. Used while nothing is under way. */
  val register = Output(UInt(5.W))
  val yielded  = Input(UInt(countBits.W))
  val mask     = Output(UInt(5.W))
  val length   = Input(UInt(countBits.W))

  /** Its elements' values. */
  val values = Flipped(new ElementLookIO(p))

  /** NumE is written by the window. */
  val renumber = Input(Bool())

  val table = Flipped(new StripTableIO(p))
}
