// SPDX-License-Identifier: BSD-3-Clause
package assasin.subsystem

import assasin.Architecture
import assasin.soc.Configs
import freechips.rocketchip.devices.tilelink.BootROMLocated
import freechips.rocketchip.subsystem.{InSubsystem, RocketTileAttachParams, TilesLocated}
import org.chipsalliance.cde.config.Config
import testchipip.soc.SubsystemInjectorKey

/** A drive with so many ASSASIN cores and flash channels.
  *
  * @param arch
  *   memory architecture of the cores
  */
class WithAssasin(cores: Int = 8, channels: Int = 8, arch: Architecture = Architecture.AssasinSb)
    extends Config((_, _, up) => {
      case DriveKey             => Some(DriveParams(Configs(s"${arch.name}${cores}x$channels")))
      case SubsystemInjectorKey => up(SubsystemInjectorKey) + DriveInjector
    })

/** So many slots for accelerators behind the drive's cores. */
class WithAssasinSlots(slots: Int)
    extends Config((_, _, up) => { case DriveKey =>
      up(DriveKey).map(drive => drive.copy(soc = drive.soc.copy(slots = slots)))
    })

/** The drive's cores have the vector unit with VarVE-full.
  *
  * @param vLen
  *   bits of a vector register
  * @param dLen
  *   bits of an element group
  */
class WithVarVE(vLen: Int = 256, dLen: Int = 256)
    extends Config((_, _, up) => { case DriveKey =>
      up(DriveKey).map { drive =>
        val soc = drive.soc
        drive.copy(soc = soc.copy(arch = Architecture.AssasinVf, vector = soc.vector.copy(vLen = vLen, dLen = dLen)))
      }
    })

/** Where the drive's register windows are: a multiple of 4 MiB. */
class WithAssasinRegisters(base: BigInt)
    extends Config((_, _, up) => { case DriveKey => up(DriveKey).map(_.copy(registers = base)) })

/** The first Rocket tile is in reset while the drive's CTRL.RESET.FW is set. Left of what makes or changes the tiles.
  */
class WithAssasinTileHold
    extends Config((_, _, up) => { case TilesLocated(InSubsystem) =>
      up(TilesLocated(InSubsystem)).map {
        case tile: RocketTileAttachParams if tile.tileParams.tileId == 0 =>
          HeldTileAttachParams(tile.tileParams, tile.crossingParams)
        case other => other
      }
    })

/** The board stops the chip's clock while nothing happens. */
class WithAssasinClockStop
    extends Config((_, _, up) => { case DriveKey => up(DriveKey).map(_.copy(clockStops = true)) })

/** The tiles begin at this address, without a boot ROM: the loader has put the drive's firmware there. */
class WithAssasinEntry(address: BigInt)
    extends Config((_, _, up) => {
      case EntryKey             => Some(address)
      case BootROMLocated(_)    => Nil
      case SubsystemInjectorKey => up(SubsystemInjectorKey) + EntryInjector
    })
