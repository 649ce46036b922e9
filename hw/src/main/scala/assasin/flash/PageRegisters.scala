// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.contract.{FlashConfirm, FlashOp}
import chisel3._
import chisel3.util.Valid

/** How a descriptor continues what the LUN's last ones left in the page registers. */
class PageRegisterView extends Bundle {

  /** READ of a sector that a page register holds and that data out has not passed yet; the very next one. */
  val held = Bool()
  val next = Bool()

  /** With `held`: of another plane than the last data out. */
  val turns = Bool()

  /** PROGRAM of the next sector of the page that is being filled. */
  val continues = Bool()

  /** The page being filled takes its next sector or RESET, planes that are being read together take a READ of the next
    * plane, and this is none of it.
    */
  val refused = Bool()

  /** Bits of this descriptor's status that mean a failure, see Transfer. */
  val failMask = UInt(2.W)
}

class PageRegistersIO(p: SocParams) extends Bundle {
  val config = Input(new FlashConfig)

  /** The descriptor that is asked about, of slot `slot`. */
  val slot = Input(UInt(Slot.Bits.W))
  val desc = Input(new FlashDescriptor)
  val view = Output(new PageRegisterView)

  /** It is loaded: from here on it is the slot's last. */
  val load = Input(Bool())

  /** What was read into the page registers of these slots is lost. */
  val clear = Flipped(Valid(UInt(Slot.count(p).W)))

  /** With `clear`: and whatever else was under way. */
  val forget = Input(Bool())
}

/** What the page registers of every LUN hold after the descriptors loaded so far. */
class PageRegisters(p: SocParams) extends Module {
  val io = IO(new PageRegistersIO(p))

  private val slots = Slot.count(p)

  /** Sector address of the last READ or PROGRAM of a slot's plane. */
  private val addresses = Mem(2 * slots, UInt(24.W))

  /** What else is known of a slot. */
  private class State extends Bundle {

    /** By plane: its register holds a page that was read. */
    val reading = UInt(2.W)
    val filling = Bool()

    /** A further plane is to be read together with `plane`. */
    val grouped = Bool()

    /** Plane of the last data out; no sector of the other one has been taken. */
    val plane   = Bool()
    val untaken = Bool()

    /** The last page was programmed with CONFIRM CACHE: its failure shows in the next status. The loaded descriptor
      * gets that status.
      */
    val cached  = Bool()
    val judging = Bool()
  }
  private val states   = Mem(slots, new State)
  private val known    = RegInit(0.U(slots.W)) // slots with a state
  private val readable = RegInit(0.U(slots.W)) // `reading` counts

  private val index     = Slot.index(p, io.slot)
  private val bit       = Slot.bit(p, io.slot)
  private val desc      = io.desc
  private val stored    = states.read(index)
  private val state     = Mux((known & bit).orR, stored, 0.U.asTypeOf(stored))
  private val plane     = desc.plane(io.config)
  private val last      = addresses.read(index ## plane)
  private val samePage  = (last >> io.config.sectorLog2) === (desc.address >> io.config.sectorLog2)
  private val successor = samePage && desc.address === last + 1.U
  private val isRead    = desc.is(FlashOp.Read)
  private val isProgram = desc.is(FlashOp.Program)
  private val isPlane   = desc.confirm === FlashConfirm.Plane.U
  private val more      = isProgram && desc.confirm === FlashConfirm.More.U
  private val cache     = isProgram && desc.confirm === FlashConfirm.Cache.U
  private val reading   = Mux((readable & bit).orR, state.reading, 0.U)
  private val isHere    = (reading >> plane)(0) && samePage && !desc.fresh && !isPlane
  private val turns     = plane =/= state.plane
  private val untaken   = state.untaken && turns
  io.view.held      := isRead && isHere && !state.grouped && (desc.address > last || untaken && desc.address === last)
  io.view.next      := successor
  io.view.turns     := turns
  io.view.continues := isProgram && state.filling && successor
  io.view.refused := !desc.is(FlashOp.Reset) &&
    (state.filling && !io.view.continues || state.grouped && !(isRead && turns))
  // After CACHE the page itself is still being programmed.
  io.view.failMask := state.judging ## (desc.confirm =/= FlashConfirm.Cache.U)

  when(io.load) {
    val next = Wire(new State)
    when(isRead || isProgram) { addresses.write(index ## plane, desc.address) }
    next         := state
    next.filling := more
    next.grouped := isRead && isPlane
    when(!more) {
      next.cached  := cache
      next.judging := state.cached && !desc.is(FlashOp.Reset)
    }
    // A READ of one plane alone may leave nothing in the other one's register.
    val keeps = Mux(io.view.held || state.grouped, reading, 0.U(2.W))
    next.reading := Mux(isRead, keeps | Mux(plane, 2.U, 1.U), 0.U)
    next.plane   := plane
    next.untaken := isRead && Mux(io.view.held, state.untaken && !turns, isPlane || state.grouped)
    states.write(index, next)
  }
  when(io.load || io.clear.valid) {
    val lost = Mux(io.clear.valid, io.clear.bits, 0.U)
    readable := (readable | Mux(io.load, bit, 0.U)) & ~lost
    known    := (known | Mux(io.load, bit, 0.U)) & ~Mux(io.forget, lost, 0.U)
  }
}
