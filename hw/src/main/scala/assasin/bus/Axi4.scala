// SPDX-License-Identifier: BSD-3-Clause
package assasin.bus

import chisel3._
import chisel3.util.Decoupled

/** Widths of an AXI4 port, bits. */
case class Axi4Params(addrBits: Int = 32, dataBits: Int = 64, idBits: Int = 4)

/** AW or AR channel (INCR bursts; size is always the full data width). */
class Axi4Addr(p: Axi4Params) extends Bundle {
  val id   = UInt(p.idBits.W)
  val addr = UInt(p.addrBits.W)

  /** Beats - 1. */
  val len   = UInt(8.W)
  val size  = UInt(3.W)
  val burst = UInt(2.W)
}

/** W channel. */
class Axi4Write(p: Axi4Params) extends Bundle {
  val data = UInt(p.dataBits.W)
  val strb = UInt((p.dataBits / 8).W)
  val last = Bool()
}

/** B channel. */
class Axi4Resp(p: Axi4Params) extends Bundle {
  val id   = UInt(p.idBits.W)
  val resp = UInt(2.W)
}

/** R channel. */
class Axi4Read(p: Axi4Params) extends Bundle {
  val id   = UInt(p.idBits.W)
  val data = UInt(p.dataBits.W)
  val resp = UInt(2.W)
  val last = Bool()
}

/** AXI4 port seen from the master. */
class Axi4IO(p: Axi4Params) extends Bundle {
  val aw = Decoupled(new Axi4Addr(p))
  val w  = Decoupled(new Axi4Write(p))
  val b  = Flipped(Decoupled(new Axi4Resp(p)))
  val ar = Decoupled(new Axi4Addr(p))
  val r  = Flipped(Decoupled(new Axi4Read(p)))
}

/** AXI4-Lite port (32-bit data) seen from the master. */
class AxiLiteIO(addrBits: Int) extends Bundle {
  val awaddr = Decoupled(UInt(addrBits.W))
  val wdata  = Decoupled(new AxiLiteWrite)
  val bresp  = Flipped(Decoupled(UInt(2.W)))
  val araddr = Decoupled(UInt(addrBits.W))
  val rdata  = Flipped(Decoupled(new AxiLiteRead))
}

/** AXI4-Lite W channel. */
class AxiLiteWrite extends Bundle {
  val data = UInt(32.W)
  val strb = UInt(4.W)
}

/** AXI4-Lite R channel. */
class AxiLiteRead extends Bundle {
  val data = UInt(32.W)
  val resp = UInt(2.W)
}
