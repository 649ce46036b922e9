// SPDX-License-Identifier: BSD-3-Clause
package assasin.subsystem

import assasin.core.DmemIO
import assasin.xbar.{ReadBarrier, WriteOrder}
import chisel3._
import freechips.rocketchip.tilelink.{TLBundle, TLEdgeIn}

class RegisterBridgeIO(edge: TLEdgeIn) extends Bundle {
  val tl   = Flipped(new TLBundle(edge.bundle))
  val dmem = new DmemIO

  /** How far the packets to DRAM have come. */
  val order = Input(new WriteOrder)

  /** The drive's registers are in reset, or the tile is on the way to it: accesses are denied. */
  val hold = Input(Bool())

  /** No access is under way. */
  val idle = Output(Bool())
}

/** One TileLink access at a time to the drive's registers, words of 4 bytes.
  *
  * A processor that reads DRAM through its caches learns from a register that a page has arrived. So an answer waits
  * until every packet that was on its way to DRAM when the register was read is there.
  *
  * Registers in reset do not answer, so what they owe when the reset comes is answered here.
  *
  * @param offset
  *   what is added to a TileLink address to make it one of the contract's address map
  */
class RegisterBridge(edge: TLEdgeIn, offset: BigInt) extends Module {
  val io = IO(new RegisterBridgeIO(edge))

  private val a = io.tl.a
  private val d = io.tl.d

  private val busy     = RegInit(false.B)
  private val answered = RegInit(false.B)

  /** An answer of the drive is for nobody when the reset came before it. */
  private val awaited = RegInit(false.B)
  private val request = Reg(chiselTypeOf(a.bits))
  private val data    = Reg(UInt(32.W))
  private val denied  = Reg(Bool())

  private val barrier = Module(new ReadBarrier)
  barrier.io.order := io.order
  barrier.io.start := io.dmem.resp.valid

  io.dmem.req.valid      := a.valid && !busy && !io.hold
  io.dmem.req.bits.addr  := (a.bits.address + (offset & 0xffffffffL).U(32.W))(31, 0)
  io.dmem.req.bits.write := edge.hasData(a.bits)
  io.dmem.req.bits.size  := a.bits.size
  io.dmem.req.bits.mask  := a.bits.mask
  io.dmem.req.bits.wdata := a.bits.data
  a.ready                := (io.dmem.req.ready || io.hold) && !busy
  when(a.fire) {
    busy     := true.B
    answered := io.hold
    awaited  := !io.hold
    denied   := true.B
    request  := a.bits
  }
  when(awaited && io.dmem.resp.valid) {
    answered := true.B
    awaited  := false.B
    data     := io.dmem.resp.bits.rdata
    denied   := io.dmem.resp.bits.err
  }
  when(awaited && !io.dmem.resp.valid && io.hold) {
    answered := true.B
    awaited  := false.B
  }
  when(d.fire) { busy := false.B }
  io.idle := !busy

  private val read = !edge.hasData(request)
  d.valid := busy && answered && (barrier.io.clear || denied)
  d.bits  := edge.AccessAck(request)
  when(read) { d.bits := edge.AccessAck(request, data) }
  d.bits.denied  := denied
  d.bits.corrupt := read && denied
}
