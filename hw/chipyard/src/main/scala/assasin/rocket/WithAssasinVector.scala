// SPDX-License-Identifier: BSD-3-Clause
package assasin.rocket

import assasin.vector.VectorParams
import chisel3._
import freechips.rocketchip.rocket.RocketCoreVectorParams
import freechips.rocketchip.subsystem.{InSubsystem, RocketTileAttachParams, TilesLocated}
import org.chipsalliance.cde.config.{Config, Parameters}

/** Rocket tiles of 64 bits have the project's vector unit, Zve32x, and neither virtual memory nor physical memory
  * protection. Left of what makes the tiles.
  *
  * @param vLen
  *   bits of a vector register
  * @param dLen
  *   bits of an element group, and of the unit's port to memory before it is brought to the bus's width; with
  *   VarVE-full `vLen`
  * @param varve
  *   VarVE on streams in memory, in machine mode's hands (MVARVE); custom-2, and with VarVE-full custom-1, are its own
  *   then
  */
class WithAssasinVector(vLen: Int = 256, dLen: Int = 128, varve: VarveForm.Value = VarveForm.None)
    extends Config((_, _, up) => { case TilesLocated(InSubsystem) =>
      up(TilesLocated(InSubsystem)).map {
        case tile: RocketTileAttachParams =>
          val core = tile.tileParams.core
          // A chip without a drive has no cell for clock gates.
          val params = VectorParams(
            xLen = 64,
            vLen = vLen,
            dLen = dLen,
            eLen = 32,
            pup = varve != VarveForm.None,
            full = varve == VarveForm.Full,
            inputs = if (varve == VarveForm.Full) 9 else 8,
            buffers = false,
            clockGate = false
          )
          val vector = RocketCoreVectorParams(
            build = (p: Parameters) => new AssasinVectorUnit(params)(p),
            vLen = params.vLen,
            eLen = params.eLen,
            vfLen = 0,
            vfh = false,
            vMemDataBits = 0,
            decoder = (p: Parameters) => Module(new AssasinVectorDecoder(params)(p)),
            // For the order of scalar accesses only.
            useDCache = true,
            issueVConfig = false,
            vExts = Nil
          )
          val changed = core.copy(vector = Some(vector), useVM = false, nPMPs = 0)
          tile.copy(tileParams = tile.tileParams.copy(core = changed))
        case other => other
      }
    })
