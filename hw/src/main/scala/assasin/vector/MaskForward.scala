// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** A mask that the execute path has computed and not written. */
class MaskForward(p: VectorParams) extends Bundle {
  val eg   = UInt(p.egBits.W)
  val mask = new UnpackMask(p)
}
