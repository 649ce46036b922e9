// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import assasin.SocParams

/** What one ASSASIN core is elaborated with.
  *
  * @param soc
  *   memory sizes and trace port
  * @param dramDst
  *   crossbar destination number of the DRAM writer, see [[assasin.xbar.XbarPort]]
  * @param imemBase
  *   address of the instruction memory; co-simulation moves it to where its reference keeps memory
  * @param spadBase
  *   address of the scratchpad, likewise
  */
case class StreamCoreParams(
    soc: SocParams,
    dramDst: Int,
    imemBase: BigInt = assasin.contract.AddressMap.CoreImem.base,
    spadBase: BigInt = assasin.contract.AddressMap.CoreSpad.base
) {
  require(dramDst >= 0 && dramDst < 64, s"dramDst = $dramDst: a crossbar destination is 0 to 63")
  require(spadBase % soc.spadBytes == 0, s"spadBase = $spadBase: choose a multiple of spadBytes = ${soc.spadBytes}")

  /** Least input streams of the unit: VarVE-full has nine (docs/varve/isa.md, section 0). */
  private def leastInputs: Int = if (soc.arch.full) 9 else 8

  /** The pipeline's part. */
  val core: CoreParams = CoreParams(
    imemBytes = soc.imemBytes,
    imemBase = imemBase,
    streams = soc.arch.streamInstructions,
    pointers = !soc.arch.streamInstructions,
    wfiSleeps = false,
    extensions = soc.arch.extensions,
    trace = soc.trace,
    vector = Option.when(soc.arch.vector)(
      soc.vector.copy(pup = soc.arch.pup, full = soc.arch.full, inputs = soc.vector.inputs.max(leastInputs))
    )
  )
}
