// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

import chisel3._

class RemainderIO(p: CodeParams) extends Bundle {

  /** Index into CODE_INFO. */
  val strength = Input(UInt(3.W))

  /** Pulse: build the tables for `strength`. Before the first one, what comes out is undefined. */
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

  /** With `parity`: the next beat of the errors' remainder, received parity ^ computed parity, highest power first. */
  val error = Output(UInt(p.beatBits.W))

  /** After all parity beats: the errors' remainder is 0. */
  val clean = Output(Bool())
}
