// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import scala.util.Random

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** Integer unit against Scala's own arithmetic. */
class AluSpec extends AnyFunSpec with ChiselSim {
  private def expected(fn: Int, alt: Boolean, a: Int, b: Int): Int = fn match {
    case 0 => if (alt) a - b else a + b
    case 1 => a << (b & 31)
    case 2 => if (a < b) 1 else 0
    case 3 => if (Integer.compareUnsigned(a, b) < 0) 1 else 0
    case 4 => a ^ b
    case 5 => if (alt) a >> (b & 31) else a >>> (b & 31)
    case 6 => a | b
    case 7 => a & b
  }

  describe("Alu") {
    it("computes every function on edge and random values") {
      val random = new Random(1)
      simulate(new Alu) { dut =>
        for (_ <- 0 until 300) {
          val (a, b) = (Operands.pick(random), Operands.pick(random))
          val fn     = random.nextInt(8)
          val alt    = (fn == 0 || fn == 5) && random.nextBoolean()
          val invert = (fn == 4 || fn == 6 || fn == 7) && random.nextBoolean()
          val want   = expected(fn, alt, a, if (invert) ~b else b)
          dut.io.fn.poke(fn)
          dut.io.alt.poke(alt)
          dut.io.unsignedLess.poke(fn % 2 == 1)
          dut.io.invertB.poke(invert)
          dut.io.a.poke(Operands.unsigned(a))
          dut.io.b.poke(Operands.unsigned(b))
          dut.io.out.expect(Operands.unsigned(want).U, s"fn $fn alt $alt invert $invert a $a b $b")
          dut.io.sum.expect(Operands.unsigned(a + b).U)
          dut.io.equal.expect(a == b)
        }
      }
    }
  }
}
