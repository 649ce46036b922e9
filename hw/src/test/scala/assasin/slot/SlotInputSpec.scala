// SPDX-License-Identifier: BSD-3-Clause
package assasin.slot

import scala.util.Random

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** Input buffer of a slot against streams whose word at position `pos` of stream `s` is `pos + s * 2^40`. */
class SlotInputSpec extends AnyFunSpec with ChiselSim {
  private val page = 512

  private def word(stream: Int, pos: Int): BigInt = (BigInt(stream) << 40) + pos

  /** A page is delivered as far as `bytes` go, eight a cycle. */
  private def deliver(dut: SlotInput, stream: Int, at: Int, bytes: Int): Unit = {
    for (pos <- at until at + bytes by 8) {
      dut.io.deliver.valid.poke(true)
      dut.io.deliver.bits.pos.poke(pos)
      dut.io.deliver.bits.stream.poke(stream)
      dut.io.deliver.bits.data.poke(word(stream, pos))
      dut.io.deliver.bits.mark.poke(pos + 8 >= at + bytes)
      dut.clock.step()
    }
    dut.io.deliver.valid.poke(false)
  }

  private def end(dut: SlotInput, stream: Int, at: Int, known: Int): Unit = {
    dut.io.writeEnd.valid.poke(true)
    dut.io.writeEnd.bits.stream.poke(stream)
    dut.io.writeEnd.bits.value.poke(at)
    dut.clock.step()
    dut.io.writeEnd.valid.poke(false)
    dut.io.writeEndValid.valid.poke(true)
    dut.io.writeEndValid.bits.poke(known)
    dut.clock.step()
    dut.io.writeEndValid.valid.poke(false)
  }

  /** Partition, reset and clear. */
  private def prepare(dut: SlotInput, sLog2: Int): Unit = {
    val ring = 65536 >> sLog2
    dut.io.partition.sLog2.poke(sLog2)
    dut.io.partition.pageLog2.poke(9)
    dut.io.partition.ringMask.poke(ring - 1)
    dut.io.partition.pageMask.poke(page - 1)
    dut.io.partition.pages.poke(ring / page)
    dut.io.deliver.valid.poke(false)
    dut.io.deliver.bits.raw.poke(false)
    dut.io.writeTail.valid.poke(false)
    dut.io.writeEnd.valid.poke(false)
    dut.io.writeEndValid.valid.poke(false)
    dut.io.peek.stream.poke(0)
    dut.io.open.poke(false)
    dut.io.streams.foreach(_.ready.poke(false))
    dut.io.clear.poke(true)
    dut.reset.poke(true)
    dut.clock.step()
    dut.reset.poke(false)
    dut.clock.step()
    dut.io.clear.poke(false)
  }

  describe("SlotInput") {
    it("gives eight bytes a cycle, alone or shared, and ends streams of every length") {
      simulate(new SlotInput(65536)) { dut =>
        // One stream that is there.
        val beats = 1024
        prepare(dut, 0)
        for (at <- 0 until beats * 8 by page) deliver(dut, 0, at, page)
        end(dut, 0, beats * 8, 1)
        dut.clock.step(300)
        dut.io.open.poke(true)
        dut.io.streams(0).ready.poke(true)
        var got, cycles = 0
        while (got < beats) {
          if (dut.io.streams(0).valid.peek().litToBoolean) {
            dut.io.streams(0).bits.data.expect(word(0, got * 8))
            dut.io.streams(0).bits.last.expect(got == beats - 1)
            got += 1
          }
          dut.clock.step()
          cycles += 1
          assert(cycles < beats + 4, s"$got beats in $cycles cycles")
        }

        // Two streams, taken at random; partial and empty last beats, and ends that are known only when all is there, which are
        // at the end of a page: a shorter page is sent with its end known.
        val random = new Random(3)
        for (
          (lengths, late) <- Seq(
            Seq(1500, 3)   -> false,
            Seq(0, 1024)   -> true,
            Seq(512, 509)  -> false,
            Seq(2048, 512) -> true
          )
        ) {
          prepare(dut, 1)
          dut.io.open.poke(true)
          if (!late) for (s <- 0 to 1) end(dut, s, lengths(s), (1 << (s + 1)) - 1)
          for (s <- 0 to 1; at <- 0 until lengths(s) by page) deliver(dut, s, at, page.min(lengths(s) - at))
          if (late) {
            dut.clock.step(100)
            for (s <- 0 to 1) end(dut, s, lengths(s), (1 << (s + 1)) - 1)
          }
          val pos    = Array(0, 0)
          val ended  = Array(false, false)
          var waited = 0
          while (!ended.forall(identity)) {
            for (s <- 0 to 1) {
              val takes = random.nextBoolean()
              val port  = dut.io.streams(s)
              port.ready.poke(takes)
              if (takes && port.valid.peek().litToBoolean) {
                val n    = 8.min(lengths(s) - pos(s))
                val mask = (BigInt(1) << (8 * n)) - 1
                assert(!ended(s), s"stream $s goes on behind its end")
                port.bits.keep.expect((1 << n) - 1)
                assert((port.bits.data.peek().litValue & mask) == (word(s, pos(s)) & mask))
                pos(s) += n
                ended(s) = pos(s) == lengths(s)
                assert(port.bits.last.peek().litToBoolean == ended(s), s"stream $s at ${pos(s)} of ${lengths(s)}")
              }
            }
            dut.clock.step()
            waited += 1
            assert(waited < 5000, s"streams of $lengths bytes stand at ${pos.toSeq}")
          }
          dut.io.streams.foreach(_.ready.poke(true))
          for (_ <- 0 until 50) {
            dut.io.streams.foreach(_.valid.expect(false))
            dut.clock.step()
          }
          for (s <- 0 to 1) {
            dut.io.peek.stream.poke(s)
            dut.io.peek.head.expect(lengths(s))
            dut.io.room(s).expect(lengths(s) / page + 64)
          }
        }
      }
    }
  }
}
