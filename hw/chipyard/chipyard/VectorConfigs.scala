// SPDX-License-Identifier: BSD-3-Clause
package chipyard

import assasin.rocket.{VarveForm, WithAssasinVector}
import chipyard.assasindrive.{WithProgramRom, WithReport}
import chipyard.config.{AbstractConfig, WithSystemBusWidth, WithUniformBusFrequencies}
import chipyard.harness.{WithAllClocksFromHarnessClockInstantiator, WithHarnessBinderClockFreqMHz, WithSimAXIMem}
import freechips.rocketchip.rocket.WithNHugeCores
import freechips.rocketchip.subsystem.WithExtMemSize
import org.chipsalliance.cde.config.Config

/** An RV64 Rocket with the project's vector unit, beside Saturn's REFV256D128RocketConfig. */
class AssasinV256D128RocketConfig
    extends Config(
      new WithAssasinVector(vLen = 256, dLen = 128) ++
        new WithSystemBusWidth(128) ++
        new WithNHugeCores(1) ++
        new AbstractConfig
    )

/** The same with VarVE-pup, and element groups of a whole register. */
class AssasinV256PupRocketConfig
    extends Config(
      new WithAssasinVector(vLen = 256, dLen = 256, varve = VarveForm.Pup) ++
        new WithSystemBusWidth(256) ++
        new WithNHugeCores(1) ++
        new AbstractConfig
    )

/** The same with VarVE-full. */
class AssasinV256FullRocketConfig
    extends Config(
      new WithAssasinVector(vLen = 256, dLen = 256, varve = VarveForm.Full) ++
        new WithSystemBusWidth(256) ++
        new WithNHugeCores(1) ++
        new AbstractConfig
    )

/** Left of a configuration with a vector unit: a chip that runs one program out of a ROM, with [[SimReport]] and memory
  * that answers at once, and nothing that a simulator of Verilog alone cannot run.
  */
class VectorBench
    extends Config(
      new WithProgramRom ++
        new WithReport ++
        new WithSimAXIMem ++
        new WithAllClocksFromHarnessClockInstantiator ++
        new WithHarnessBinderClockFreqMHz(1000) ++
        new WithUniformBusFrequencies(1000) ++
        new WithExtMemSize(0x100000L) ++
        new WithBareChip
    )
