// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.contract.{FlashConfirm, FlashOp}
import chisel3._
import chisel3.util.UIntToOH

/** How a descriptor continues what the way's last one left in the page register. */
class PageRegisterView extends Bundle {

  /** READ of a sector that the page register holds and that data out has not passed yet; the very next one. */
  val held = Bool()
  val next = Bool()

  /** PROGRAM of the next sector of the page that is being filled. */
  val continues = Bool()

  /** The page being filled takes its next sector or RESET, and this is neither. */
  val refused = Bool()

  /** Bits of this descriptor's status that mean a failure, see Transfer. */
  val failMask = UInt(2.W)
}

class PageRegistersIO(p: SocParams) extends Bundle {
  val config = Input(new FlashConfig)

  /** The descriptor that is asked about, of way `way`. */
  val way  = Input(UInt(4.W))
  val desc = Input(new FlashDescriptor)
  val view = Output(new PageRegisterView)

  /** It is loaded: from here on it is the way's last. */
  val load = Input(Bool())
}

/** What the page register of every way holds after the descriptors loaded so far. */
class PageRegisters(p: SocParams) extends Module {
  val io = IO(new PageRegistersIO(p))

  /** Sector address of the way's last READ or PROGRAM. */
  private val addresses = Mem(p.ways, UInt(24.W))
  private val reading   = RegInit(0.U(p.ways.W))
  private val filling   = RegInit(0.U(p.ways.W))

  /** The way's last page was programmed with CONFIRM CACHE: its failure shows in the next status. The loaded descriptor
    * gets that status.
    */
  private val cached  = RegInit(0.U(p.ways.W))
  private val judging = RegInit(0.U(p.ways.W))

  private val bit       = UIntToOH(io.way, p.ways)
  private val desc      = io.desc
  private val last      = addresses.read(io.way)
  private val samePage  = (last >> io.config.sectorLog2) === (desc.address >> io.config.sectorLog2)
  private val successor = samePage && desc.address === last + 1.U
  private val isFilling = (filling & bit).orR
  private val more      = desc.is(FlashOp.Program) && desc.confirm === FlashConfirm.More.U
  private val cache     = desc.is(FlashOp.Program) && desc.confirm === FlashConfirm.Cache.U
  io.view.held      := desc.is(FlashOp.Read) && (reading & bit).orR && samePage && desc.address > last && !desc.fresh
  io.view.next      := successor
  io.view.continues := desc.is(FlashOp.Program) && isFilling && successor
  io.view.refused   := isFilling && !io.view.continues && !desc.is(FlashOp.Reset)
  // After CACHE the page itself is still being programmed.
  io.view.failMask := (judging & bit).orR ## (desc.confirm =/= FlashConfirm.Cache.U)

  private def put(mask: UInt, value: Bool): Unit = mask := Mux(value, mask | bit, mask & ~bit)
  when(io.load) {
    when(desc.is(FlashOp.Read) || desc.is(FlashOp.Program)) { addresses.write(io.way, desc.address) }
    put(reading, desc.is(FlashOp.Read))
    put(filling, more)
    when(!more) {
      put(cached, cache)
      put(judging, (cached & bit).orR && !desc.is(FlashOp.Reset))
    }
  }
}
