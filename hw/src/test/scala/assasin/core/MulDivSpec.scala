// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import scala.util.Random

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** Multiplier and divider against the tables of the RISC-V M extension. */
class MulDivSpec extends AnyFunSpec with ChiselSim {
  // Each poke and peek is a message to the simulation, so: what matters most here, the mass in co-simulation.
  private def inputs(seed: Int, count: Int): Seq[(Int, Int)] = {
    val random = new Random(seed)
    Seq((Int.MinValue, -1), (Int.MinValue, 0), (7, 0), (-7, 0), (-7, 2), (7, -2), (-1, -1), (0, 5)) ++
      Seq.fill(count)((Operands.pick(random), Operands.pick(random)))
  }

  private def product(fn: Int, a: Int, b: Int): BigInt = {
    val x = if (fn == 3) Operands.unsigned(a) else BigInt(a)
    val y = if (fn >= 2) Operands.unsigned(b) else BigInt(b)
    ((x * y) >> (if (fn == 0) 0 else 32)) & 0xffffffffL
  }

  private def quotient(fn: Int, a: Int, b: Int): BigInt = {
    val (x, y) = if (fn % 2 == 1) (Operands.unsigned(a), Operands.unsigned(b)) else (BigInt(a), BigInt(b))
    val result = if (fn < 2) { if (y == 0) BigInt(-1) else x / y }
    else { if (y == 0) x else x % y }
    result & 0xffffffffL
  }

  describe("Multiplier") {
    it("gives the product a cycle later, one a cycle, and holds it while the pipeline stands") {
      simulate(new Multiplier) { dut =>
        dut.io.advance.poke(true)
        for ((a, b) <- inputs(2, 50); fn <- 0 until 4) {
          dut.io.fn.poke(fn)
          dut.io.a.poke(Operands.unsigned(a))
          dut.io.b.poke(Operands.unsigned(b))
          dut.clock.step()
          dut.io.out.expect(product(fn, a, b).U, s"fn $fn a $a b $b")
        }
        dut.io.fn.poke(0)
        dut.io.a.poke(6)
        dut.io.b.poke(7)
        dut.clock.step()
        dut.io.advance.poke(false)
        dut.io.a.poke(9)
        dut.clock.step(3)
        dut.io.out.expect(42)
      }
    }
  }

  describe("Divider") {
    it("gives quotient and remainder, also by zero and on overflow, and abandons a division that goes away") {
      simulate(new Divider) { dut =>
        dut.reset.poke(true)
        dut.clock.step()
        dut.reset.poke(false)
        for ((a, b) <- inputs(3, 30); fn <- 0 until 4) {
          dut.io.fn.poke(fn)
          dut.io.a.poke(Operands.unsigned(a))
          dut.io.b.poke(Operands.unsigned(b))
          dut.io.take.poke(false)
          dut.io.valid.poke(true)
          // At the latest after 34 steps, and then it stays until taken.
          dut.clock.step(if (a >= 0 && a < 0x100) 10 else 34)
          dut.io.done.expect(true)
          dut.clock.step()
          dut.io.out.expect(quotient(fn, a, b).U, s"fn $fn a $a b $b")
          dut.io.take.poke(true)
          dut.clock.step()
        }
        dut.io.valid.poke(false)
        dut.clock.step()
        dut.io.take.poke(false)
        dut.io.fn.poke(1)
        dut.io.a.poke(1000000)
        dut.io.b.poke(3)
        dut.io.valid.poke(true)
        dut.clock.step(10)
        dut.io.valid.poke(false)
        dut.clock.step()
        dut.io.a.poke(100)
        dut.io.b.poke(7)
        dut.io.valid.poke(true)
        dut.clock.step()
        dut.io.done.expect(false)
        dut.clock.step(12)
        dut.io.done.expect(true)
        dut.io.out.expect(14)
      }
    }
  }
}
