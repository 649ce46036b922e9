// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, log2Ceil}

/** The paths that instructions take behind the commit point. */
object VectorPath {
  val Execute = 0
  val Load    = 1
  val Store   = 2
  val Unpack  = 3
  val Pack    = 4

  /** How many there are. */
  def count(p: VectorParams): Int = if (p.pup) 5 else 3
}

/** What an instruction of the unpack or of the pack path has besides. */
class StreamUse(p: VectorParams) extends Bundle {
  val stream = UInt(4.W)

  /** In a stream buffer, else in memory. */
  val buffer = Bool()

  /** Bits of a value, and how an unpack extends it. */
  val valueBits = UInt(7.W)
  val unsigned  = Bool()

  /** The bit at which it begins in the byte at `scalar`: of an unpack, and with `flush`. */
  val bitpos = UInt(3.W)

  /** Each value has its own width, a byte in a stream of its own: a stream buffer's stream `aux`, or memory. An unpack
    * begins with the one at position or address `stride` of the instruction. An instruction of the unpack path that
    * gives bytes back makes `auxHead` IHEAD of these. A pack's values have 8 << `mb` bits at most.
    */
  val variable = Bool()
  val aux      = UInt(3.W)
  val auxHead  = UInt(32.W)
  val mb       = UInt(2.W)

  /** The stream has the Huffman table `table`. An unpack's elements have been decoded, and are in bank `bank` of
    * [[SymbolRows]], an element group for each beat.
    */
  val huffman = Bool()
  val table   = Bool()
  val bank    = Bool()

  /** Pack path: nothing is packed; `partial` becomes the stream's last byte. */
  val flush   = Bool()
  val partial = UInt(8.W)

  /** Pack path: room was reserved for the elements that are packed, and not for all. */
  val exact = Bool()

  /** log2 of the bytes of the smallest lane that holds a value. */
  def laneLog: UInt =
    Mux(valueBits <= 8.U, 0.U(2.W), Mux(valueBits <= 16.U, 1.U(2.W), Mux(valueBits <= 32.U, 2.U(2.W), 3.U(2.W))))
}

/** What an instruction of VarVE-full has besides. */
class VariableUse(p: VectorParams) extends Bundle {

  /** It is one: of the execute path an operation on elements of any width; of the unpack and pack paths one that writes
    * or reads a register of such elements.
    */
  val active = Bool()

  /** [[VariableFunction]]. */
  val function = UInt(VariableFunction.bits.W)

  /** b is `scalar`. */
  val byScalar = Bool()

  /** Of vv.index: what is added from element to element, 5 bits signed. */
  val step = UInt(5.W)

  /** The result is a mask. */
  val compare = Bool()

  /** It tells a number of elements (N of docs/varve/isa.md 3.1). */
  val setsCount = Bool()

  /** Of an unpack: log2 of the largest width, less 3. */
  val mb = UInt(2.W)

  val place = new StripPlace

  /** Of an unpack: its position is still to be moved by as many elements as the strip before it has, the strip before
    * that one.
    */
  val moves = UInt(StripPending.depth.W)
}

/** An instruction behind the commit point, decoded. */
class VectorOp(p: VectorParams) extends Bundle {

  /** Number in program order modulo 2^tagBits. */
  val tag = UInt(p.tagBits.W)

  /** [[VectorPath]]. */
  val path = UInt(log2Ceil(VectorPath.count(p)).W)

  /** Register fields; `vd` is also a store's or pack's source, and the scalar destination with `toScalar`. Of a pack
    * `vs1` is the mask register, if it reads vs1, and `vs2` the scalar destination.
    */
  val vd  = UInt(5.W)
  val vs1 = UInt(5.W)
  val vs2 = UInt(5.W)

  /** Registers whose values it needs. */
  val readsVs1 = Bool()
  val readsVs2 = Bool()

  /** It needs vd, as summand, or with `swapA` as factor in place of vs2, which then is the summand. */
  val readsVd = Bool()
  val swapA   = Bool()

  /** It writes vd. */
  val writes = Bool()

  /** It reads v0: to write only active elements (`masked`) or to choose. */
  val readsMask = Bool()
  val masked    = Bool()

  /** The result is a bit an element: vd is one register, whose other bits stay. */
  val maskResult = Bool()

  /** The elements of vs2 are reduced to one, which with element 0 of vs1 gives element 0 of vd. */
  val reduces = Bool()

  /** Mask registers as operands: `evl` bits. */
  val bitwise   = Bool()
  val invertB   = Bool()
  val invertOut = Bool()

  /** Scalar register vd takes element 0 of vs2; with `bitwise` what MaskUnit finds in it. */
  val toScalar = Bool()

  /** The elements of vs2 have 2^`extend` times fewer bits than 8 << `eew`, and are extended. */
  val extend       = UInt(2.W)
  val extendSigned = Bool()

