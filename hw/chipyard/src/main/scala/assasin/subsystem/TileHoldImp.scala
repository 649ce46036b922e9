// SPDX-License-Identifier: BSD-3-Clause
package assasin.subsystem

import chisel3._
import chisel3.util.{Enum, PopCount, is, switch}
import freechips.rocketchip.tilelink.{TLBundle, TLEdgeIn, TLEdgeOut, TLMessages, TLPermissions}
import org.chipsalliance.diplomacy.lazymodule.LazyModuleImp

/** Hardware of [[TileHold]]. When it is to hold, requests that have not begun wait; releases and answers to probes go
  * on, because others may wait for them. When nothing is under way the tile is reset, and probes are answered here.
  */
class TileHoldImp(outer: TileHold) extends LazyModuleImp(outer) {
  private val hold = outer.hold.bundle

  private val sOpen :: sDraining :: sHeld :: Nil = Enum(3)

  private val state = RegInit(sHeld)

  /** Cycles in reset: all parts of a tile are to see it. */
  private val cycles = RegInit(0.U(4.W))

  private val held = state === sHeld
  private val idle = outer.node.in
    .zip(outer.node.out)
    .map { case ((in, edgeIn), (out, edgeOut)) => connect(in, edgeIn, out, edgeOut) }
    .reduce(_ && _)

  switch(state) {
    is(sOpen) { when(hold) { state := sDraining } }
    is(sDraining) {
      cycles := 0.U
      when(idle) { state := sHeld }
    }
    is(sHeld) {
      when(!cycles.andR) { cycles := cycles + 1.U }.elsewhen(!hold) { state := sOpen }
    }
  }

  outer.status.bundle.stopped := state =/= sOpen
  outer.status.bundle.idle    := idle

  for (((in, _), (out, _)) <- outer.clock.in.zip(outer.clock.out)) {
    out.clock := in.clock
    out.reset := in.reset.asBool || held
  }

  /** Connects one port of the tile and tells whether nothing is under way there. */
  private def connect(in: TLBundle, edgeIn: TLEdgeIn, out: TLBundle, edgeOut: TLEdgeOut): Bool = {
    val (aFirst, _, _) = edgeIn.firstlast(in.a)
    val wait           = state =/= sOpen && aFirst
    out.a.valid := in.a.valid && !wait
    in.a.ready  := out.a.ready && !wait
    out.a.bits  := in.a.bits
    in.d.valid  := out.d.valid && !held
    in.d.bits   := out.d.bits
    out.d.ready := in.d.ready || held
    val (_, dLast, _) = edgeOut.firstlast(out.d)
    val dEnd          = out.d.fire && dLast
    val opcode        = out.d.bits.opcode
    val granted       = opcode === TLMessages.Grant || opcode === TLMessages.GrantData

    val begins = Seq(out.a.fire && aFirst)
    val ends   = Seq(dEnd && !granted)
    if (edgeIn.manager.anySupportAcquireB && edgeOut.client.anySupportProbe) {
      val (cFirst, cLast, _) = edgeIn.firstlast(in.c)
      val release            = in.c.bits.opcode === TLMessages.Release || in.c.bits.opcode === TLMessages.ReleaseData
      in.b.valid  := out.b.valid && !held
      in.b.bits   := out.b.bits
      out.c.valid := Mux(held, out.b.valid, in.c.valid)
      out.c.bits  := in.c.bits
      when(held) { out.c.bits := edgeOut.ProbeAck(out.b.bits, TLPermissions.NtoN) }
      out.b.ready := Mux(held, out.c.ready, in.b.ready)
      in.c.ready  := out.c.ready && !held
      out.e.valid := in.e.valid && !held
      out.e.bits  := in.e.bits
      in.e.ready  := out.e.ready && !held
      // A grant ends with its acknowledge.
      balance(
        begins ++ Seq(in.c.fire && cFirst && release, in.b.fire),
        ends ++ Seq(out.e.fire, in.c.fire && cLast && !release)
      ) && aFirst && cFirst && !in.c.valid && !out.b.valid
    } else {
      in.b.valid  := false.B
      in.b.bits   := 0.U.asTypeOf(in.b.bits)
      in.c.ready  := true.B
      in.e.ready  := true.B
      out.b.ready := true.B
      out.c.valid := false.B
      out.c.bits  := 0.U.asTypeOf(out.c.bits)
      out.e.valid := false.B
      out.e.bits  := 0.U.asTypeOf(out.e.bits)
      balance(begins, ends) && aFirst
    }
  }

  /** As many have ended as begun. */
  private def balance(begins: Seq[Bool], ends: Seq[Bool]): Bool = {
    val underWay = RegInit(0.U(8.W))
    underWay := underWay + PopCount(begins) - PopCount(ends)
    underWay === 0.U
  }
}
