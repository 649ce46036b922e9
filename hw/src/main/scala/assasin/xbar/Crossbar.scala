// SPDX-License-Identifier: BSD-3-Clause
package assasin.xbar

import assasin.SocParams
import chisel3._
import chisel3.util.{Decoupled, DecoupledIO}

/** Ports of the crossbar. */
class CrossbarIO(p: SocParams) extends Bundle {

  /** Sources: page data of the channels, output drains of cores and slots, DRAM reader, fill engine, parity engine. */
  val channels = Vec(p.channels, Flipped(Decoupled(new XbarBeat)))
  val drains   = Vec(p.tiles, Flipped(Decoupled(new XbarBeat)))
  val reader   = Flipped(Decoupled(new XbarBeat))
  val fill     = Flipped(Decoupled(new XbarBeat))
  val parity   = Flipped(Decoupled(new XbarBeat))

  /** Destinations: cores and then slots, program buffers of the channels, DRAM writer, parity engine. */
  val toCores    = Vec(p.tiles, Decoupled(new XbarBeat))
  val toChannels = Vec(p.channels, Decoupled(new XbarBeat))
  val toDram     = Decoupled(new XbarBeat)
  val toParity   = Decoupled(new XbarBeat)

  /** Pulse: a whole packet for DRAM has left its source. */
  val dramAccepted = Output(Bool())

  /** Cores and channels are in reset (and so must be this module): what the DRAM reader still sends is dropped. */
  val flush = Input(Bool())
}

/** Packet crossbar between flash channels, cores and DRAM; see docs/architecture.md "Crossbar". Only the legal pairs
  * are built: cores take from channels (with `channelLocal` core i from channel i), DRAM reader and drains, program
  * buffers and the parity engine from the DRAM reader, DRAM from channels, drains, fill and parity engine.
  */
class Crossbar(p: SocParams) extends Module {
  val io = IO(new CrossbarIO(p))

  private val pages   = io.channels.toSeq
  private val drains  = io.drains.toSeq
  private val sources = pages ++ drains ++ Seq(io.reader, io.fill, io.parity)

  /** Per source, whether each destination takes its beat. */
  private val takes = sources.map(s => s -> scala.collection.mutable.ArrayBuffer.empty[Bool])

  private def destination(number: Int, from: Seq[DecoupledIO[XbarBeat]], to: DecoupledIO[XbarBeat]) = {
    val d = Module(new XbarDestination(from.size)).suggestName(s"dst$number")
    d.io.request := VecInit(from.map(s => s.valid && s.bits.dst === number.U)).asUInt
    d.io.beat.zip(from).foreach { case (port, s) => port := s.bits }
    for ((s, i) <- from.zipWithIndex) takes.find(_._1 eq s).get._2 += d.io.take(i)
    to <> d.io.out
    d
  }

  for (i <- 0 until p.tiles) {
    val mine = if (p.channelLocal) Seq(pages(i)) else pages
    destination(XbarPort.core(i), (mine :+ io.reader) ++ drains, io.toCores(i))
  }
  for (i <- 0 until p.channels) destination(XbarPort.channel(p.tiles, i), Seq(io.reader), io.toChannels(i))
  private val dram =
    destination(XbarPort.dram(p.tiles, p.channels), pages ++ drains ++ Seq(io.fill, io.parity), io.toDram)
  destination(XbarPort.parity(p.tiles, p.channels), Seq(io.reader), io.toParity)
  io.dramAccepted := dram.io.taken

  for ((s, taken) <- takes) s.ready := taken.reduce(_ || _)
  when(io.flush) { io.reader.ready := true.B }
}
