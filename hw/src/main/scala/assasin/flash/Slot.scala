// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import chisel3._
import chisel3.util.{OHToUInt, isPow2, log2Ceil}

/** A LUN of a way, as the channel tells them apart: LUN in bit 4, way below. A mask of slots has the ways' LUNs 0 in
  * its low half and their LUNs 1 in its high half. A chip whose `luns` is 1 has only LUNs 0: they stand for the way.
  */
object Slot {
  val Bits: Int = 5

  def count(p: SocParams): Int = p.luns * p.ways

  def apply(lun: Bool, way: UInt): UInt = lun ## way(3, 0)
  def way(slot: UInt): UInt             = slot(3, 0)
  def lun(slot: UInt): Bool             = slot(4)

  /** Place of the slot's bit in a mask. */
  def index(p: SocParams, slot: UInt): UInt =
    if (p.luns == 1) slot(log2Ceil(p.ways).max(1) - 1, 0)
    else if (p.ways == 1) slot(4)
    else if (isPow2(p.ways)) slot(4) ## slot(log2Ceil(p.ways) - 1, 0)
    else (Mux(slot(4), p.ways.U, 0.U) +& slot(3, 0))(log2Ceil(2 * p.ways) - 1, 0)

  def bit(p: SocParams, slot: UInt): UInt = (1.U << index(p, slot)).pad(count(p))(count(p) - 1, 0)

  /** The slot whose bit is set. */
  def of(p: SocParams, oneHot: UInt): UInt =
    if (p.luns == 1) apply(false.B, OHToUInt(oneHot).pad(4))
    else apply(luns1(p, oneHot).orR, OHToUInt(luns0(p, oneHot) | luns1(p, oneHot)).pad(4))

  def luns0(p: SocParams, mask: UInt): UInt = mask(p.ways - 1, 0)
  def luns1(p: SocParams, mask: UInt): UInt = if (p.luns == 1) 0.U(p.ways.W) else mask(2 * p.ways - 1, p.ways)

  /** The other LUNs of the ways whose LUNs are in `mask`. */
  def others(p: SocParams, mask: UInt): UInt =
    if (p.luns == 1) 0.U(p.ways.W) else luns0(p, mask) ## luns1(p, mask)

  /** All LUNs of each way of a mask of ways. */
  def both(p: SocParams, ways: UInt): UInt = if (p.luns == 1) ways else ways ## ways
}
