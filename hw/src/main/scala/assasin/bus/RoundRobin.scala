// SPDX-License-Identifier: BSD-3-Clause
package assasin.bus

import chisel3._

/** Round-robin choice on one-hot vectors. */
object RoundRobin {

  /** The requester that follows `owner`, one-hot; 0 when `req` is 0.
    *
    * @param req
    *   requests
    * @param owner
    *   one-hot: who was served last
    */
  def pick(req: UInt, owner: UInt): UInt = {
    require(req.getWidth == owner.getWidth, s"req has ${req.getWidth} bits, owner ${owner.getWidth}")
    val n     = req.getWidth
    val after = req & ~((owner - 1.U) | owner)
    val from  = Mux(after.orR, after, req)
    (from & (~from + 1.U))(n - 1, 0)
  }
}
