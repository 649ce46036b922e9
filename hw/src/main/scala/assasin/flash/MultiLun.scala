// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.contract.{FlashConfirm, FlashOp}
import chisel3._
import chisel3.util.Valid

class MultiLunIO(p: SocParams) extends Bundle {
  private def mask = UInt(Die.count(p).W)

  // Masks of WayStates, and the dies that timed out.
  val idle    = Input(mask)
  val command = Input(mask)
  val stuck   = Input(mask)
  val dead    = Input(mask)

  /** The bus would be idle: no phase is planned and no data waits for it. */
  val spare = Input(Bool())

  /** Dies whose way the other LUN has selected until its page is confirmed: no phase of theirs may begin. */
  val locked = Output(mask)

  /** Dies that may have a phase without data out, and those whose command may go. */
  val free       = Output(mask)
  val mayCommand = Output(mask)

  /** Dies that may begin to fill a page, and those that do. */
  val mayFill = Output(mask)
  val filling = Output(mask)

  /** Dies that load no descriptor, as one for the whole way waits or runs. */
  val kept = Output(mask)

  /** Dies that have to be selected before data out. */
  val astray = Output(mask)

  /** A phase begins. */
  val phase = Flipped(Valid(new BusPhase))

  /** The planner serves a request of this die; and what it does. */
  val serves = Input(Bool())
  val die    = Input(mask)

  /** It fetches the first sector of a page; it plans the page's first phase. */
  val fills  = Input(Bool())
  val begins = Input(Bool())

  /** It looks at a descriptor for the whole way (a RESET), which waits for LUN 1. */
  val whole   = Input(Bool())
  val isReset = Input(Bool())
  val waits   = Output(Bool())

  /** It loads a descriptor: for the whole way; what it reads is in the page register. */
  val loadsWhole = Input(Bool())
  val loadsHeld  = Input(Bool())

  /** The descriptor leaves its queue; these dies' descriptors end without data out, these give up whatever they did. */
  val pops = Input(Bool())
  val ends = Input(mask)
  val gone = Input(mask)

  /** Dies whose data is lost and has to be read again. */
  val again = Output(mask)
}

/** What the two LUNs of a way may not do to each other (ONFI, restrictions of multiple LUN operations):
  *
  *   - From 80h of a page up to its confirmation the way may select no other LUN.
  *   - 80h clears the page registers of both LUNs: what one of them has read goes out first or is read again.
  *   - After a command for the other LUN, or a look at its status, a LUN is selected again before data out.
  *   - RESET, features and identification have no row address: they are for the whole way and run alone on it.
  *
  * A channel whose LUNs take turns has none of this.
  */
class MultiLun(p: SocParams) extends Module {
  require(p.luns == 2)
  val io = IO(new MultiLunIO(p))

  private def mask: UInt                    = RegInit(0.U(Die.count(p).W))
  private def other(m: UInt): UInt          = Die.others(p, m)
  private def of(when: Bool, m: UInt): UInt = Mux(when, m, 0.U)

  /** Dies whose page is being programmed, from the fetch of its first sector until it is confirmed; those of them that
    * have had 80h.
    */
  private val holders = mask
  private val lockers = mask

  /** Dies that are reading: from the command, or from loading what the page register holds, to data out. */
  private val reads = mask

  /** The way's last command was the other LUN's, or a look, or the other LUN was busy and may have kept its outputs. */
  private val astray = mask

  /** Ways of which LUN 0's next descriptor is for the whole way and waits for LUN 1, or runs. */
  private val alone = RegInit(0.U(p.ways.W))

  // LUNs 1 whose way a descriptor for the whole way has: what they have to begin again, they begin after it.
  private val excluded = (alone & ~Die.luns0(p, io.idle)) ## 0.U(p.ways.W)
  private val locked   = other(lockers)
  private val free     = ~locked & ~excluded

  // A program goes before commands of the other LUN, which would keep it waiting for ever, but after that one's data out: 80h
  // clears the page register. Data that is stuck it does not wait for: what comes before it in its stream may be behind this very
  // program. A second LUN reads when the bus would else be idle: it costs the selection of LUNs.
  private val reading = other(reads & ~io.stuck) & Mux(io.spare, holders & ~lockers, ~lockers)
  io.locked     := locked
  io.free       := free
  io.mayCommand := free & ~other(holders & io.command) & ~reading
  io.mayFill    := ~other(holders)
  io.filling    := holders
  io.kept       := (alone & ~Die.luns1(p, holders)) ## (alone & ~Die.luns1(p, io.idle | io.stuck))
  io.astray     := astray

  // LUN 1 is waited for, but not its stuck data: what comes before it in its stream may be behind this very descriptor. A page
  // that it is being given only RESET ends.
  private val way = Die.luns0(p, io.die) | Die.luns1(p, io.die)
  io.waits := !(Die.luns1(p, io.idle | io.stuck) & way).orR || !io.isReset && (Die.luns1(p, holders) & way).orR

  // No more than what data out has been planned for.
  private val again = of(io.begins, other(io.die & other(reads))) | of(io.loadsWhole, other(io.die) & io.stuck)
  io.again := again

  // What a phase that is taken does to the masks, and what a request does: both may be in one cycle.
  private val phase    = io.phase.bits
  private val taken    = of(io.phase.valid, Die.bit(p, phase.die))
  private val out      = phase.data || phase.status
  private val read     = !out && (phase.desc.is(FlashOp.Read) || phase.desc.is(FlashOp.ReadRaw))
  private val page     = !out && phase.desc.is(FlashOp.Program)
  private val confirms = phase.desc.confirm === FlashConfirm.Page.U || phase.desc.confirm === FlashConfirm.Cache.U
  when(io.phase.valid) {
    val exposed = phase.poll || read && ((reads | io.dead) & other(taken)).orR
    astray := (astray & ~taken) | other(taken) | of(exposed, taken)
  }
  when(io.phase.valid || io.serves) {
    reads   := (reads & ~(of(phase.data, taken) | io.ends | again)) | of(read, taken) | of(io.loadsHeld, io.die)
    holders := (holders & ~(of(page && confirms, taken) | io.gone)) | of(io.fills, io.die)
    lockers := (lockers & ~(of(page && confirms, taken) | io.gone)) | of(page && !confirms, taken)
    val over = of(out && !phase.poll, taken) | of(io.pops, io.die)
    alone := (alone & ~Die.luns0(p, over)) | of(io.whole, way)
  }
}
