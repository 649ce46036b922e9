package assasin.stream

import scala.util.Random

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** Drain against a stream whose byte at position `pos` is `pos` modulo 251. */
class OutputDrainSpec extends AnyFunSpec with ChiselSim {
  private val dramDst = 9

  private def word(pos: Int): BigInt = (0 until 8).map(i => BigInt((pos + i) % 251) << (8 * i)).sum

  describe("OutputDrain") {
    it("sends every length in whole packets, in order, under back-pressure") {
      val random = new Random(4)
      val jobs = (Seq(1, 7, 8, 9, 63, 64, 65, 129, 200)).zipWithIndex.map { case (bytes, i) =>
        (i % 8, i * 4096 + 8 * random.nextInt(64), 0x80000000L + i * 4096, bytes)
      }
      simulate(new OutputDrain(dramDst)) { dut =>
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
            val (stream, pos, dst, bytes) = jobs(pushed)
            dut.io.job.bits.stream.poke(stream)
            dut.io.job.bits.pos.poke(pos)
            dut.io.job.bits.dst.poke(dst)
            dut.io.job.bits.bytes.poke(bytes)
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
            val bits  = dut.io.out.bits
            val bytes = bits.bytes.peek().litValue.toInt
            bits.dst.expect(dramDst)
            bits.toStream.expect(false)
            packet = packet ++ (0 until 8).map(i => ((bits.data.peek().litValue >> (8 * i)) & 0xff).toInt)
            open = !bits.last.peek().litToBoolean
            if (!open) {
              assert(packet.size == (bytes + 7) / 8 * 8)
              val addr = bits.addr.peek().litValue.toLong
              assert(addr % 64 == 0)
              received = received ++ packet.take(bytes).zipWithIndex.map { case (b, i) => (addr + i) -> b }
              packet = Nil
            }
          }
          if (dut.io.done.valid.peek().litToBoolean && dut.io.done.ready.peek().litToBoolean) {
            val (stream, pos, dst, bytes) = jobs(done)
            dut.io.done.bits.stream.expect(stream)
            dut.io.done.bits.bytes.expect(bytes)
            for (i <- 0 until bytes) assert(received(dst + i) == (pos + i) % 251, s"job $done byte $i")
            done += 1
          }
          dut.clock.step()
          cycles += 1
          assert(cycles < 20000, "the drain stands still")
        }
        assert(received.size == jobs.map(_._4).sum, "bytes that nobody asked for")
        dut.io.busy.expect(false)
        dut.io.space.expect(4)
      }
    }
  }
}
