// SPDX-License-Identifier: BSD-3-Clause
package assasin.rocket

import assasin.vector.{VectorMemoryIO, VectorParams}
import chisel3._
import freechips.rocketchip.tilelink.{TLBundle, TLEdgeOut}

class VectorAdapterMemoryIO(p: VectorParams, edge: TLEdgeOut) extends Bundle {
  val unit = Flipped(new VectorMemoryIO(p))
  val tl   = new TLBundle(edge.bundle)

  /** Scalar accesses that are older than the instruction in the commit stage are done. Until then it learns of no
    * address whether it may be accessed, and so accesses none.
    */
  val settled = Input(Bool())

  /** An access is under way. */
  val busy = Output(Bool())
}
