// SPDX-License-Identifier: BSD-3-Clause
package assasin.bus

import chisel3._
import chisel3.util.circt.{ClockGate => Cell}

/** Clock gates. firtool makes an instance of the cell `EICG_wrapper` of each, which [[assasin.Emission]] adds. */
object ClockGate {

  /** The implicit clock for a unit that works while `active`; it runs in reset too. `active` comes from registers and
    * from inputs that change while the clock is low, and covers the cycle that starts the unit.
    */
  def apply(active: Bool): Clock = Cell(Module.clock, active || Module.reset.asBool)
}
