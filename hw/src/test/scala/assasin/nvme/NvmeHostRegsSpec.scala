// SPDX-License-Identifier: BSD-3-Clause
package assasin.nvme

import chisel3._
import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec

/** What the host reads of the controller memory buffer, on chips with and without one. */
class NvmeHostRegsSpec extends AnyFunSpec with ChiselSim {
  private val CapHigh = 0x04
  private val Cmbloc  = 0x38
  private val Cmbsz   = 0x3c
  private val Cmbmsc  = 0x50

  private def start(dut: NvmeHostRegs): Unit = {
    dut.io.cap.poke("h00000830ff0100ff".U)
    dut.io.csts.poke(0)
    dut.io.doorbell.ready.poke(true)
    dut.io.host.req.valid.poke(false)
    dut.reset.poke(true)
    dut.clock.step()
    dut.reset.poke(false)
  }

  private def access(dut: NvmeHostRegs, offset: Int, write: Option[BigInt]): BigInt = {
    val req = dut.io.host.req
    req.valid.poke(true)
    req.bits.addr.poke(offset)
    req.bits.write.poke(write.isDefined)
    req.bits.wdata.poke(write.getOrElse(BigInt(0)))
    req.bits.strb.poke(0xf)
    dut.clock.step()
    req.valid.poke(false)
    dut.io.host.resp.valid.expect(true)
    dut.io.host.resp.bits.peek().litValue
  }
  private def read(dut: NvmeHostRegs, offset: Int): BigInt               = access(dut, offset, None)
  private def write(dut: NvmeHostRegs, offset: Int, value: BigInt): Unit = access(dut, offset, Some(value))

  describe("NvmeHostRegs") {
    it("shows the controller memory buffer") {
      simulate(new NvmeHostRegs(buffer = true)) { dut =>
        start(dut)
        assert(read(dut, CapHigh) == (BigInt(0x830) | BigInt(1) << 25))
        write(dut, Cmbmsc + 4, 5)
        write(dut, Cmbmsc, 0x00200003)
        assert(read(dut, Cmbmsc) == 0x00200003 && read(dut, Cmbmsc + 4) == 5)
        assert(read(dut, Cmbloc) == NvmeHostRegs.Cmbloc && read(dut, Cmbsz) == NvmeHostRegs.Cmbsz)
        dut.io.state.window.enable.expect(true)
      }
    }

    it("hides it where the board has no access wider than 32 bits") {
      simulate(new NvmeHostRegs(buffer = false)) { dut =>
        start(dut)
        assert(read(dut, CapHigh) == 0x830)
        write(dut, Cmbmsc + 4, 5)
        write(dut, Cmbmsc, 0x00200003)
        Seq(Cmbmsc, Cmbmsc + 4, Cmbloc, Cmbsz).foreach(offset => assert(read(dut, offset) == 0))
        dut.io.state.window.enable.expect(false)
      }
    }
  }
}
