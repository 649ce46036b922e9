// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._

/** Instruction memory port, seen from the core: a memory with registered address that reads in every cycle. */
class ImemIO extends Bundle {

  /** Byte address, word aligned, of the instruction that will be in ID in the next cycle; held while ID stalls. The
    * core ignores what comes back for addresses outside its range.
    */
  val addr = Output(UInt(32.W))

  /** The word at the address of the cycle before. */
  val data = Input(UInt(32.W))
}
