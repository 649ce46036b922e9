// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.Valid

class RegisterTagsIO(p: VectorParams) extends Bundle {

  /** An instruction that has something to do leaves the commit stage. */
  val op = Flipped(Valid(new VectorOp(p)))

  /** The registers that it writes. */
  val writes = Input(UInt(32.W))

  /** Registers that hold vectors of VarVE-full, a bit each, as the instruction in the commit stage has to see them. */
  val variable = Output(UInt(32.W))

  /** The same for the instruction behind it. */
  val next = Output(UInt(32.W))

  /** VSDAT's class 3 is written. */
  val write = Flipped(Valid(Bool()))
  val named = Input(UInt(5.W))

  val clear = Input(Bool())
}

/** Which registers hold elements of any width: decode alone decides it (docs/varve/isa.md 2.1). */
class RegisterTags(p: VectorParams) extends Module {
  val io = IO(new RegisterTagsIO(p))

  private val tags   = RegInit(0.U(32.W))
  private val op     = io.op.bits
  private val use    = op.variable.get
  private val writes = io.writes

  // vmv<n>r.v takes the tags along: of 8 registers at most.
  private val moves  = !use.active && op.path === VectorPath.Execute.U && op.function === IntegerFunction.MoveA.U
  private val moved  = BarrelShift.left(BarrelShift.right(tags, op.vs2, 8), op.vd, 32)
  private val become = Mux(use.active && !use.compare, writes, Mux(moves, moved & writes, 0.U))
  private val seen   = Mux(io.write.valid, tags.bitSet(io.named, io.write.bits), tags)
  private val next   = Mux(io.op.valid, (tags & ~writes) | become, seen)
  tags                := next
  when(io.clear)(tags := 0.U)
  io.variable         := tags
  io.next             := next
}
