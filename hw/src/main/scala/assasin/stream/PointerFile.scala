// SPDX-License-Identifier: BSD-3-Clause
package assasin.stream

import chisel3._
import chisel3.util.{UIntToOH, Valid}

/** A new value for one of eight stream pointers. */
class PointerWrite extends Bundle {
  val stream = UInt(3.W)
  val value  = UInt(32.W)
}

/** Ports of [[PointerFile]]. */
class PointerFileIO(reads: Int) extends Bundle {
  val clear   = Input(Bool())
  val initial = Input(UInt(32.W))
  val write   = Flipped(Valid(new PointerWrite))
  val stream  = Input(Vec(reads, UInt(3.W)))
  val value   = Output(Vec(reads, UInt(32.W)))
}

/** One kind of pointer for eight streams (LUT RAM): a write port, combinational read ports, and `clear`, which sets all
  * of them to `initial` at once and wins over a write.
  */
class PointerFile(reads: Int) extends Module {
  val io = IO(new PointerFileIO(reads))

  private val values = Mem(8, UInt(32.W))
  // Not written since the clear: `initial` holds.
  private val written = RegInit(0.U(8.W))
  when(io.write.valid) {
    values(io.write.bits.stream) := io.write.bits.value
    written                      := written | UIntToOH(io.write.bits.stream, 8)
  }
  when(io.clear) { written := 0.U }

  for (i <- 0 until reads) io.value(i) := Mux(written(io.stream(i)), values(io.stream(i)), io.initial)
}
