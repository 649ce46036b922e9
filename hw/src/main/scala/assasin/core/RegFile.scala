// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._

/** Ports of [[RegFile]]. */
class RegFileIO extends Bundle {
  val rs1   = Input(UInt(5.W))
  val rs2   = Input(UInt(5.W))
  val data1 = Output(UInt(32.W))
  val data2 = Output(UInt(32.W))
  val wen   = Input(Bool())
  val rd    = Input(UInt(5.W))
  val wdata = Input(UInt(32.W))
}

/** x0..x31: two combinational read ports, one write port (LUT RAM). Writing x0 is the caller's mistake unless it writes
  * 0.
  */
class RegFile extends Module {
  val io = IO(new RegFileIO)

  private val regs = Mem(32, UInt(32.W))
  io.data1 := regs(io.rs1)
  io.data2 := regs(io.rs2)
  when(io.wen) { regs(io.rd) := io.wdata }
}
