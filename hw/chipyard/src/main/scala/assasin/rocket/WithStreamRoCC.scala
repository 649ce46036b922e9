// SPDX-License-Identifier: BSD-3-Clause
package assasin.rocket

import freechips.rocketchip.tile.{BuildRoCC, OpcodeSet}
import org.chipsalliance.cde.config.{Config, Parameters}
import org.chipsalliance.diplomacy.lazymodule.LazyModule

/** Rocket tiles have a [[StreamRoCC]] at custom-0. */
class WithStreamRoCC
    extends Config((_, _, up) => { case BuildRoCC =>
      up(BuildRoCC) :+ ((p: Parameters) => LazyModule(new StreamRoCC(OpcodeSet.custom0)(p)))
    })
