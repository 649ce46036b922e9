// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.contract.FlashRegs
import chisel3._
import chisel3.util.Valid

/** A command step, see the FLASH register STEPS. */
class Step extends Bundle {
  val kind  = UInt(3.W)
  val guard = UInt(2.W)
  val when  = UInt(3.W)
  val byte  = UInt(8.W)
  val end   = UInt(2.W)

  def is(code: Int): Bool = kind === code.U
}

object Step {

  /** Places of the step memory, log2. */
  val PlaceBits: Int = chisel3.util.log2Ceil(FlashRegs.Steps.count)

  /** The step in a word of STEPS. */
  def from(word: UInt): Step = {
    val step = Wire(new Step)
    step.kind  := word(2, 0)
    step.guard := word(4, 3)
    step.when  := word(7, 5)
    step.byte  := word(15, 8)
    step.end   := word(17, 16)
    step
  }
}

/** The steps with which an operation's phases begin, see the FLASH register PHASES. */
class Phases extends Bundle {
  val first  = UInt(Step.PlaceBits.W)
  val second = UInt(Step.PlaceBits.W)
  val other  = UInt(Step.PlaceBits.W)
  val select = UInt(Step.PlaceBits.W)
}

/** The firmware writes a step, or an operation's phases. */
class StepWrite extends Bundle {
  val step   = Valid(new Step)
  val phases = Valid(new Phases)

  /** Place of the step, or operation. */
  val place = UInt(Step.PlaceBits.W)
}
