// SPDX-License-Identifier: BSD-3-Clause
package assasin.subsystem

import assasin.SocParams
import assasin.contract.AddressMap
import org.chipsalliance.cde.config.Field

/** The drive as a device of a subsystem.
  *
  * @param soc
  *   cores, slots, channels and their architecture
  * @param registers
  *   base address of the register windows SYS to SLOT of the contract's address map, 4 MiB, a multiple of that
  * @param dram
  *   address in the subsystem of what the drive has at the contract's window DRAM, 2 GiB
  * @param clockStops
  *   the board stops the chip's clock while nothing happens, and counts the time
  */
case class DriveParams(
    soc: SocParams,
    registers: BigInt = AddressMap.Sys.base,
    dram: BigInt = AddressMap.Dram.base,
    clockStops: Boolean = false
) {
  require(
    registers % DriveParams.RegisterBytes == 0,
    f"registers = 0x$registers%x: choose a multiple of 0x${DriveParams.RegisterBytes}%x"
  )
  require(dram == AddressMap.Dram.base, f"dram = 0x$dram%x: the drive's DRAM window is at 0x${AddressMap.Dram.base}%x")
}

object DriveParams {

  /** All register windows together. */
  val RegisterBytes: BigInt = 0x400000
}

/** Present in a subsystem that has a drive. */
case object DriveKey extends Field[Option[DriveParams]](None)
