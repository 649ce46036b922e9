// SPDX-License-Identifier: BSD-3-Clause
package assasin.cache

import chisel3._
import chisel3.util.{Cat, log2Ceil}

/** Tree pseudo-LRU: `ways - 1` bits, node n's children are 2n and 2n+1 (node 1 is the root, bit n - 1 its state); a bit
  * points to the half that was used less recently.
  */
object PseudoLru {

  /** The way to replace. */
  def victim(state: UInt, ways: Int): UInt = {
    val levels = log2Ceil(ways)
    // `node` walks down the tree; what is below its leading one is the way.
    (0 until levels).foldLeft(1.U(1.W): UInt) { (node, _) => Cat(node, ((state << 1) >> node)(0)) }(levels - 1, 0)
  }

  /** The state after an access to `way`. */
  def touch(state: UInt, way: UInt, ways: Int): UInt = {
    val levels = log2Ceil(ways)
    val bits = (1 until ways).map { node =>
      val depth  = log2Ceil(node + 1) - 1
      val prefix = node - (1 << depth)
      // On the path to `way`: point to the other half.
      val onPath = if (depth == 0) true.B else way(levels - 1, levels - depth) === prefix.U
      Mux(onPath, !way(levels - 1 - depth), state(node - 1))
    }
    VecInit(bits).asUInt
  }
}
