// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxLookup, PopCount, PriorityEncoder, log2Ceil}

class MaskUnitIO(p: VectorParams) extends Bundle {

  /** A beat is there, and which of its instruction. */
  val valid = Input(Bool())
  val beat  = Input(UInt(p.beatBits.W))

  /** [[IntegerFunction]], and log2 of the bytes of an element of Iota and Index. */
  val function = Input(UInt(IntegerFunction.bits.W))
  val eew      = Input(UInt(2.W))

  /** All but the active ones of an element group of a mask register; for Iota of the elements of the beat only. */
  val zeros = Input(UInt(p.dLen.W))

  /** CountOnes, FindFirst: the result as far as this beat. */
  val scalar = Output(UInt(p.xLen.W))

  /** SetBefore, SetIncluding, SetOnly: the bits of the result. */
  val bits = Output(UInt(p.dLen.W))

  /** Iota, Index: the result. */
  val vector = Output(UInt(p.dLen.W))
}

/** What is made of the bits of mask registers, an element group a cycle: counts, searches, and the vectors that they
  * give. The count of ones, or where the first of them is, goes from beat to beat.
  */
class MaskUnit(p: VectorParams) extends Module {
  val io = IO(new MaskUnitIO(p))

  import IntegerFunction._
  private val searches = io.function(2)
  private val ones     = ~io.zeros
  private val counts   = PrefixCount(ones(p.dBytes - 1, 0))

  // Of the beats before. Below 0: no one has been found.
  private val before   = Reg(UInt(p.xLen.W))
  private val so       = Mux(io.beat === 0.U, Fill(p.xLen, searches), before)
  private val missing  = so(p.xLen - 1)
  private val here     = ones =/= 0.U
  private val firstOf  = (io.beat * p.dLen.U) +& PriorityEncoder(ones)
  private val newFirst = Mux(missing && here, firstOf, so)
  private val inBeat   = (p.dBytes.U >> io.eew).asUInt
  private val added    = Mux(io.function === Index.U, inBeat, PopCount(ones))
  private val now      = Mux(searches, newFirst, so + added)(p.xLen - 1, 0)
  when(io.valid)(before := now)
  io.scalar             := now

  // The lowest one and all zeros below it; all bits if there is none.
  // The negative of the ones is their complement and 1, and differs from them above the lowest.
  private val through = ~(ones ^ (io.zeros + 1.U))
  io.bits := Fill(p.dLen, missing) & MuxLookup(io.function, through)(
    Seq(SetBefore.U -> (through & ~ones), SetOnly.U -> (through & ones))
  )

  private val below = counts.zipWithIndex.map { case (count, e) => Mux(io.function === Index.U, e.U, count) }
  io.vector := MuxLookup(io.eew, 0.U)((0 to log2Ceil(p.eLen / 8)).map { log =>
    val width = 8 << log
    log.U -> Cat((0 until (p.dBytes >> log)).map(e => (so + below(e)).pad(width)(width - 1, 0)).reverse)
  })
}
