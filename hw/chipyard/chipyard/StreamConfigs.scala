// SPDX-License-Identifier: BSD-3-Clause
package chipyard

import assasin.rocket.WithStreamRoCC
import chipyard.config.AbstractConfig
import freechips.rocketchip.rocket.WithNHugeCores
import org.chipsalliance.cde.config.Config

/** An RV64 Rocket with ASSASIN's stream buffers behind its pipeline. */
class AssasinStreamRocketConfig
    extends Config(
      new WithStreamRoCC ++
        new WithNHugeCores(1) ++
        new AbstractConfig
    )
