// SPDX-License-Identifier: BSD-3-Clause
package assasin.mem

import chisel3._
import chisel3.util.Valid

/** Write of 64-bit words into the submission half of the STAGE window. */
class StageWrite extends Bundle {

  /** Slot * 8 + word of the entry. */
  val word = UInt(7.W)
  val data = UInt(64.W)
  val mask = UInt(8.W)
}

/** The AXI4 slave's way into the STAGE window, seen from the slave. */
class StageIO extends Bundle {
  val write = Valid(new StageWrite)

  /** Completion half: slot * 2 + word; `readData` follows in the next cycle. */
  val readWord = Output(UInt(4.W))
  val readEn   = Output(Bool())
  val readData = Input(UInt(64.W))
}
