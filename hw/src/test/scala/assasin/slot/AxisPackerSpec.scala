// SPDX-License-Identifier: BSD-3-Clause
package assasin.slot

import scala.util.Random

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** Packer against the bytes that its transfers keep. */
class AxisPackerSpec extends AnyFunSpec with ChiselSim {

  private def little(bytes: Seq[Int]): BigInt = bytes.zipWithIndex.map { case (b, i) => BigInt(b) << (8 * i) }.sum

  describe("AxisPacker") {
    it("gives whole words, a transfer a cycle, whatever the transfers keep") {
      val random = new Random(9)
      // Kept bytes of every transfer of a stream: whole words but for the last, single bytes, anything, nothing.
      val streams =
        (0 to 8).map(n => Seq(8, 8, n)) ++ Seq(Seq(0), Seq.fill(19)(1), Seq.fill(12)(5), Seq(0, 0, 3, 0, 8, 7, 0)) ++
          Seq.fill(10)(Seq.fill(1 + random.nextInt(20))(random.nextInt(9)))
      simulate(new AxisPacker) { dut =>
        dut.io.clear.poke(false)
        dut.reset.poke(true)
        dut.clock.step()
        dut.reset.poke(false)
        for (slow <- Seq(false, true); kept <- streams) {
          val beats   = kept.map(n => Seq.fill(n)(random.nextInt(256)))
          var sent    = 0
          var cycles  = 0
          var done    = false
          var got     = Seq.empty[(BigInt, Int)]
          var waiting = 0
          while (!done) {
            val offers = sent < beats.size && (!slow || random.nextBoolean())
            dut.io.in.valid.poke(offers)
            if (offers) {
              val junk = Seq.fill(8 - kept(sent))(random.nextInt(256))
              dut.io.in.bits.data.poke(little(beats(sent) ++ junk))
              dut.io.in.bits.keep.poke((1 << kept(sent)) - 1)
              dut.io.in.bits.last.poke(sent == beats.size - 1)
            }
            val takes = !slow || random.nextInt(3) != 0
            dut.io.out.ready.poke(takes)
            if (takes && dut.io.out.valid.peek().litToBoolean) {
              val n    = dut.io.out.bits.bytes.peek().litValue.toInt
              val last = dut.io.out.bits.last.peek().litToBoolean
              assert(last || n == 8)
              got :+= ((dut.io.out.bits.data.peek().litValue & ((BigInt(1) << (8 * n)) - 1)) -> n)
              done = last
            }
            if (offers && dut.io.in.ready.peek().litToBoolean) sent += 1
            dut.clock.step()
            cycles += 1
            waiting += 1
            assert(waiting < 1000)
          }
          val bytes = got.flatMap { case (data, n) => (0 until n).map(i => ((data >> (8 * i)) & 255).toInt) }
          assert(bytes == beats.flatten)
          if (!slow) assert(cycles <= beats.size + 1, s"$kept took $cycles cycles")
        }
      }
    }
  }
}
