// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{MuxCase, MuxLookup}

/** A value of one slot of an element, at all of the element's slots: 8 at most (docs/varve/unit.md 6.2). */
object ElementSlots {

  /** That of the first slot. `byteId`: slots of the same element below each slot. */
  def fromFirst[T <: Data](of: Seq[T], byteId: Seq[UInt]): Seq[T] = of.indices.map { s =>
    MuxLookup(byteId(s), of(s))((1 to (7 min s)).map(d => d.U -> of(s - d)))
  }

  /** That of the last slot. `last`: slots that end an element. */
  def fromLast[T <: Data](of: Seq[T], last: Seq[Bool]): Seq[T] = of.indices.map { s =>
    val upTo = 7 min (of.size - 1 - s)
    MuxCase(of(s + upTo), (0 until upTo).map(d => last(s + d) -> of(s + d)))
  }
}
