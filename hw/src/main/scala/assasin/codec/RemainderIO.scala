// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

import chisel3._

class RemainderIO(p: CodeParams) extends Bundle {

  /** Index into CODE_INFO. */
  val strength = Input(UInt(3.W))

  /** Pulse: build the table for `strength`. */
  val build    = Input(Bool())
  val building = Output(Bool())

  /** The remainder becomes 0 at this edge; with `message` in the same cycle: as if it had been 0 before. */
  val clear = Input(Bool())

  /** `data` is a message beat. */
  val message = Input(Bool())

  /** `data` is a parity beat; a writer gives 0 and sends `top`. */
  val parity = Input(Bool())

  /** First byte on the bus lowest. */
  val data = Input(UInt(p.beatBits.W))

  /** The parity beat to send next, first byte lowest. */
  val top = Output(UInt(p.beatBits.W))

  /** After all parity beats: received parity ^ computed parity, right aligned in 8 * PARITY bits; 0 = clean. */
  val remainder = Output(UInt(p.width.W))

  /** After all parity beats: the remainder is 0. Costs less than a comparison. */
  val clean = Output(Bool())
}
