// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, RegEnable, Valid, log2Ceil}

class VariableSumRequest(p: VectorParams) extends Bundle {
  val operand = new VariableOperand(p)

  /** Elements that are added up. */
  val active = UInt(p.elements.W)
}

class VariableSumIO(p: VectorParams) extends Bundle {
  val in = Flipped(Valid(new VariableSumRequest(p)))

  /** [[VariableSum.latency]] cycles behind `in`: the sum modulo 2^64. */
  val out = Valid(UInt(64.W))

  /** Sums under way are forgotten. */
  val clear = Input(Bool())
}

/** Adds up the elements of a register (docs/varve/unit.md 6.6): slots of the same place in their elements, then these
  * sums. A register a cycle.
  */
class VariableSum(p: VectorParams) extends Module {
  require(p.full, "vectors of any width are of VarVE-full")
  val io = IO(new VariableSumIO(p))

  private val slots    = p.slots
  private val elements = p.elements
  private val slotBits = log2Ceil(slots)

  // ---- Where each element begins; dead slots out ------------------------------------------------------------------------------------
  private val valid1   = RegNext(io.in.valid && !io.clear, false.B)
  private val metadata = io.in.bits.operand.metadata
  private val size1    = metadata.widths.map(w => RegEnable(LaneWidths.slots(w, p.align), io.in.valid))
  private val active1  = RegEnable(io.in.bits.active, io.in.valid)
  private val squeeze  = Module(new Squeeze(p.align, p.slots))
  squeeze.io.data := RegEnable(io.in.bits.operand.data, io.in.valid)
  squeeze.io.live := RegEnable(metadata.live, io.in.valid)
  private val unsigned1             = RegEnable(metadata.unsigned, io.in.valid)
  private val starts1               = PrefixSum(size1, slotBits + 1)
  private def at(place: UInt): UInt = (1.U << place(slotBits - 1, 0))(slots - 1, 0)
  private val begins1               = Seq.tabulate(elements)(i => Mux(size1(i) =/= 0.U, at(starts1(i)), 0.U))

  // ---- Sums of the slots of each place: of signed elements the highest slot is signed -----------------------------------------------
  private val valid2    = RegNext(valid1 && !io.clear, false.B)
  private val data2     = RegEnable(squeeze.io.out, valid1)
  private val unsigned2 = RegEnable(unsigned1, valid1)
  private val first2    = RegEnable(begins1.reduce(_ | _), valid1)
  private val adds2 = RegEnable(
    begins1.zipWithIndex.map { case (begin, i) => Mux(active1(i), begin, 0.U) }.reduce(_ | _),
    valid1
  )
  private val end2      = RegEnable(starts1.last, valid1)
  private val bits      = p.align
  private val ids2      = ElementSlots.below(first2.asBools, p.slotsOfElement)
  private val elements2 = ElementSlots.fromFirst(adds2.asBools, ids2, p.slotsOfElement)
  private val terms2 = Seq.tabulate(slots) { s =>
    val last = s.U +& 1.U === end2 || (if (s + 1 < slots) first2(s + 1) else false.B)
    val slot = data2(bits * (s + 1) - 1, bits * s)
    (
      ids2(s),
      Mux(elements2(s) && s.U < end2, Cat(last && !unsigned2 && slot(bits - 1), slot), 0.U((bits + 1).W)).asSInt
    )
  }
  // Slots of one place of their elements are at least so far apart as this place has slots below it, so of so many
  // neighbours and one more no two have it.
  private val placeBits = bits + 2 + slotBits
  private val sums2 = Seq.tabulate(p.slotsOfElement) { place =>
    val alone = terms2.drop(place min (slots - 1)).grouped(place + 1).map { group =>
      group.map { case (id, term) => Mux(id === place.U, term.asUInt, 0.U((bits + 1).W)) }.reduce(_ | _)
    }
    SumTree(alone.toSeq, placeBits)
  }
  private val places2 = sums2.map(_._1)

  // ---- Sum of these -----------------------------------------------------------------------------------------------------------------
  // Without signs, by adding half of their range, every few places stand side by side in one number; what was added too much
  // is taken off.
  private val valid3  = RegNext(valid2 && !io.clear, false.B)
  private val places3 = places2.map(RegEnable(_, valid2))
  private val apart   = (placeBits + bits - 1) / bits
  private val half    = BigInt(1) << (placeBits - 1)
  private val rows3 = (0 until (apart min p.slotsOfElement)).map { row =>
    val mine = places3.indices.filter(_ % apart == row)
    val word = Cat(mine.reverse.map(place => (places3(place) ^ half.U(placeBits.W)).pad(apart * bits)))
    (word << (bits * row)).pad(64)(63, 0)
  }
  private val excess = sums2.indices.map(place => (half + sums2(place)._2) << (bits * place)).sum
  private val taken  = ((BigInt(1) << 64) - excess % (BigInt(1) << 64)) % (BigInt(1) << 64)
  io.out.valid := RegNext(valid3 && !io.clear, false.B)
  io.out.bits  := RegEnable((rows3 :+ taken.U(64.W)).reduceLeft((x, y) => (x + y)(63, 0)), valid3)
}

object VariableSum {

  /** Cycles from `in` to `out`. */
  val latency = 4
}
