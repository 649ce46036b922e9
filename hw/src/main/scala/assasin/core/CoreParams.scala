// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3.util.log2Ceil

import assasin.CoreExtensions
import assasin.contract.DebugRegs
import assasin.vector.{VectorParams, VectorSettings}

/** What one pipeline is elaborated with.
  *
  * @param imemBytes
  *   instruction memory, bytes, a multiple of 1024 up to 2^32; a fetch outside `imemBase` .. `imemBase + imemBytes`
  *   faults
  * @param imemBase
  *   address of the instruction memory, a multiple of its size rounded up to a power of two
  * @param streams
  *   adds the stream instructions and CSRs and the [[StreamPortIO]]
  * @param pointers
  *   adds the CSRs of stream pointers that the program keeps and the [[PointerPortIO]]; not together with `streams`
  * @param wfiSleeps
  *   WFI waits for `irqPending`; without it WFI does nothing, for a core that has no interrupt source
  * @param extensions
  *   standard extensions beyond RV32IM and Zicsr
  * @param breakpoints
  *   comparators of the debug port, at least 1
  * @param trace
  *   adds the retired-instruction port (co-simulation)
  * @param vector
  *   adds vset*, the vector CSRs and the port of a vector unit with these parameters
  */
case class CoreParams(
    imemBytes: BigInt,
    imemBase: BigInt = 0,
    streams: Boolean = false,
    pointers: Boolean = false,
    wfiSleeps: Boolean = true,
    extensions: CoreExtensions = CoreExtensions.none,
    breakpoints: Int = DebugRegs.BreakAddr.count,
    trace: Boolean = false,
    vector: Option[VectorParams] = None
) {
  require(imemBytes >= 1024 && imemBytes % 1024 == 0, s"imemBytes = $imemBytes: choose a multiple of 1024")
  require(
    imemBase >= 0 && imemBase % (BigInt(1) << log2Ceil(imemBytes)) == 0,
    s"imemBase = $imemBase: choose a multiple of imemBytes = $imemBytes rounded up to a power of two"
  )
  require(breakpoints >= 1, s"breakpoints = $breakpoints: choose at least 1")
  require(!(streams && pointers), "stream pointers are moved by instructions or by CSR writes, not by both")
  require(imemBase + imemBytes <= (BigInt(1) << 32), s"imemBase = $imemBase: the memory must end below 2^32")
  vector.foreach(v => require(v.xLen == 32, s"vector.xLen = ${v.xLen}: choose 32, the width of this core"))

  /** The stream buffers have a vector unit's port too. */
  val wideStreams: Boolean = streams && vector.exists(_.pup)

  /** Instructions beyond [[DecodeTable]]. */
  val decoders: Seq[DecodeExtension] = (if (streams) Seq(StreamDecode) else Nil) ++
    vector.toSeq.flatMap(v => VectorDecodeRows +: (if (v.pup) Seq(VarveDecodeRows(v.full)) else Nil))

  /** CSRs that [[CsrFile]] leaves to others. */
  val csrs: CsrExtension =
    CsrExtension(vector.toSeq.flatMap(VectorSettings.csrs).map(c => CsrRow(c.address, c.waits)))
}
