// SPDX-License-Identifier: BSD-3-Clause
package chipyard

import assasin.Architecture
import assasin.subsystem.{WithAssasin, WithAssasinSlots, WithVarVE}
import chipyard.assasindrive.{WithAssasinPunchthrough, WithAssasinTiedOff}
import chipyard.config.AbstractConfig
import freechips.rocketchip.rocket.{WithNBigCores, WithRV32}
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
