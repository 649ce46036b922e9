// SPDX-License-Identifier: BSD-3-Clause
package assasin.rocket

import freechips.rocketchip.diplomacy.IdRange
import freechips.rocketchip.tile.{LazyRoCC, OpcodeSet}
import freechips.rocketchip.tilelink.{
  TLBuffer,
  TLClientNode,
  TLMasterParameters,
  TLMasterPortParameters,
  TLWidthWidget
}
import org.chipsalliance.cde.config.Parameters

/** An experiment: ASSASIN's stream instructions on a Rocket tile, as an accelerator behind the pipeline. It has the
  * stream buffers of an ASSASIN core, one stream each way, which are filled from memory and drained to it. Addresses are
  * physical.
  *
  * funct7 of an instruction, whose opcode is one of `opcodes`:
  *   - 0: the input is rs2 bytes at rs1
  *   - 1: the output goes to rs1
  *   - 2: rd = the input's next word, 0 behind its end
  *   - 3: the word rs1 goes to the output
  *   - 4: rd = 0 when all of the output is in memory
  *
  * Addresses and lengths, of an output too, are multiples of 512.
  */
class StreamRoCC(opcodes: OpcodeSet)(implicit p: Parameters) extends LazyRoCC(opcodes) {
  private def client(name: String) = TLClientNode(
    Seq(
      TLMasterPortParameters.v1(Seq(TLMasterParameters.v1(name = name, sourceId = IdRange(0, StreamRoCC.Lines))))
    )
  )

  val fill: TLClientNode  = client("input stream buffer")
  val drain: TLClientNode = client("output stream buffer")
  atlNode := TLBuffer() := TLWidthWidget(8) := fill
  atlNode := TLBuffer() := TLWidthWidget(8) := drain

  lazy val module = new StreamRoCCImp(this)
}

object StreamRoCC {

  /** Bytes of a line and of a page of a stream buffer, lines of a page: one id each. */
  val LineBytes: Int = 64
  val PageBytes: Int = 512
  val Lines: Int     = PageBytes / LineBytes
}
