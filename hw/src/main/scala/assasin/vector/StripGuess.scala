// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Valid, log2Ceil}

class StripGuessIO(p: VectorParams) extends Bundle {
  private val countBits = log2Ceil(p.elements + 1)

  /** The oldest strip whose number is not known, as in [[StripPlace]]; its number is known, and it is the oldest no
    * more from the next cycle on. NumE by strips.
    */
  val oldest   = Input(UInt(StripPlace.stripBits.W))
  val resolves = Input(Bool())
  val numEs    = Input(Vec(StripPlace.strips, UInt(countBits.W)))

  /** An instruction of this strip, the one behind the oldest, is taken as if the oldest one had this number. */
  val taken  = Flipped(Valid(UInt(StripPlace.stripBits.W)))
  val number = Output(UInt(countBits.W))

  /** What becomes of all that were. `holds`: it will be confirmed in the next cycle. */
  val fate  = Output(new GuessFate)
  val holds = Output(Bool())

  val clear = Input(Bool())
}

/** The number of elements that an unpack of VarVE-full expects of the strip before its own (docs/varve/unit.md 6.3):
  * that of the last strip if the last eight had the same, and NumE of the strip as it stands where that is less.
  *
  * NumE only falls. The guess fails as soon as it is below what was expected; or, a cycle behind the number, if it was
  * not the number.
  */
class StripGuess(p: VectorParams) extends Module {
  val io = IO(new StripGuessIO(p))

  private val most = p.elements.U(log2Ceil(p.elements + 1).W)

  private val guessing = RegInit(false.B)
  private val strip    = Reg(UInt(StripPlace.stripBits.W))
  private val assumed  = Reg(UInt(log2Ceil(p.elements + 1).W))
  private val open     = strip =/= io.oldest
  private val right    = io.numEs(strip - 1.U) === assumed
  private val stands   = io.numEs(io.oldest)
  io.fate.confirm := guessing && !open && right
  io.fate.redo    := guessing && Mux(open, stands < assumed, !right)
  io.holds        := guessing && open && right && io.resolves

  // The last strip's number, and how many strips before it had the same, up to `proof`. Fewer would be chance where numbers
  // vary.
  private val proof = 7
  private val last  = RegInit(most)
  private val same  = RegInit(0.U(log2Ceil(proof + 1).W))
  when(io.resolves) {
    last := stands
    same := Mux(last === stands, Mux(same === proof.U, same, same + 1.U), 0.U)
  }
  private val expects = same === proof.U && last < stands
  io.number := Mux(guessing, assumed, Mux(expects, last, stands))

  guessing := !io.fate.confirm && !io.fate.redo && (guessing || io.taken.valid)
  when(io.taken.valid) {
    strip   := io.taken.bits
    assumed := io.number
  }
  when(io.clear) {
    guessing := false.B
    last     := most
    same     := 0.U
  }
}
