package assasin.flash

import assasin.SocParams
import assasin.contract.FlashOp
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
  val tag    = UInt(12.W)

  /** W1: row address, feature address or id address. */
  val row = UInt(24.W)

  /** W2: stream position, DRAM address or feature parameters. */
  val arg = UInt(32.W)

  /** W3: bytes to deliver. */
  val bytes = UInt(16.W)
  val oob   = UInt(64.W)

  /** Broke a rule when it was pushed: completes with BAD_DESC. */
  val bad = Bool()

  def is(code: Int): Bool = op === code.U
}

object FlashDescriptor {

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
    * @param bytes
    *   W3, all 32 bits
    * @param pageLog2
    *   GEOMETRY.PAGE_LOG2
    */
  def isBad(p: SocParams, channel: UInt, w0: UInt, w1: UInt, w2: UInt, bytes: UInt, pageLog2: UInt): Bool = {
    val page       = (1.U << pageLog2)(p.pageLog2Max, 0)
    val pageOk     = pageLog2 >= 9.U && pageLog2 <= p.pageLog2Max.U
    val toStream   = w0(8)
    val lengthOk   = bytes =/= 0.U && bytes <= page
    val aligned    = w2(5, 0) === 0.U
    val posAligned = (w2 & (page - 1.U)) === 0.U
    val rowOk      = w1(31, 24) === 0.U
    val byteOk     = w1(31, 8) === 0.U
    val core       = w0(15, 12)
    val reachable  = if (p.channelLocal) core === channel else core < p.tiles.U
    val streamOk   = reachable && posAligned
    val opOk = MuxLookup(w0(3, 0), false.B)(
      Seq(
        FlashOp.Reset.U      -> true.B,
        FlashOp.ReadId.U     -> byteOk,
        FlashOp.ParamPage.U  -> (!toStream && aligned && bytes =/= 0.U && bytes <= (1 << p.pageLog2Max).U),
        FlashOp.GetFeature.U -> byteOk,
        FlashOp.SetFeature.U -> byteOk,
        FlashOp.Read.U       -> (pageOk && lengthOk && rowOk && Mux(toStream, streamOk, aligned)),
        FlashOp.Program.U    -> (pageOk && lengthOk && rowOk && !toStream && aligned),
        FlashOp.Erase.U      -> rowOk,
        FlashOp.ReadStatus.U -> true.B
      )
    )
    !opOk || w0(7, 4) >= p.ways.U
  }
}
