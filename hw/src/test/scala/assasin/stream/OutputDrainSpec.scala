// SPDX-License-Identifier: BSD-3-Clause
package assasin.stream

import scala.util.Random

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** Drain against a stream whose byte at position `pos` is `pos` modulo 251. */
class OutputDrainSpec extends AnyFunSpec with ChiselSim {
  private val dramDst = 9
  private val cores   = 8

  /** Where a job goes: DRAM, a core's memory, a core's input stream, or a core that does not exist. */
  private sealed trait To
  private case object Dram                      extends To
  private case class Memory(core: Int)          extends To
  private case class Stream(core: Int, id: Int) extends To
  private case class Nowhere(core: Int)         extends To

  private def word(pos: Int): BigInt = (0 until 8).map(i => BigInt((pos + i) % 251) << (8 * i)).sum

  describe("OutputDrain") {
    it("sends every length in whole packets, in order, under back-pressure") {
      val random = new Random(4)
      val jobs = (Seq(1, 7, 8, 9, 63, 64, 65, 129, 200)).zipWithIndex.map { case (bytes, i) =>
        (i % 8, i * 4096 + 8 * random.nextInt(64), 0x80000000L + i * 4096, bytes, Dram: To)
      }
      run(random, jobs)
    }

    it("sends to cores, and marks the end of what goes to a stream") {
      val random  = new Random(5)
      val targets = Seq(Stream(3, 5), Dram, Memory(7), Stream(0, 0), Nowhere(8), Stream(3, 5), Nowhere(15), Memory(0))
      val jobs = targets.zip(Seq(4096, 100, 72, 1, 200, 640, 64, 9)).zipWithIndex.map { case ((to, bytes), i) =>
        (i % 8, 8 * random.nextInt(512), 0x1000L + i * 8192 + 8 * (if (to == Dram) 0 else i), bytes, to)
      }
      run(random, jobs)
    }
  }

  private def run(random: Random, jobs: Seq[(Int, Int, Long, Int, To)]): Unit =
    simulate(new OutputDrain(dramDst, cores)) { dut =>
      dut.reset.poke(true)
      dut.clock.step()
      dut.reset.poke(false)
      dut.io.cancel.poke(false)
      var pushed, done     = 0
      var packet           = Seq.empty[Int]
      var received         = Map.empty[Long, Int]
      var nextData: BigInt = 0
      var cycles           = 0
      var open             = false
      while (done < jobs.size) {
        dut.io.job.valid.poke(pushed < jobs.size)
        if (pushed < jobs.size) {
          val (stream, pos, addr, bytes, to) = jobs(pushed)
          dut.io.job.bits.stream.poke(stream)
          dut.io.job.bits.pos.poke(pos)
          dut.io.job.bits.addr.poke(addr)
          dut.io.job.bits.bytes.poke(bytes)
          val (toCore, core, toStream, id) = to match {
            case Dram             => (false, 1, true, 1) // what belongs to cores means nothing
            case Memory(core)     => (true, core, false, 1)
            case Stream(core, id) => (true, core, true, id)
            case Nowhere(core)    => (true, core, true, 2)
          }
          dut.io.job.bits.toCore.poke(toCore)
          dut.io.job.bits.core.poke(core)
          dut.io.job.bits.toStream.poke(toStream)
          dut.io.job.bits.toId.poke(id)
        }
        dut.io.read.req.ready.poke(random.nextInt(4) != 0)
        dut.io.read.data.poke(nextData)
        dut.io.out.ready.poke(random.nextInt(3) != 0)
        dut.io.done.ready.poke(random.nextBoolean())

        if (dut.io.job.valid.peek().litToBoolean && dut.io.job.ready.peek().litToBoolean) pushed += 1
        if (dut.io.read.req.valid.peek().litToBoolean && dut.io.read.req.ready.peek().litToBoolean)
          nextData = word(dut.io.read.req.bits.pos.peek().litValue.toInt)
        val valid = dut.io.out.valid.peek().litToBoolean
        assert(valid || !open, "a packet once begun must not stop")
        if (valid && dut.io.out.ready.peek().litToBoolean) {
          val bits   = dut.io.out.bits
          val bytes  = bits.bytes.peek().litValue.toInt
          val target = jobs(done)._5
          target match {
            case Dram         => bits.dst.expect(dramDst)
            case Memory(core) => bits.dst.expect(core)
            case Stream(core, id) =>
              bits.dst.expect(core)
              bits.stream.expect(id)
            case Nowhere(core) => fail(s"a packet to core $core, which is none of $cores")
          }
          val streams = target.isInstanceOf[Stream]
          bits.toStream.expect(streams)
          packet = packet ++ (0 until 8).map(i => ((bits.data.peek().litValue >> (8 * i)) & 0xff).toInt)
          open = !bits.last.peek().litToBoolean
          if (!open) {
            assert(packet.size == (bytes + 7) / 8 * 8)
            val addr = bits.addr.peek().litValue.toLong
            assert(target != Dram || addr % 64 == 0)
            val (_, _, first, length, _) = jobs(done)
            bits.mark.expect(streams && addr + bytes == first + length)
            received = received ++ packet.take(bytes).zipWithIndex.map { case (b, i) => (addr + i) -> b }
            packet = Nil
          }
        }
        if (dut.io.done.valid.peek().litToBoolean && dut.io.done.ready.peek().litToBoolean) {
          val (stream, pos, addr, bytes, to) = jobs(done)
          dut.io.done.bits.stream.expect(stream)
          dut.io.done.bits.bytes.expect(bytes)
          if (!to.isInstanceOf[Nowhere])
            for (i <- 0 until bytes) assert(received(addr + i) == (pos + i) % 251, s"job $done byte $i")
          done += 1
        }
        dut.clock.step()
        cycles += 1
        assert(cycles < 20000, "the drain stands still")
      }
      val wanted = jobs.filterNot(_._5.isInstanceOf[Nowhere])
      assert(received.size == wanted.map(_._4).sum, "bytes that nobody asked for")
      dut.io.busy.expect(false)
      dut.io.space.expect(4)
    }
}
