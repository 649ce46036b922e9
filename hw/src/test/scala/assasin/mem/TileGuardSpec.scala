// SPDX-License-Identifier: BSD-3-Clause
package assasin.mem

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

import assasin.bus.Axi4Params

/** A tile that is reset in the middle of a write and of two reads. */
class TileGuardSpec extends AnyFunSpec with ChiselSim {
  describe("TileGuard") {
    it("ends what a reset tile has begun, and keeps old answers from it") {
      simulate(new TileGuard(Axi4Params())) { dut =>
        val tile = dut.io.tile
        dut.reset.poke(true)
        dut.io.hold.poke(false)
        Seq(tile.ar.valid, tile.aw.valid, tile.w.valid, dut.io.read.r.valid, dut.io.write.b.valid)
          .foreach(_.poke(false))
        Seq(tile.r.ready, tile.b.ready, dut.io.read.ar.ready, dut.io.write.aw.ready, dut.io.write.w.ready)
          .foreach(_.poke(true))
        dut.clock.step()
        dut.reset.poke(false)

        // Two reads of a beat, one write of eight of which three go.
        tile.ar.valid.poke(true)
        tile.ar.bits.len.poke(0)
        tile.aw.valid.poke(true)
        tile.aw.bits.len.poke(7)
        dut.clock.step()
        tile.aw.valid.poke(false)
        tile.w.valid.poke(true)
        tile.w.bits.strb.poke(0xff)
        dut.clock.step()
        tile.ar.valid.poke(false)
        for (_ <- 0 until 2) {
          dut.io.write.w.valid.expect(true)
          dut.io.write.w.bits.strb.expect(0xff)
          dut.clock.step()
        }

        dut.io.hold.poke(true)
        tile.w.valid.poke(false)
        tile.ar.valid.poke(true)
        for (beat <- 3 until 8) {
          dut.io.write.w.valid.expect(true)
          dut.io.write.w.bits.strb.expect(0)
          dut.io.write.w.bits.last.expect(beat == 7)
          dut.io.read.ar.valid.expect(false)
          dut.clock.step()
        }
        dut.io.write.w.valid.expect(false)
        dut.io.hold.poke(false)
        tile.r.ready.poke(false)

        // The answers come late and are not the tile's.
        dut.clock.step(5)
        dut.io.read.ar.valid.expect(false)
        dut.io.write.b.valid.poke(true)
        dut.io.write.b.ready.expect(true)
        tile.b.valid.expect(false)
        dut.clock.step()
        dut.io.write.b.valid.poke(false)
        dut.io.read.r.valid.poke(true)
        dut.io.read.r.bits.last.poke(true)
        dut.io.read.r.ready.expect(true)
        tile.r.valid.expect(false)
        dut.clock.step(2)
        dut.io.read.r.valid.poke(false)
        dut.clock.step(2)

        // Then the tile gets through.
        dut.io.read.ar.valid.expect(true)
        dut.clock.step()
        dut.io.read.r.valid.poke(true)
        tile.r.valid.expect(true)
        dut.io.read.r.ready.expect(false)
      }
    }
  }
}
