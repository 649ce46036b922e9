// SPDX-License-Identifier: BSD-3-Clause
package chipyard.assasindrive

import assasin.Emission
import assasin.soc.{AssasinSocIO, BoardIO, Emit}
import assasin.subsystem.{DriveKey, EntryKey}
import chipyard.harness.HasHarnessInstantiators
import chisel3._
import freechips.rocketchip.subsystem.{MaxXLen, SystemBusKey}
import freechips.rocketchip.util.ElaborationArtefacts
import org.chipsalliance.cde.config.Parameters

/** A Chipyard chip with a drive behind the ports of AssasinSoc, so that the virtual board runs it: Chipyard's harness,
  * with the board's models of NAND, DRAM and PCIe outside. It needs [[WithVirtualBoard]] and one clock for everything.
  */
class DriveTop(implicit val p: Parameters) extends Module with HasHarnessInstantiators {
  private val soc = p(DriveKey).getOrElse(throw new IllegalArgumentException("DriveTop: add WithAssasin")).soc

  val io = IO(new AssasinSocIO(soc, BoardIO.dramParams(soc)))

  val success: Bool = successFn(chiptopSuccess)

  def referenceClockFreqMHz: Double = p(SystemBusKey).dtsFrequency.fold[Double] {
    throw new IllegalArgumentException(
      "DriveTop: the system bus has no frequency; add WithSystemBusFrequency(500), and the same to the other buses"
    )
  }(_.toDouble / 1e6)
  def referenceClock: Clock = clock
  def referenceReset: Reset = reset

  instantiateChipTops()

  // What the board's build asks for beside the Verilog. The tiles' registers have so many bits.
  ElaborationArtefacts.add(
    "config.json",
    Emit.describe(
      soc,
      soc.name,
      Seq("firmwareBits" -> BigInt(p(MaxXLen)), "firmwareBase" -> p(EntryKey).get, "firmwareBytes" -> BigInt(0x100000))
    )
  )
  ElaborationArtefacts.add("EICG_wrapper.sv", Emission.ClockGateCell)
}