  /** The same of vs1 or the scalar, with half as many bits. */
  val extendB       = Bool()
  val extendBSigned = Bool()

  /** The elements of vd have half as many bits as 8 << `eew`. */
  val narrow = Bool()

  /** [[IntegerFunction]]. */
  val function = UInt(IntegerFunction.bits.W)

  /** Rounding mode. */
  val vxrm = UInt(2.W)

  /** log2 of the bytes of an element as computed, of the registers of the largest group, and of those of vs1's. */
  val eew         = UInt(2.W)
  val groups      = UInt(2.W)
  val groupsOfVs1 = UInt(2.W)

  /** Elements `vstart` to `evl` - 1 are worked on; behind the dispatch register some are, but with `toScalar`. */
  val evl    = UInt(p.vlBits.W)
  val vstart = UInt(p.vstartBits.W)

  /** Scalar or immediate operand; of a memory access the base address. */
  val scalar = UInt(p.xLen.W)

  /** Memory access: one element after the other. Else whole element groups. */
  val elementwise = Bool()

  /** Memory access, by elements: fields of a segment less 1, each in a group of registers behind the one before, and
    * bytes from the last field of a segment to the first of the next. `stride` of a permutation is VLMAX.
    */
  val nf     = UInt(3.W)
  val stride = UInt(p.xLen.W)

  /** Memory access, careful: vs2 holds the segments' distances from the base address; log2 of the bytes of one. */
  val indexed  = Bool()
  val indexEew = UInt(2.W)

  /** Memory access: it may fault; each element is checked. It is alone under way. */
  val careful = Bool()

  /** Memory access that is not careful: its first and last byte's addresses. */
  val first = UInt(p.xLen.W)
  val last  = UInt(p.xLen.W)

  /** Unpack path: `stride` is the byte that holds its first width. `scalar` and `last` are the bytes that hold its
    * first and its last bit; `first` is the byte that the stream's next element begins in.
    */
  val use = if (p.pup) Some(new StreamUse(p)) else None

  /** VarVE-full. */
  val variable = if (p.full) Some(new VariableUse(p)) else None

  /** It works on elements of any width; it is a VREDSUM. */
  def isVariable: Bool = variable.fold(false.B)(_.active)
  def isSum: Bool      = variable.fold(false.B)(use => use.active && VariableFunction.isSum(use.function)) && toScalar

  /** What a path uses of it; all else is 0. */
  def usedBy(path: Int): VectorOp = {
    val used = WireDefault(this)
    if (path == VectorPath.Execute) {
      used.use.foreach(use => use := 0.U.asTypeOf(use))
      used.nf     := 0.U
      used.groups := 0.U
      used.stride := stride(p.vlBits - 1, 0)
    }
    if (path == VectorPath.Pack) {
      val fields = Seq[VectorOp => Data](
        _.tag,
        _.vd,
        _.vs1,
        _.vs2,
        _.readsVs1,
        _.eew,
        _.groups,
        _.nf,
        _.evl,
        _.scalar
      ) ++ use.map(_ => (op: VectorOp) => op.use.get) ++
        variable.map(_ => (op: VectorOp) => op.variable.get.active) ++
        variable.map(_ => (op: VectorOp) => op.variable.get.place)
      used := 0.U.asTypeOf(used)
      for (field <- fields) field(used) := field(this)
    }
    used
  }

  /** The registers from `base` on of a group, a bit each. */
  private def group(base: UInt, log: UInt): UInt = {
    val ones = VecInit(0x01.U(8.W), 0x03.U(8.W), 0x0f.U(8.W), 0xff.U(8.W))(log)
    (ones << base)(31, 0)
  }

  /** The same of as many groups as there are fields: 8 registers at most. */
  private def fields(base: UInt, log: UInt): UInt = {
    val count = ((nf +& 1.U) << log)(3, 0)
    val ones  = Cat((0 until 8).map(i => count > i.U).reverse)
    (ones << base)(31, 0)
  }

  /** The registers that it reads and writes. */
  def registers: RegisterUse = {
    val use = Wire(new RegisterUse)
    use.reads  := readRegisters
    use.writes := writeRegisters
    use
  }
  private def writeRegisters: UInt = {
    val log = Mux(maskResult || reduces, 0.U, Mux(narrow && groups =/= 0.U, groups - 1.U, groups))
    Mux(writes, fields(vd, log), 0.U)
  }
  private def readRegisters: UInt = {
    val store = path === VectorPath.Store.U || (if (p.pup) path === VectorPath.Pack.U else false.B)
    val iota  = function === IntegerFunction.Iota.U
    Mux(readsVs1, group(vs1, groupsOfVs1), 0.U) |
      Mux(readsVs2, group(vs2, Mux(iota, 0.U, groups)), 0.U) |
      Mux(store, storedRegisters, 0.U) | readsMask
  }

  /** Those of a store's or pack's data. */
  def storedRegisters: UInt = fields(vd, groups)
}
