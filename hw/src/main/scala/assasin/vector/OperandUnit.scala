// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Fill, MuxLookup, log2Ceil}

class OperandUnitIO(p: VectorParams) extends Bundle {
  val op = Input(new VectorOp(p))

  /** Low bits of the number of the element group that is computed. */
  val part = Input(UInt(3.W))

  /** What the registers hold. */
  val vs1 = Input(UInt(p.dLen.W))
  val vs2 = Input(UInt(p.dLen.W))
  val vd  = Input(UInt(p.dLen.W))

  /** Elements of 8 << `eew` bits: of vs2, of vs1 or the scalar, and the third operand. */
  val a = Output(UInt(p.dLen.W))
  val b = Output(UInt(p.dLen.W))
  val c = Output(UInt(p.dLen.W))
}

/** Operands of an element group as the functional units take them: replicated, extended, in their places.
  * Combinational.
  */
class OperandUnit(p: VectorParams) extends Module {
  val io = IO(new OperandUnitIO(p))

  private val maxLog  = log2Ceil(p.eLen / 8)
  private val extendA = Module(new OperandExtend(p, maxLog))
  extendA.io.in     := io.vs2
  extendA.io.fewer  := io.op.extend
  extendA.io.part   := io.part
  extendA.io.signed := io.op.extendSigned
  extendA.io.eew    := io.op.eew

  private val scalarEew = io.op.eew - io.op.extendB
  private val replicated = MuxLookup(scalarEew, io.op.scalar)((0 to maxLog).map { log =>
    log.U -> Fill(p.dLen >> (3 + log), io.op.scalar((8 << log) - 1, 0))
  })
  private val extendB = Module(new OperandExtend(p, 1))
  extendB.io.in     := Mux(io.op.readsVs1, io.vs1 ^ Fill(p.dLen, io.op.invertB), replicated)
  extendB.io.fewer  := io.op.extendB
  extendB.io.part   := io.part
  extendB.io.signed := io.op.extendBSigned
  extendB.io.eew    := io.op.eew

  io.a := Mux(io.op.swapA, io.vd, extendA.io.out)
  io.b := extendB.io.out
  io.c := Mux(io.op.swapA, io.vs2, io.vd)
}
