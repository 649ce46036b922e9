// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** Vector registers that an instruction reads and writes, a bit each, but for an index: an access with indices is alone
  * under way.
  */
class RegisterUse extends Bundle {
  val reads  = UInt(32.W)
  val writes = UInt(32.W)
}
