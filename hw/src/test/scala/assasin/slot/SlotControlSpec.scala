// SPDX-License-Identifier: BSD-3-Clause
package assasin.slot

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** Accesses to a kernel's registers: of one that answers, one that does not, and one in reset. */
class SlotControlSpec extends AnyFunSpec with ChiselSim {

  /** Makes an access; returns what is read and how many cycles it took. The kernel is moved by `kernel` every cycle. */
  private def access(dut: SlotControl, write: Boolean, addr: Int, data: BigInt)(kernel: => Unit): (BigInt, Int) = {
    dut.io.regs.req.valid.poke(true)
    dut.io.regs.req.bits.write.poke(write)
    dut.io.regs.req.bits.addr.poke(addr)
    dut.io.regs.req.bits.wdata.poke(data)
    dut.io.regs.req.ready.expect(true)
    var cycles = 0
    var value  = Option.empty[BigInt]
    while (value.isEmpty) {
      kernel
      dut.clock.step()
      dut.io.regs.req.valid.poke(false)
      cycles += 1
      if (dut.io.regs.resp.valid.peek().litToBoolean) value = Some(dut.io.regs.resp.bits.peek().litValue)
      assert(cycles < 2000, "no answer")
    }
    dut.clock.step()
    (value.get, cycles)
  }

  describe("SlotControl") {
    it("passes accesses on, and gives up on a kernel that does not answer until its reset") {
      simulate(new SlotControl) { dut =>
        val axi  = dut.io.axi
        val ones = (BigInt(1) << 32) - 1
        for (r <- Seq(axi.awaddr.ready, axi.wdata.ready, axi.araddr.ready)) r.poke(false)
        axi.bresp.valid.poke(false)
        axi.rdata.valid.poke(false)
        axi.rdata.bits.data.poke(0)
        dut.io.regs.req.valid.poke(false)
        dut.io.run.poke(false)
        dut.io.held.poke(true)
        dut.reset.poke(true)
        dut.clock.step()
        dut.reset.poke(false)

        // Stopped: answered at once, without the kernel.
        val (stopped, soon) = access(dut, write = false, 0, 0) { axi.araddr.valid.expect(false) }
        assert(stopped == ones && soon < 5)

        // Let go of 30 cycles later: the access waits for that. Address and data are taken in either order.
        dut.io.run.poke(true)
        for (addressFirst <- Seq(true, false)) {
          var n       = 0
          var written = Seq.empty[(BigInt, BigInt)]
          var address = BigInt(-1)
          var word    = BigInt(-1)
          access(dut, write = true, 0x18, 0xabcd) {
            n += 1
            dut.io.held.poke(addressFirst && n < 30)
            axi.awaddr.ready.poke(if (addressFirst) n > 33 else n > 40)
            axi.wdata.ready.poke(if (addressFirst) n > 40 else n > 33)
            if (axi.awaddr.valid.peek().litToBoolean && axi.awaddr.ready.peek().litToBoolean)
              address = axi.awaddr.bits.peek().litValue
            if (axi.wdata.valid.peek().litToBoolean && axi.wdata.ready.peek().litToBoolean)
              word = axi.wdata.bits.data.peek().litValue
            axi.bresp.valid.poke(n > 45)
            if (n == 45) written :+= ((address, word))
          }
          assert(written == Seq((BigInt(0x18), BigInt(0xabcd))))
          axi.bresp.valid.poke(false)
        }
        var m = 0
        val (value, _) = access(dut, write = false, 0x10, 0) {
          m += 1
          axi.araddr.ready.poke(m > 2)
          axi.rdata.valid.poke(m > 6)
          axi.rdata.bits.data.poke(0x1234)
        }
        assert(value == 0x1234)
        axi.rdata.valid.poke(false)
        dut.io.dead.expect(false)

        // Silent.
        axi.araddr.ready.poke(false)
        val (silent, long) = access(dut, write = false, 0, 0) {}
        assert(silent == ones && long > KernelSlot.Patience && long < KernelSlot.Patience + 10)
        dut.io.dead.expect(true)
        val (dead, quick) = access(dut, write = true, 0, 1) { axi.awaddr.valid.expect(false) }
        assert(dead == ones && quick < 5)
        dut.io.run.poke(false)
        dut.clock.step()
        dut.io.dead.expect(false)
      }
    }
  }
}
