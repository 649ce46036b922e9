// SPDX-License-Identifier: BSD-3-Clause
package chipyard.assasindrive

import chisel3._
import freechips.rocketchip.regmapper.{RegField, RegWriteFn}
import org.chipsalliance.diplomacy.lazymodule.LazyModuleImp

/** Hardware of [[SimReport]]. */
class SimReportImp(outer: SimReport) extends LazyModuleImp(outer) {
  private val report = RegWriteFn { (valid: Bool, data: UInt) =>
    when(valid)(printf("report %d\n", data))
    true.B
  }
  private val end = RegWriteFn { (valid: Bool, data: UInt) =>
    when(valid) {
      printf("end %d\n", data)
      stop()
    }
    true.B
  }
  outer.node.regmap(0 -> Seq(RegField.w(32, report)), 4 -> Seq(RegField.w(32, end)))
}
