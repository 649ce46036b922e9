// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Cat, isPow2, log2Ceil}

/** Rotation by whole bytes. Combinational. */
object ByteRotate {

  /** Byte i of the result is byte i + `amount` of `data`, counted modulo its bytes, which are a power of two.
    *
    * A bit of the amount is a stage of 2:1 multiplexers, two of which fit a LUT of six inputs. The highest bit goes
    * first, so that a user of the low bytes alone takes less.
    */
  def down(data: UInt, amount: UInt): UInt = {
    val bytes = data.getWidth / 8
    require(data.getWidth % 8 == 0 && isPow2(bytes), s"${data.getWidth} bits: choose a power of two of bytes")
    require(amount.getWidth == log2Ceil(bytes), s"an amount of ${amount.getWidth} bits for $bytes bytes")
    def by(value: UInt, n: Int): UInt = Cat(value(8 * n - 1, 0), value(8 * bytes - 1, 8 * n))
    (log2Ceil(bytes) - 1 to 0 by -1).foldLeft(data) { (value, bit) =>
      Mux(amount(bit), by(value, 1 << bit), value)
    }
  }

  /** Byte i + `amount` of the result is byte i of `data`, likewise. */
  def up(data: UInt, amount: UInt): UInt = down(data, (0.U - amount)(amount.getWidth - 1, 0))
}
