// SPDX-License-Identifier: BSD-3-Clause
package assasin

import assasin.contract.CoreArch

/** Memory architecture of the ASSASIN cores, see docs/architecture.md "Memory architectures".
  *
  * @param name
  *   first part of the names of its configurations
  * @param code
  *   what SYS.ARCH reads, [[assasin.contract.CoreArch]]
  * @param streamInstructions
  *   pointers are kept by stream instructions; else by the program through CSRs
  * @param scratchpad
  *   scratchpad and stream buffers are on-chip memories; else they are in DRAM behind the data caches
  * @param dataCache
  *   there is a cached window onto DRAM, CORE_DATA
  * @param prefetcher
  *   L1 misses train a prefetcher into L2
  * @param channelLocal
  *   core i receives stream pages from channel i alone; needs as many cores as channels
  * @param vector
  *   a vector unit (Zve32x) on the scratchpad
  * @param pup
  *   the unit has VarVE-pup, and a port to the stream buffers
  * @param full
  *   the unit has VarVE-full
  * @param extensions
  *   standard RISC-V extensions of the cores
  */
case class Architecture(
    name: String,
    code: Int,
    streamInstructions: Boolean,
    scratchpad: Boolean,
    dataCache: Boolean,
    prefetcher: Boolean = false,
    channelLocal: Boolean = false,
    vector: Boolean = false,
    pup: Boolean = false,
    full: Boolean = false,
    extensions: CoreExtensions = CoreExtensions.none
) {
  require(scratchpad || dataCache, s"$name has no data memory")
  require(scratchpad || !streamInstructions, s"$name: stream instructions need stream buffers on the chip")
  require(!dataCache || streamInstructions || !scratchpad, s"$name: nothing ties a cache to a scratchpad and windows")
  require(
    !vector || streamInstructions && !dataCache,
    s"$name: the vector unit is on a scratchpad beside stream buffers"
  )
  require(vector || !pup, s"$name: VarVE is part of a vector unit")
  require(pup || !full, s"$name: VarVE-full is beside VarVE-pup")
  require(!prefetcher || !scratchpad, s"$name: the prefetcher is part of L2")
}

/** The architectures of the paper's Table IV, and AssasinSbX and those with a vector unit, which go past it. */
object Architecture {
  val AssasinSb: Architecture =
    Architecture("AssasinSb", CoreArch.Sb, streamInstructions = true, scratchpad = true, dataCache = false)

  val AssasinSbCache: Architecture =
    Architecture("AssasinSbCache", CoreArch.SbCache, streamInstructions = true, scratchpad = true, dataCache = true)
  val AssasinSp: Architecture =
    Architecture("AssasinSp", CoreArch.Sp, streamInstructions = false, scratchpad = true, dataCache = false)
  val Baseline: Architecture =
    Architecture("Baseline", CoreArch.Baseline, streamInstructions = false, scratchpad = false, dataCache = true)
  val Prefetch: Architecture     = Baseline.copy(name = "Prefetch", code = CoreArch.Prefetch, prefetcher = true)
  val ChannelLocal: Architecture = AssasinSb.copy(name = "ChannelLocal", channelLocal = true)
  val AssasinSbX: Architecture =
    AssasinSb.copy(name = "AssasinSbX", code = CoreArch.SbX, extensions = CoreExtensions.all)

  val AssasinV: Architecture  = AssasinSb.copy(name = "AssasinV", code = CoreArch.V, vector = true)
  val AssasinVp: Architecture = AssasinV.copy(name = "AssasinVp", code = CoreArch.Vp, pup = true)
  val AssasinVf: Architecture = AssasinVp.copy(name = "AssasinVf", code = CoreArch.Vf, full = true)

  /** All that [[assasin.soc.Configs]] knows. */
  val all: Seq[Architecture] =
    Seq(
      AssasinSb,
      AssasinSbCache,
      AssasinSp,
      Baseline,
      Prefetch,
      ChannelLocal,
      AssasinSbX,
      AssasinV,
      AssasinVp,
      AssasinVf
    )
}
