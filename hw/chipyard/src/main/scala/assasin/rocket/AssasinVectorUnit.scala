// SPDX-License-Identifier: BSD-3-Clause
package assasin.rocket

import assasin.vector.VectorParams
import freechips.rocketchip.diplomacy.IdRange
import freechips.rocketchip.rocket.RocketVectorUnit
import freechips.rocketchip.tilelink.{TLBuffer, TLClientNode, TLMasterParameters, TLMasterPortParameters, TLWidthWidget}
import org.chipsalliance.cde.config.Parameters

/** The project's vector unit behind a Rocket core (docs/varve/unit.md 2.4): Zve32x or Zve64x, in machine mode with
  * physical addresses. It reaches memory by a TileLink port of its own beside the data cache, which the bus keeps
  * coherent.
  */
class AssasinVectorUnit(val params: VectorParams)(implicit p: Parameters) extends RocketVectorUnit {
  private val client = TLClientNode(
    Seq(
      TLMasterPortParameters.v1(
        Seq(TLMasterParameters.v1(name = "vector unit", sourceId = IdRange(0, VectorAdapterMemory.Ids)))
      )
    )
  )
  atlNode := TLBuffer() := TLWidthWidget(params.dBytes) := client

  /** The port to memory, for the hardware. */
  def memory: TLClientNode = client

  lazy val module = new AssasinVectorUnitImp(this)
}
