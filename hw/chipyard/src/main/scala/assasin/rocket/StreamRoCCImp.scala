// SPDX-License-Identifier: BSD-3-Clause
package assasin.rocket

import assasin.stream.{InputStreamBuffer, OutputStreamBuffer, StreamPartition}
import chisel3._
import chisel3.util.Queue
import freechips.rocketchip.tile.{HasCoreParameters, LazyRoCCModuleImp}

/** Hardware of [[StreamRoCC]]: two stages, as in an ASSASIN core's pipeline, behind a queue of commands. */
class StreamRoCCImp(outer: StreamRoCC) extends LazyRoCCModuleImp(outer) with HasCoreParameters {
  private val bytes     = 65536
  private val partition = Wire(new StreamPartition(bytes))
  partition.sLog2    := 0.U
  partition.pageLog2 := 9.U
  partition.ringMask := (bytes - 1).U
  partition.pageMask := (StreamRoCC.PageBytes - 1).U
  partition.pages    := (bytes / StreamRoCC.PageBytes).U

  private val input    = Module(new InputStreamBuffer(bytes))
  private val output   = Module(new OutputStreamBuffer(bytes))
  private val filler   = Module(new StreamFill(outer.fill.out.head._2))
  private val drainer  = Module(new StreamDrain(outer.drain.out.head._2))
  private val commands = Queue(io.cmd, 4)

  // ---- The stage that announces a load, the stage that does it ----------------------------------------------------------
  private val valid = RegInit(false.B)
  private val at    = Reg(chiselTypeOf(io.cmd.bits))
  private val funct = at.inst.funct
  private val loads = valid && funct === 2.U
  private val ends  = valid && funct === 4.U
  private val done = Mux(
    loads,
    io.resp.ready && !input.io.op.stall,
    Mux(ends, io.resp.ready && drainer.io.idle, !output.io.op.stall)
  )
  // A load that is announced looks at the Head, which a new input moves.
  commands.ready := !valid || (done && funct =/= 0.U)
  valid          := commands.fire || (valid && !done)
  when(commands.fire) { at := commands.bits }

  io.resp.valid     := (loads && !input.io.op.stall) || (ends && drainer.io.idle)
  io.resp.bits.rd   := at.inst.rd
  io.resp.bits.data := Mux(loads && !input.io.op.end, input.io.op.rdata, 0.U)
  io.busy           := valid || commands.valid || !drainer.io.idle
  io.interrupt      := false.B

  // ---- Buffers ----------------------------------------------------------------------------------------------------------
  private val beginsInput  = valid && funct === 0.U
  private val beginsOutput = valid && funct === 1.U
  input.io.partition           := partition
  input.io.clear               := beginsInput
  input.io.op.exStream         := 0.U
  input.io.op.advance          := commands.fire
  input.io.op.load             := loads && io.resp.ready
  input.io.op.read             := false.B
  input.io.op.stream           := 0.U
  input.io.op.size             := 2.U
  input.io.op.distance         := 0.U
  input.io.deliver             := filler.io.deliver
  input.io.writeTail.valid     := false.B
  input.io.writeTail.bits      := 0.U.asTypeOf(input.io.writeTail.bits)
  input.io.writeEnd.valid      := RegNext(beginsInput, false.B)
  input.io.writeEnd.bits       := 0.U.asTypeOf(input.io.writeEnd.bits)
  input.io.writeEnd.bits.value := RegNext(at.rs2(31, 0))
  input.io.writeEndValid.valid := RegNext(beginsInput, false.B)
  input.io.writeEndValid.bits  := 1.U
  input.io.peek.foreach(_.stream := 0.U)

  output.io.partition       := partition
  output.io.clear           := beginsOutput
  output.io.op.store        := valid && funct === 3.U
  output.io.op.read         := false.B
  output.io.op.stream       := 0.U
  output.io.op.size         := 2.U
  output.io.op.operand      := at.rs1(31, 0)
  output.io.writeTail.valid := false.B
  output.io.writeTail.bits  := 0.U.asTypeOf(output.io.writeTail.bits)
  output.io.peek.foreach(_.stream := 0.U)
  output.io.drain <> drainer.io.read
  output.io.cover := drainer.io.cover
  output.io.free <> drainer.io.free

  filler.io.begin.valid        := beginsInput
  filler.io.begin.bits.address := at.rs1
  filler.io.begin.bits.bytes   := at.rs2
  // The buffer says what room there is two cycles after a clear.
  filler.io.room               := input.io.room(0)
  drainer.io.begin.valid       := beginsOutput
  drainer.io.begin.bits        := at.rs1
  drainer.io.ready             := output.io.ready(0)
  drainer.io.stored            := output.io.op.store && !output.io.op.stall
  outer.fill.out.head._1 <> filler.io.tl
  outer.drain.out.head._1 <> drainer.io.tl
}
