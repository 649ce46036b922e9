// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

class StreamOpIO(p: VectorParams) extends Bundle {

  /** The instruction in the commit stage, and what is known of it. */
  val at    = Input(new VectorOffer(p))
  val found = Input(new StreamFound(p))

  /** Elements that it touches, and where they end. A pack's have been counted: room is reserved for these only. */
  val stops  = Input(UInt(p.vlBits.W))
  val endPos = Input(UInt((p.xLen + 3).W))
  val counts = Input(Bool())

  /** Of an unpack of a Huffman stream: the bank with its elements. */
  val bank = Input(Bool())

  val op = Output(new VectorOp(p))
}

/** What a stream instruction is for the unpack or pack path. Combinational. */
class StreamOp(p: VectorParams) extends Module {
  val io = IO(new StreamOpIO(p))

  private val found    = io.found
  private val k        = found.word
  private val config   = io.at.config
  private val format   = found.common.format
  private val kind     = found.common.kind
  private val variable = kind === StreamKind.Variable.U
  private val huffman  = kind === StreamKind.Huffman.U

  private def byteOf(bit: UInt): UInt = (bit >> 3)(p.xLen - 1, 0)

  private val op = io.op
  op          := 0.U.asTypeOf(op)
  op.path     := Mux(k.output, VectorPath.Pack.U, VectorPath.Unpack.U)
  op.vd       := k.register
  op.vs1      := k.mask
  op.vs2      := Mux(k.pack, k.rd, 0.U)
  op.readsVs1 := k.pack && k.masked
  op.writes   := k.unpack
  op.eew      := config.vsew(1, 0)
  op.groups   := Mux(config.vlmul(2), 0.U, config.vlmul(1, 0))
  op.evl      := Mux(k.pack, found.count, Mux(k.unpack, io.stops, 0.U))
  op.scalar   := Mux(k.endOutput, found.common.bytepos, byteOf(found.start))
  op.first    := Mux(k.endInput, found.common.bytepos + 1.U, byteOf(io.endPos))
  op.last     := byteOf(io.endPos - 1.U)
  op.stride   := found.aux
  private val use = op.use.get
  use.stream    := k.stream
  use.buffer    := format.buffer
  use.huffman   := huffman && (k.unpack || k.pack)
  use.table     := found.common.table
  use.bank      := io.bank
  use.valueBits := Mux(variable, (8.U << StreamOp.logMost(k.full, format.mb, config.vsew))(6, 0), format.valueBits)
  use.unsigned  := format.unsigned
  use.bitpos    := Mux(k.endOutput, found.common.bitpos, found.start(2, 0))
  use.flush     := k.endOutput
  use.exact     := io.counts
  use.partial   := found.partial
  use.variable  := variable && (k.unpack || k.consume || k.pack)
  use.aux       := format.aux
  use.auxHead   := (found.aux + io.stops)(31, 0)
  use.mb        := format.mb
  // What has been decoded lies in lanes.
  when(huffman && k.unpack) {
    use.valueBits := (8.U << StreamOp.symbolLog(k.full, format, op.eew))(6, 0)
    use.bitpos    := 0.U
  }
  for (full <- op.variable) {
    full.active                          := k.full && (k.unpack || k.pack)
    full.setsCount                       := k.full && k.unpack
    full.mb                              := format.mb
    full.moves                           := found.moves
    when(k.full && k.unpack)(op.readsVs1 := k.masked)
    when(k.full)(op.groups               := 0.U)
  }
}

object StreamOp {

  /** log2 of the bytes of the widest value that a pack may write, or that an unpack of VarVE-full may read: from the
    * format's `mb`, and without VarVE-full from vsew.
    */
  def logMost(full: Bool, mb: UInt, vsew: UInt): UInt = Mux(full || mb < vsew(1, 0), mb, vsew(1, 0))

  /** log2 of the bytes of the lanes that symbols of a Huffman stream are decoded into: with VarVE-full of the smallest
    * that hold them, else of those of an element, 8 << `eew` bits.
    */
  def symbolLog(full: Bool, format: StreamFormat, eew: UInt): UInt = Mux(full, format.valueBits > 8.U, eew)
}
