// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.BitPat

import assasin.contract.StreamInstructions._

/** The stream instructions (hw/isa/rv_xassasin). Width and sign codes are those of loads; the contract's patterns fix
  * which fields must be 0. A stream at or above the number of streams is illegal.
  */
object StreamDecode extends DecodeExtension {
  import ExtensionUnit.{StreamLoad, StreamReadI, StreamReadO, StreamStore}

  private val load  = ExtensionClass(StreamLoad, wen = RdWrite.Now)
  private val store = ExtensionClass(StreamStore, usesRs2 = true)
  private val readI = ExtensionClass(StreamReadI, usesRs2 = true, wen = RdWrite.Now)
  private val readO = ExtensionClass(StreamReadO, usesRs2 = true, wen = RdWrite.Now)

  val rows: Seq[(BitPat, ExtensionClass)] =
    Seq(STREAM_LB, STREAM_LH, STREAM_LW, STREAM_LBU, STREAM_LHU).map(_ -> load) ++
      Seq(STREAM_SB, STREAM_SH, STREAM_SW).map(_ -> store) ++
      Seq(STREAM_READI_B, STREAM_READI_H, STREAM_READI_W, STREAM_READI_BU, STREAM_READI_HU).map(_ -> readI) ++
      Seq(STREAM_READO_B, STREAM_READO_H, STREAM_READO_W, STREAM_READO_BU, STREAM_READO_HU).map(_ -> readO)

  def legal(in: DecodeIO): Bool = in.insn(19, 15) < (1.U(4.W) << in.sLog2)
}
