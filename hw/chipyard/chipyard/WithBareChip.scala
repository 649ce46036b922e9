// SPDX-License-Identifier: BSD-3-Clause
package chipyard

import chipyard.config.{WithNoClockTap, WithNoDebug, WithNoTileClockGaters, WithNoTileResetSetters, WithNoUART}
import freechips.rocketchip.subsystem.WithoutTLMonitors
import org.chipsalliance.cde.config.Config
import testchipip.boot.{WithNoBootAddrReg, WithNoCustomBootPin}
import testchipip.serdes.WithNoSerialTL
import testchipip.soc.WithNoScratchpads

/** Leaves out what AbstractConfig adds to a chip that nothing here uses: scratchpad, serial link, UART, debug module,
  * boot pins, monitors, clocks and resets by tile.
  */
class WithBareChip
    extends Config(
      new WithNoScratchpads ++
        new WithNoSerialTL ++
        new WithNoBootAddrReg ++
        new WithNoCustomBootPin ++
        new WithNoUART ++
        new WithNoDebug ++
        new WithoutTLMonitors ++
        new WithNoClockTap ++
        new WithNoTileClockGaters ++
        new WithNoTileResetSetters
    )
