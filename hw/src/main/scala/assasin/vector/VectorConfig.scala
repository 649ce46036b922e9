// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, log2Ceil}

/** The CSRs that a vector instruction depends on (RISC-V V specification 1.0, section 3), as they are before it. */
class VectorConfig(p: VectorParams) extends Bundle {

  /** vtype.vill: the configuration is not supported. The other fields of vtype and vl are then 0. */
  val vill = Bool()

  /** vtype.vma, vtype.vta: mask and tail agnostic. The unit leaves inactive and tail elements undisturbed whatever they
    * say.
    */
  val vma = Bool()
  val vta = Bool()

  /** vtype.vsew: log2(SEW / 8), 0 to log2(ELEN / 8) unless `vill`. */
  val vsew = UInt(3.W)

  /** vtype.vlmul: log2(LMUL) in two's complement, -3 to 3 (4 is reserved). */
  val vlmul = UInt(3.W)

  /** vl, elements, at most `vlmax`. */
  val vl = UInt(p.vlBits.W)

  /** vstart, the first element to work on. */
  val vstart = UInt(p.vstartBits.W)

  /** vxrm: 0 round to nearest up, 1 to nearest even, 2 down, 3 to odd. */
  val vxrm = UInt(2.W)

  /** VLEN * LMUL / SEW, elements; for a legal vtype only. */
  def vlmax: UInt = {
    // log2(VLMAX) = log2(VLEN / 8) + vlmul - vsew, which a legal vtype keeps from 0 to log2(VLEN).
    val exponent = log2Ceil(p.vBytes).U(5.W) + Cat(vlmul(2), vlmul(2), vlmul) - vsew
    (1.U << exponent(log2Ceil(p.vlBits) - 1, 0))(p.vlBits - 1, 0)
  }

  /** log2(EMUL) in two's complement, 5 bits, of an operand whose elements have 8 << `eew` bits: LMUL * EEW / SEW. */
  def emul(eew: UInt): SInt =
    vlmul.asSInt.pad(5) + Cat(0.U(1.W), eew.pad(3)(2, 0)).asSInt.pad(5) - Cat(0.U(1.W), vsew).asSInt.pad(5)
}

object VectorConfig {

  /** Whether vtype may have these fields (V specification 3.4, docs/varve/unit.md 3.5): SEW 8 to ELEN, LMUL 1/8 to 8,
    * and LMUL >= SEW / ELEN. All else sets vill.
    */
  def supported(p: VectorParams, vsew: UInt, vlmul: UInt): Bool = {
    val largest = log2Ceil(p.eLen / 8)
    // -vlmul <= log2(ELEN) - vsew for the fractions.
    vsew <= largest.U && vlmul =/= 4.U && (!vlmul(2) || (8.U(4.W) - vlmul) +& vsew <= largest.U)
  }
}
