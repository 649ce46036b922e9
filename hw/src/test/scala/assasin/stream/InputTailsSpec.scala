// SPDX-License-Identifier: BSD-3-Clause
package assasin.stream

import scala.util.Random

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** Tails against a set of arrived pages: 8 streams of 16 pages of 512 bytes, pages arriving in random order. */
class InputTailsSpec extends AnyFunSpec with ChiselSim {
  private val page  = 512
  private val pages = 16

  describe("InputTails") {
    it("passes pages in order however they arrive, lap after lap") {
      val random = new Random(5)
      simulate(new InputTails(65536, 1)) { dut =>
        dut.io.partition.sLog2.poke(3)
        dut.io.partition.pageLog2.poke(9)
        dut.io.partition.ringMask.poke(page * pages - 1)
        dut.io.partition.pageMask.poke(page - 1)
        dut.io.partition.pages.poke(pages)
        dut.io.clear.poke(false)
        dut.io.write.valid.poke(false)
        dut.io.mark.valid.poke(false)
        dut.reset.poke(true)
        dut.clock.step()
        dut.reset.poke(false)

        val arrived                 = Array.fill(8)(Set.empty[Int])
        def first(stream: Int): Int = Iterator.from(0).find(q => !arrived(stream)(q)).get
        for (_ <- 0 until 300) {
          val stream = random.nextInt(8)
          // Any page of the ring that starts at the first one missing.
          val q = first(stream) + random.nextInt(pages)
          if (!arrived(stream)(q) && random.nextInt(3) != 0) {
            arrived(stream) += q
            dut.io.mark.valid.poke(true)
            dut.io.mark.bits.poke(stream * pages + q % pages)
          } else {
            dut.io.mark.valid.poke(false)
          }
          dut.clock.step()
          dut.io.mark.valid.poke(false)
          // Never ahead of what has arrived ...
          dut.io.stream(0).poke(stream)
          assert(dut.io.value(0).peek().litValue <= first(stream) * page)
          if (random.nextInt(20) == 0) {
            // ... and up to date after a look at every stream for every page it may have to pass.
            dut.clock.step(2 * (8 + 8 * pages))
            for (s <- 0 until 8) {
              dut.io.stream(0).poke(s)
              dut.io.value(0).expect(first(s) * page, s"stream $s")
            }
          }
        }
        dut.io.clear.poke(true)
        dut.clock.step()
        dut.io.clear.poke(false)
        dut.clock.step(400)
        for (s <- 0 until 8) {
          dut.io.stream(0).poke(s)
          dut.io.value(0).expect(0, s"stream $s after a clear")
        }
      }
    }
  }
}
