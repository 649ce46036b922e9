// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.Decoupled

import assasin.bus.{Axi4IO, Axi4Params, RegBusIO}
import assasin.xbar.XbarBeat

/** Ports of [[StreamCore]]. */
class StreamCoreIO(p: StreamCoreParams) extends Bundle {

  /** Number of this core, read as mhartid. */
  val hartId = Input(UInt(32.W))

  /** Register block CORE. */
  val regs = Flipped(new RegBusIO)

  /** Packets to this core's memories and input streams; always ready unless they go to DRAM, and never for long. */
  val in = Flipped(Decoupled(new XbarBeat))

  /** Drain packets to DRAM and to cores. */
  val out = Decoupled(new XbarBeat)

  /** Input stream s: number (modulo 256) of the first page that may not be sent yet. */
  val room = Output(Vec(p.soc.maxStreams, UInt(8.W)))

  /** An enabled event waits (SYS.CORE_PENDING). */
  val event = Output(Bool())

  val status = Output(new CoreStatusIO)
  val debug  = new CoreDebugIO(p.core.breakpoints)

  /** State RUNNING and not halted, a drain, an access to DRAM or the vector unit under way: the clock must not stop.
    */
  val running = Output(Bool())

  /** The tile's part of DRAM, behind its caches; id 0, answers in order. */
  val dram = if (p.soc.tileDram) Some(new Axi4IO(Axi4Params())) else None

  val trace = if (p.soc.trace) Some(Output(new CoreTraceIO)) else None
}
