// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{MuxCase, log2Ceil}

/** A value of one slot of an element, at all of the element's slots (docs/varve/unit.md 6.2). An element has `most`
  * slots or fewer. With up to 8 a slot chooses among all of them; with more that would be too much, and values move by
  * 1, 2, 4... slots.
  */
object ElementSlots {

  /** From slot to slot 1, 2, 4... up to half of `most`. */
  def distances(most: Int): Seq[Int] = (0 until log2Ceil(most)).map(1 << _)

  /** How many slots of the same element are below each slot. `first`: slots that begin an element. */
  def below(first: Seq[Bool], most: Int): Seq[UInt] = {
    val bits = log2Ceil(most)
    if (most <= 8)
      first.indices.map(s => MuxCase(0.U(bits.W), (0 to ((most - 1) min s)).map(d => first(s - d) -> d.U(bits.W))))
    else numbered(first, most, -1)
  }

  /** How many slots of the same element are above each slot. `last`: slots that end an element. */
  def above(last: Seq[Bool], most: Int): Seq[UInt] = {
    val bits = log2Ceil(most)
    if (most <= 8)
      last.indices.map { s =>
        val upTo = (most - 1) min (last.size - 1 - s)
        MuxCase(upTo.U(bits.W), (0 until upTo).map(d => last(s + d) -> d.U(bits.W)))
      }
    else numbered(last, most, 1)
  }

  /** How far the next end of an element is, downwards (-1) or upwards (1); 0 without one. */
  private def numbered(end: Seq[Bool], most: Int, way: Int): Seq[UInt] = {
    val bits = log2Ceil(most)
    distances(most)
      .foldLeft(end.map(e => (0.U(bits.W), e))) { (now, distance) =>
        now.indices.map { s =>
          val from = s + way * distance
          if (!now.indices.contains(from)) now(s)
          else {
            val (number, found) = now(s)
            (Mux(found, number, (now(from)._1 + distance.U)(bits - 1, 0)), found || now(from)._2)
          }
        }
      }
      .map { case (number, found) => Mux(found, number, 0.U) }
  }

  /** That of the first slot. `id`: slots of the same element below each slot. */
  def fromFirst[T <: Data](of: Seq[T], id: Seq[UInt], most: Int): Seq[T] =
    if (most <= 8)
      of.indices.map(s => MuxTree(id(s), (0 to ((most - 1) min s)).map(d => of(s - d))))
    else
      distances(most).zipWithIndex.foldLeft(of) { case (now, (distance, bit)) =>
        now.indices.map(s => if (s < distance) now(s) else Mux(id(s)(bit), now(s - distance), now(s)))
      }

  /** That of the last slot. `last`: slots that end an element. */
  def fromLast[T <: Data](of: Seq[T], last: Seq[Bool], most: Int): Seq[T] =
    if (most <= 8)
      of.indices.map { s =>
        val upTo = (most - 1) min (of.size - 1 - s)
        MuxCase(of(s + upTo), (0 until upTo).map(d => last(s + d) -> of(s + d)))
      }
    else
      distances(most)
        .foldLeft(of.zip(last)) { (now, distance) =>
          now.indices.map { s =>
            if (s + distance >= now.size) now(s)
            else (Mux(now(s)._2, now(s)._1, now(s + distance)._1), now(s)._2 || now(s + distance)._2)
          }
        }
        .map(_._1)
}
