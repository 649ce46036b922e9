// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.contract.{FlashConfirm, FlashOp}
import chisel3._
import chisel3.util.MuxLookup

/** One descriptor as the way queues keep it, see the FLASH registers W0..W3 and OOB0/1. */
class FlashDescriptor extends Bundle {
  val op       = UInt(4.W)
  val way      = UInt(4.W)
  val toStream = Bool()

  /** READ: OOB word 0 must be the descriptor's. */
  val check  = Bool()
  val core   = UInt(4.W)
  val stream = UInt(3.W)
  val tail   = Bool()

  /** READ: the array is read also when the page register holds the page. */
  val fresh = Bool()
  val tag   = UInt(12.W)

  /** W1: sector address, feature address or id address. */
  val address = UInt(24.W)

  /** W2: stream position, DRAM address or feature parameters. */
  val arg = UInt(32.W)

  /** W3: bytes to deliver. */
  val bytes = UInt(16.W)

  /** W3: how the command ends, see FlashConfirm. */
  val confirm = UInt(2.W)
  val oob     = UInt(64.W)

  /** Broke a rule when it was pushed: completes with BAD_DESC. */
  val bad = Bool()

  def is(code: Int): Bool = op === code.U

  /** It is for the LUN that `address` names; else for the whole way. So is READ_STATUS, which asks how that LUN's last
    * program or erase went.
    */
  def hasRow: Bool =
    is(FlashOp.Read) || is(FlashOp.Program) || is(FlashOp.Erase) || is(FlashOp.ReadRaw) || is(FlashOp.ReadStatus)

  /** The lowest bit of the plane that the sector is in. */
  def plane(config: FlashConfig): Bool = config.multiPlane && (address >> config.planeAt)(0)

  /** Row address of the page that the sector is in. */
  def row(config: FlashConfig): UInt = (address >> config.sectorLog2)(23, 0)
}

object FlashDescriptor {

  /** What a sector holds for the host: one LBA. */
  val SectorLog2: Int  = 12
  val SectorBytes: Int = 1 << SectorLog2

  /** The rules of FlashStatus.BAD_DESC, on the register words as they are pushed.
    *
    * @param channel
    *   number of the channel, which in a channel-local chip is the only core it reaches
    * @param w0
    *   descriptor word 0
    * @param w1
    *   descriptor word 1
    * @param w2
    *   descriptor word 2
    * @param w3
    *   descriptor word 3
    * @param config
    *   geometry
    */
  def isBad(p: SocParams, channel: UInt, w0: UInt, w1: UInt, w2: UInt, w3: UInt, config: FlashConfig): Bool = {
    // A page of 4, 8 or 16 KiB has at most 1, 2 or 4 sectors.
    val pageOk =
      config.pageLog2 <= 14.U && config.pageLog2 >= config.sectorLog2 +& SectorLog2.U && config.sectorLog2 =/= 3.U
    val toStream  = w0(8)
    val bytes     = w3(15, 0)
    val confirm   = w3(17, 16)
    val lengthOk  = bytes =/= 0.U && bytes <= SectorBytes.U && w3(31, 18) === 0.U
    val wholePage = lengthOk && confirm === FlashConfirm.Page.U
    val readOk    = lengthOk && (confirm === FlashConfirm.Page.U || confirm === FlashConfirm.Plane.U)
    // MORE of a page's last sector: there is no further one.
    val inPage     = (1.U << config.sectorLog2)(2, 0) - 1.U
    val moreOk     = confirm =/= FlashConfirm.More.U || (w1(1, 0) & inPage(1, 0)) =/= inPage(1, 0)
    val aligned    = w2(5, 0) === 0.U
    val posAligned = w2(SectorLog2 - 1, 0) === 0.U
    val rowOk      = w1(31, 24) === 0.U
    val byteOk     = w1(31, 8) === 0.U
    val core       = w0(15, 12)
    val reachable  = if (p.channelLocal) core === channel else core < p.tiles.U
    val streamOk   = reachable && posAligned
    val opOk = MuxLookup(w0(3, 0), false.B)(
      Seq(
        FlashOp.Reset.U      -> true.B,
        FlashOp.ReadId.U     -> byteOk,
        FlashOp.ParamPage.U  -> (!toStream && aligned && wholePage),
        FlashOp.GetFeature.U -> byteOk,
        FlashOp.SetFeature.U -> byteOk,
        FlashOp.Read.U       -> (pageOk && readOk && rowOk && Mux(toStream, streamOk, aligned)),
        FlashOp.Program.U    -> (pageOk && lengthOk && rowOk && !toStream && aligned && moreOk),
        FlashOp.Erase.U      -> rowOk,
        FlashOp.ReadStatus.U -> true.B,
        FlashOp.ReadRaw.U    -> (pageOk && wholePage && rowOk && !toStream && aligned)
      )
    )
    !opOk || w0(7, 4) >= p.ways.U
  }
}
