// SPDX-License-Identifier: BSD-3-Clause
package assasin.stream

import scala.util.Random

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** Pointer file against an array. */
class PointerFileSpec extends AnyFunSpec with ChiselSim {
  describe("PointerFile") {
    it("keeps eight pointers that a clear sets all at once") {
      val random = new Random(6)
      simulate(new PointerFile(2)) { dut =>
        dut.io.initial.poke(4096)
        dut.io.clear.poke(false)
        dut.io.write.valid.poke(false)
        dut.reset.poke(true)
        dut.clock.step()
        dut.reset.poke(false)
        val model = Array.fill(8)(BigInt(4096))
        for (_ <- 0 until 150) {
          val clear = random.nextInt(20) == 0
          val write = random.nextBoolean()
          val value = BigInt(32, random)
          val at    = random.nextInt(8)
          val reads = Seq.fill(2)(random.nextInt(8))
          dut.io.clear.poke(clear)
          dut.io.write.valid.poke(write)
          dut.io.write.bits.stream.poke(at)
          dut.io.write.bits.value.poke(value)
          for (i <- 0 until 2) {
            dut.io.stream(i).poke(reads(i))
            dut.io.value(i).expect(model(reads(i)))
          }
          dut.clock.step()
          if (write) model(at) = value
          if (clear) model.mapInPlace(_ => BigInt(4096))
        }
      }
    }
  }
}
