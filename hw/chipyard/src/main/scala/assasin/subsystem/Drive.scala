// SPDX-License-Identifier: BSD-3-Clause
package assasin.subsystem

import assasin.contract.AddressMap
import assasin.soc.BoardIO
import chisel3._
import freechips.rocketchip.amba.axi4.{AXI4MasterNode, AXI4MasterParameters, AXI4MasterPortParameters}
import freechips.rocketchip.diplomacy.{AddressSet, IdRange, RegionType, TransferSizes}
import freechips.rocketchip.interrupts.{IntSinkNode, IntSinkPortSimple, IntSourceNode, IntSourcePortSimple}
import freechips.rocketchip.resources.SimpleDevice
import freechips.rocketchip.tilelink.{TLManagerNode, TLSlaveParameters, TLSlavePortParameters}
import org.chipsalliance.cde.config.Parameters
import org.chipsalliance.diplomacy.bundlebridge.{BundleBridgeSink, BundleBridgeSource}
import org.chipsalliance.diplomacy.lazymodule.LazyModule

/** The whole drive but its firmware processor, which is one of the subsystem's tiles: registers as a TileLink device
  * with an interrupt, an AXI4 master to the subsystem's memory, and its pins.
  *
  * @param holdsTile
  *   a [[TileHold]] is there for CTRL.RESET.FW
  */
class Drive(val params: DriveParams, holdsTile: Boolean)(implicit p: Parameters) extends LazyModule {
  private val axi = BoardIO.dramParams(params.soc)

  val device = new SimpleDevice("drive", Seq("assasin,drive"))

  /** Registers of the contract's windows SYS to SLOT. */
  val registers = TLManagerNode(
    Seq(
      TLSlavePortParameters.v1(
        Seq(
          TLSlaveParameters.v1(
            address = Seq(AddressSet(params.registers, DriveParams.RegisterBytes - 1)),
            resources = device.reg,
            regionType = RegionType.GET_EFFECTS,
            supportsGet = TransferSizes(1, 4),
            supportsPutFull = TransferSizes(1, 4),
            supportsPutPartial = TransferSizes(1, 4),
            mayDenyGet = true,
            mayDenyPut = true,
            fifoId = Some(0)
          )
        ),
        beatBytes = 4
      )
    )
  )

  val memory = AXI4MasterNode(
    Seq(AXI4MasterPortParameters(Seq(AXI4MasterParameters(name = "drive", id = IdRange(0, 1 << axi.idBits)))))
  )

  /** An event that the firmware has enabled in SYS.EVENT_ENABLE is there. */
  val interrupt = IntSourceNode(IntSourcePortSimple(resources = device.int))

  /** Which tiles wait for an interrupt. */
  val waiting = IntSinkNode(IntSinkPortSimple())

  /** The firmware's tile is to be in reset, and how far it is. */
  val hold: Option[BundleBridgeSource[Bool]]         = Option.when(holdsTile)(BundleBridgeSource(() => Bool()))
  val held: Option[BundleBridgeSink[TileHoldStatus]] = Option.when(holdsTile)(BundleBridgeSink[TileHoldStatus]())

  val pins = BundleBridgeSource(() => new DrivePinsIO(params))

  /** From an address of the subsystem to one of the contract's address map. */
  val registerOffset: BigInt = AddressMap.Sys.base - params.registers

  lazy val module = new DriveImp(this)
}
