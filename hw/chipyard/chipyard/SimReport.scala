// SPDX-License-Identifier: BSD-3-Clause
package chipyard.assasindrive

import freechips.rocketchip.diplomacy.AddressSet
import freechips.rocketchip.resources.SimpleDevice
import freechips.rocketchip.tilelink.TLRegisterNode
import org.chipsalliance.cde.config.Parameters
import org.chipsalliance.diplomacy.lazymodule.LazyModule

/** A device of simulations: what is written to its first word is printed, a line a word; what is written to its second
  * ends the simulation with that number.
  */
class SimReport(beatBytes: Int)(implicit p: Parameters) extends LazyModule {
  private val device = new SimpleDevice("report", Seq("assasin,report"))

  val node = TLRegisterNode(Seq(AddressSet(SimReport.Base, 0xfff)), device, beatBytes = beatBytes)

  lazy val module = new SimReportImp(this)
}

object SimReport {
  val Base: BigInt = 0x10003000
}
