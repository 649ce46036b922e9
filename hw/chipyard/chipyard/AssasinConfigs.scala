// SPDX-License-Identifier: BSD-3-Clause
package chipyard

import assasin.Architecture
import assasin.subsystem.{
  WithAssasin,
  WithAssasinClockStop,
  WithAssasinEntry,
  WithAssasinSlots,
  WithAssasinTileHold,
  WithVarVE
}
import chipyard.assasindrive.{WithAssasinPunchthrough, WithAssasinTiedOff, WithVirtualBoard}
import chipyard.config.{AbstractConfig, WithBroadcastManager, WithBroadcastParams}
import chipyard.harness.{WithAllClocksFromHarnessClockInstantiator, WithHarnessBinderClockFreqMHz}
import freechips.rocketchip.rocket.{
  WithDefaultBtb,
  WithL1DCacheWays,
  WithL1ICacheWays,
  WithNBigCores,
  WithNSmallCores,
  WithRV32
}
import freechips.rocketchip.subsystem.{BroadcastParams, WithExtMemSize}
import org.chipsalliance.cde.config.Config

/** What every configuration with a drive has beside the drive: its pins. */
class AssasinBaseConfig
    extends Config(
      new WithAssasinTiedOff ++
        new WithAssasinPunchthrough ++
        new AbstractConfig
    )

/** Two cores, two channels, and one RV32 Rocket as firmware processor. */
class AssasinSb2x2Config
    extends Config(
      new WithAssasin(cores = 2, channels = 2) ++
        new WithRV32 ++
        new WithNBigCores(1) ++
        new AssasinBaseConfig
    )

/** The same with an RV64 Rocket. */
class AssasinSb2x2RV64Config
    extends Config(
      new WithAssasin(cores = 2, channels = 2) ++
        new WithNBigCores(1) ++
        new AssasinBaseConfig
    )

/** Two cores, two channels and two slots for accelerators. */
class AssasinSbHls2x2Config
    extends Config(
      new WithAssasinSlots(2) ++
        new AssasinSb2x2Config
    )

/** The card: RV32 Rocket, eight cores with VarVE-full, eight channels. */
class AssasinCardConfig
    extends Config(
      new WithVarVE ++
        new WithAssasin(cores = 8, channels = 8, arch = Architecture.AssasinSb) ++
        new WithRV32 ++
        new WithNBigCores(1) ++
        new AssasinBaseConfig
    )

/** A chip that the virtual board runs (top: DriveTop): nothing that the drive's firmware does not use, no second-level
  * cache, and one Rocket tile with caches of 16 KiB that begins where the board's loader has put the firmware. Left of
  * it: WithAssasinTileHold, WithAssasinClockStop, WithAssasin.
  */
class AssasinBoardBaseConfig
    extends Config(
      new WithVirtualBoard ++
        new WithAllClocksFromHarnessClockInstantiator ++
        new WithHarnessBinderClockFreqMHz(500) ++
        new WithAssasinPunchthrough ++
        new WithAssasinEntry(0xf4000000L) ++
        new WithDefaultBtb ++
        new WithL1ICacheWays(4) ++
        new WithL1DCacheWays(4) ++
        new WithNSmallCores(1) ++
        new WithExtMemSize(0x80000000L) ++
        // The drive has many lines under way.
        new WithBroadcastParams(BroadcastParams(nTrackers = 16)) ++
        new WithBroadcastManager ++
        new WithBareChip ++
        new AbstractConfig
    )

/** Two cores, two channels, RV32 Rocket, for the virtual board. */
class ChipyardAssasin2x2Config
    extends Config(
      new WithAssasinTileHold ++
        new WithAssasinClockStop ++
        new WithAssasin(cores = 2, channels = 2) ++
        new WithRV32 ++
        new AssasinBoardBaseConfig
    )

/** The same with an RV64 Rocket. */
class ChipyardAssasinRvd2x2Config
    extends Config(
      new WithAssasinTileHold ++
        new WithAssasinClockStop ++
        new WithAssasin(cores = 2, channels = 2) ++
        new AssasinBoardBaseConfig
    )
