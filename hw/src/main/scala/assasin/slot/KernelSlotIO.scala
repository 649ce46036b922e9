// SPDX-License-Identifier: BSD-3-Clause
package assasin.slot

import assasin.bus.AxiLiteIO
import chisel3._

/** What a slot offers a kernel: the pins of an IP that Vitis HLS makes for two stream inputs, a stream output and
  * ap_ctrl_hs with scalars on AXI4-Lite. Top-level ports `io_slot_<n>_...`.
  */
class KernelSlotIO extends Bundle {

  /** Streams to the kernel. The last transfer has TLAST, also that of an empty stream, which keeps no byte. */
  val in = Vec(KernelSlot.Inputs, new AxisIO)

  /** The result. The kernel ends it with TLAST. */
  val out = Flipped(new AxisIO)

  /** Block control and scalars, see hw/regs/slot.toml. */
  val ctrl      = new AxiLiteIO(12)
  val interrupt = Input(Bool())

  /** Which kernel this is: CRC-32 of its "name/version"; 0: the slot is empty. Constant. */
  val id = Input(UInt(32.W))

  /** Active high, at least 16 cycles long. */
  val reset = Output(Bool())
}

/** Numbers of a slot. */
object KernelSlot {

  /** Input streams (KERNEL_MAX_INPUTS in hw/regs/slot.toml). */
  val Inputs: Int = 2

  /** Cycles that a kernel is held in reset at least: what AMD asks of an ap_rst_n (PG164). */
  val ResetCycles: Int = 16

  /** Cycles that something which should follow at once is waited for. */
  val Patience: Int = 1023
}
