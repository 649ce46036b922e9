// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxLookup, log2Ceil}

class VectorDecodeIO(p: VectorParams) extends Bundle {
  val offer = Input(new VectorOffer(p))

  /** The word may be executed with this vtype, vstart and mstatus. */
  val legal = Output(Bool())

  /** It accesses memory. */
  val memory = Output(Bool())

  /** Decoded, without tag and range; `careful` is 0. evl may be 0. */
  val op = Output(new VectorOp(p))

  /** Fault-only-first: a fault at an element above 0 shortens vl instead of trapping. */
  val firstOnly = Output(Bool())

  /** Nothing is to be done but to set vstart to 0: no element is between vstart and vl, and no scalar is written. */
  val empty = Output(Bool())
}

/** Decodes a word and decides its legality (docs/varve/unit.md 3.5). Combinational. What the unit has not is illegal.
  */
class VectorDecode(p: VectorParams) extends Module {
  val io = IO(new VectorDecodeIO(p))

  private val insn    = io.offer.insn
  private val config  = io.offer.config
  private val funct3  = insn(14, 12)
  private val vm      = insn(25)
  private val vd      = insn(11, 7)
  private val vs1     = insn(19, 15)
  private val vs2     = insn(24, 20)
  private val maxEew  = log2Ceil(p.eLen / 8)
  private val isArith = insn(6, 0) === "b1010111".U
  private val isLoad  = insn(6, 0) === "b0000111".U
  private val isStore = insn(6, 0) === "b0100111".U
  private val memory  = isLoad || isStore

  /** Whether a group of 2^`log` registers may begin at `register`. */
  private def aligned(register: UInt, log: UInt): Bool =
    (register(2, 0) & VecInit(0.U(3.W), 1.U(3.W), 3.U(3.W), 7.U(3.W))(log)) === 0.U

  // Arithmetic.
  private val byScalar    = funct3 === 4.U || funct3 === 6.U
  private val byImmediate = funct3 === 3.U
  private val byVector    = funct3 === 0.U || funct3 === 2.U
  private val multiply    = funct3 === 2.U || funct3 === 6.U
  private val row         = VectorInstructions.controls(multiply, insn(31, 26))
  private val exists = MuxLookup(funct3, false.B)(
    Seq(0.U -> row.vv, 2.U -> row.vv, 3.U -> row.vi, 4.U -> row.vx, 6.U -> row.vx)
  )
  private val lmul      = Mux(config.vlmul(2), 0.U(2.W), config.vlmul(1, 0))
  private val toX       = row.scalarMove && byVector
  private val ofMask    = toX && vs1 =/= 0.U
  private val fromX     = row.scalarMove && byScalar
  private val move      = row.merge && vm
  private val registers = row.wholeMove && byImmediate
  private val iota      = row.maskUnary && vs1 === 16.U
  private val index     = row.maskUnary && vs1 === 17.U
  private val maskSet   = row.maskUnary && !vs1(4)
  private val function = Mux(
    byVector && row.function === IntegerFunction.SlideUp.U,
    IntegerFunction.Gather16.U,
    Mux(!byVector && row.function === IntegerFunction.Gather.U, IntegerFunction.GatherOne.U, row.function)
  )
  private val movable = vs1 === 0.U || vs1 === 1.U || vs1 === 3.U || vs1 === 7.U
  private val moveLog = Mux(vs1 === 7.U, 3.U(2.W), Mux(vs1 === 3.U, 2.U(2.W), Mux(vs1 === 1.U, 1.U(2.W), 0.U(2.W))))

  /** A mask register may be the first of a source's group but no other of it. */
  private def apart(source: UInt): Bool = vd === source || (vd >> lmul) =/= (source >> lmul)

  // vzext, vsext: a source may lie in the destination as its highest part if it is at least a whole register.
  private val fewer      = Mux(vs1(2), Mux(vs1(1), 1.U(2.W), 2.U(2.W)), 3.U(2.W))
  private val sourceEmul = config.vlmul.asSInt.pad(5) - fewer.zext
  private val sourceLog  = Mux(sourceEmul < 0.S, 0.U(2.W), sourceEmul(1, 0).asUInt)
  private val inside     = (vs2 >> lmul) === (vd >> lmul)
  private val highest =
    sourceEmul >= 0.S && vs2 =/= vd && vs2 +& (1.U << sourceLog) === vd +& (1.U << lmul)
  private val extendLegal = vs1(4, 1) =/= 0.U && !vs1(4, 3).orR && config.vsew >= fewer && sourceEmul >= -3.S &&
    aligned(vd, lmul) && aligned(vs2, sourceLog) && (!inside || highest) && (vm || vd =/= 0.U)

  // Widening, narrowing: one group is twice as large; a source of half its element size may lie in it as its highest
  // part, a destination as its lowest.
  private val wideLog                           = Mux(config.vlmul(2), 0.U(2.W), config.vlmul(1, 0) + 1.U)
  private val doubling                          = config.vlmul =/= 3.U && config.vsew < maxEew.U && (vm || vd =/= 0.U)
  private def apartWide(a: UInt, b: UInt): Bool = (a >> wideLog) =/= (b >> wideLog)
  private def widenable(source: UInt): Bool =
    aligned(source, lmul) && (apartWide(source, vd) || (!config.vlmul(2) && (source >> lmul)(0)))
  private val widenLegal = doubling && aligned(vd, wideLog) && (!byVector || widenable(vs1)) &&
    Mux(row.wideA, aligned(vs2, wideLog), widenable(vs2))
  private val narrowLegal = doubling && aligned(vd, lmul) && aligned(vs2, wideLog) &&
    (apartWide(vs2, vd) || vs2 === vd) && (!byVector || aligned(vs1, lmul))

  // Reductions: vd and vs1 are single registers, which may lie anywhere, v0 included.
  private val reduceLegal = aligned(vs2, lmul) && (!row.widen || config.vsew < maxEew.U)

  // vmsbf, vmsof, vmsif; viota; vid. A source, if it is there, is a single register outside of the destination.
  private val maskUnaryLegal = (vm || vd =/= 0.U) && Mux(
    maskSet,
    vs1(3, 0) =/= 0.U && vs1(3, 2) === 0.U && vd =/= vs2,
    aligned(vd, lmul) && ((iota && (vd >> lmul) =/= (vs2 >> lmul)) || (index && vs2 === 0.U))
  )

  // Slides, gathers, vcompress: what an element group is read for may be written before only if the source goes
  // downwards.
  private val downwards = function === IntegerFunction.SlideDown.U || function === IntegerFunction.Slide1Down.U
  private val gathers16 = function === IntegerFunction.Gather16.U
  private val compress  = function === IntegerFunction.Compress.U
  private val indexEmul = config.emul(1.U)
  private val indexLog  = Mux(indexEmul < 0.S, 0.U(2.W), indexEmul(1, 0).asUInt)
  private val largerLog = Mux(indexLog > lmul, indexLog, lmul)
  private val indexLegal = Mux(
    compress,
    vm && (vd >> lmul) =/= (vs1 >> lmul),
    Mux(
      gathers16,
      indexEmul >= -3.S && indexEmul <= 3.S && aligned(vs1, indexLog) && (vd >> largerLog) =/= (vs1 >> largerLog),
      aligned(vs1, lmul) && vd =/= vs1
    )
  )
  private val permuteLegal = aligned(vd, lmul) && aligned(vs2, lmul) && (vm || vd =/= 0.U) &&
    (downwards || vd =/= vs2) && (!byVector || indexLegal)

  private val plainLegal = Mux(
    row.scalarMove,
    Mux(byVector, (vs1 === 0.U && vm) || vs1 === 16.U || vs1 === 17.U, vm && vs2 === 0.U),
    Mux(
      registers,
      vm && movable && aligned(vd, moveLog) && aligned(vs2, moveLog),
      Mux(
        row.bitwise,
        vm,
        (!byVector || aligned(vs1, lmul)) && Mux(move, vs2 === 0.U, aligned(vs2, lmul))
      ) && !(row.needsCarry && vm) &&
        Mux(
          row.maskResult,
          row.bitwise || apart(vs2) && (!byVector || apart(vs1)),
          aligned(vd, lmul) && (vm || vd =/= 0.U)
        )
    )
  )
  private val kindLegal =
    Mux(
      row.extend,
      extendLegal,
      Mux(
        row.reduce,
        reduceLegal,
        Mux(
          row.maskUnary,
          maskUnaryLegal,
          Mux(
            row.permute,
            permuteLegal,
            Mux(row.widen, widenLegal, Mux(row.narrow, narrowLegal, plainLegal))
          )
        )
      )
    )

  // Zve64x has no high half of a product of 64-bit elements, and no vsmul of them.
  private val highProduct = (p.eLen == 64).B && config.vsew === 3.U && IntegerFunction.isHighProduct(row.function) &&
    !registers
  private val arithLegal = exists && kindLegal && !highProduct && !config.vill && config.vstart === 0.U
  private val arithEvl = Mux(
    toX && !ofMask,
    1.U,
    Mux(fromX, (config.vl =/= 0.U).asUInt, Mux(registers, (p.vBytes.U << moveLog)(p.vlBits - 1, 0), config.vl))
  )

  // Memory.
  private val width     = MuxLookup(funct3, 0.U(2.W))(Seq(5.U -> 1.U, 6.U -> 2.U, 7.U -> 3.U))
  private val isWidth   = (funct3 === 0.U || funct3 >= 5.U) && width <= maxEew.U
  private val nf        = insn(31, 29)
  private val mew       = insn(28)
  private val mop       = insn(27, 26)
  private val unit      = mop === 0.U
  private val strided   = mop === 2.U
  private val whole     = unit && vs2 === 8.U
  private val mask      = unit && vs2 === 11.U
  private val firstOnly = unit && vs2 === 16.U && isLoad
  private val plain     = (unit && vs2 === 0.U) || firstOnly
  private val indexed   = mop(0)
  private val segmentNf = Mux(whole || mask, 0.U, nf)

  // Of an indexed access the word's width is that of the indices, and the elements have SEW bits.
  private val eew     = Mux(indexed, config.vsew(1, 0), width)
  private val emul    = Mux(indexed, config.vlmul.asSInt.pad(5), config.emul(width))
  private val emulLog = Mux(emul < 0.S, 0.U(2.W), emul(1, 0).asUInt)

  // The registers of all fields, and those of the indices.
  private val fields      = ((nf +& 1.U) << emulLog).asUInt
  private val fieldsEnd   = vd +& fields
  private val offsetEmul  = config.emul(width)
  private val offsetLog   = Mux(offsetEmul < 0.S, 0.U(2.W), offsetEmul(1, 0).asUInt)
  private val offsetEnd   = vs2 +& (1.U << offsetLog)
  private val offsetApart = offsetEnd <= vd || fieldsEnd <= vs2

  // Indices may lie in the elements that are loaded if there is one field: wider ones and these begin alike, narrower
  // ones are the highest part and at least a whole register.
  private val offsetInside = nf === 0.U && Mux(
    width > eew,
    vd === vs2,
    width === eew || (offsetEmul >= 0.S && vd =/= vs2 && offsetEnd === fieldsEnd)
  )
  private val offsetLegal = offsetEmul >= -3.S && offsetEmul <= 3.S && aligned(vs2, offsetLog) &&
    (isStore || offsetApart || offsetInside)
  private val wholeLog = Mux(nf(2), 3.U(2.W), Mux(nf(1), 2.U(2.W), nf(0).asUInt))
  private val groupLegal = !config.vill && emul >= -3.S && emul <= 3.S && aligned(vd, emulLog) &&
    fields <= 8.U && fieldsEnd <= 32.U && (!indexed || offsetLegal)
  private val wholeLegal = vm && (nf === 0.U || nf === 1.U || nf === 3.U || nf === 7.U) && aligned(vd, wholeLog) &&
    (isLoad || width === 0.U)
  private val maskLegal = vm && nf === 0.U && width === 0.U && !config.vill
  private val anyVd     = vm || isStore || vd =/= 0.U
  private val memoryLegal = isWidth && !mew &&
    Mux(whole, wholeLegal, Mux(mask, maskLegal, (plain || strided || indexed) && groupLegal && anyVd))
  private val memoryEvl = Mux(
    whole,
    ((p.vBytes.U << wholeLog) >> eew)(p.vlBits - 1, 0),
    Mux(mask, ((config.vl +& 7.U) >> 3).asUInt, config.vl)
  )

  io.legal     := io.offer.enabled && Mux(isArith, arithLegal, memory && memoryLegal)
  io.memory    := memory
  io.firstOnly := memory && firstOnly

  // Of vcpop and vfirst, vmsbf, vmsof and vmsif, viota and vid.
  private val maskFunction = MuxLookup(vs1(1, 0), 0.U)(
    Seq(
      0.U -> Mux(ofMask, IntegerFunction.CountOnes.U, IntegerFunction.Iota.U),
      1.U -> Mux(
        ofMask,
        IntegerFunction.FindFirst.U,
        Mux(vs1(4), IntegerFunction.Index.U, IntegerFunction.SetBefore.U)
      ),
      2.U -> IntegerFunction.SetOnly.U,
      3.U -> IntegerFunction.SetIncluding.U
    )
  )

  private val op  = io.op
  private val evl = Mux(isArith, arithEvl, memoryEvl)
  op.tag           := 0.U
  op.path          := Mux(isArith, VectorPath.Execute.U, Mux(isLoad, VectorPath.Load.U, VectorPath.Store.U))
  op.vd            := vd
  op.vs1           := vs1
  op.vs2           := vs2
  op.readsVs1      := isArith && byVector && !row.scalarMove && !row.extend && !row.maskUnary
  op.readsVd       := isArith && row.third
  op.swapA         := row.swapA
  op.extend        := Mux(isArith, Mux(row.extend, fewer, (row.widen && !row.wideA).asUInt), 0.U)
  op.extendSigned  := Mux(row.extend, vs1(0), row.signedA)
  op.extendB       := isArith && ((row.widen && !row.reduce) || row.narrow)
  op.extendBSigned := row.signedB
  op.narrow        := isArith && row.narrow
  op.readsVs2      := isArith && !move && !fromX && !index
  op.writes        := Mux(isArith, !toX, isLoad)
  op.readsMask     := !vm
  op.masked        := !vm && !(isArith && (row.merge || row.carry))
  op.maskResult    := isArith && (row.maskResult || maskSet)
  op.reduces       := isArith && row.reduce
  op.toScalar      := isArith && toX
  op.bitwise       := isArith && (row.bitwise || ofMask || maskSet)
  op.invertB       := row.invertB
  op.invertOut     := row.invertOut
  op.function := Mux(
    row.maskUnary || ofMask,
    maskFunction,
    Mux(move, IntegerFunction.MoveB.U, Mux(toX || registers, IntegerFunction.MoveA.U, function))
  )
  op.vxrm := config.vxrm
  op.eew  := Mux(isArith, Mux(registers, 0.U, config.vsew(1, 0) + (row.widen || row.narrow)), eew)
  op.groups := Mux(
    isArith,
    Mux(
      registers,
      moveLog,
      Mux(row.scalarMove || row.bitwise || maskSet, 0.U, Mux((row.widen && !row.reduce) || row.narrow, wideLog, lmul))
    ),
    Mux(whole, wholeLog, Mux(mask, 0.U, emulLog))
  )
  op.groupsOfVs1 := Mux(row.reduce || compress, 0.U, Mux(gathers16, indexLog, op.groups))
  op.evl         := evl
  op.vstart      := config.vstart
  op.scalar := Mux(isArith && byImmediate, Cat(Fill(p.xLen - 5, vs1(4) && !row.unsignedImmediate), vs1), io.offer.rs1)
  op.elementwise := memory && (strided || indexed || segmentNf =/= 0.U)
  op.nf          := Mux(memory, segmentNf, 0.U)
  op.stride      := Mux(isArith, config.vlmax, Mux(strided, io.offer.rs2 - (nf << eew), (1.U << eew)(3, 0)))
  op.indexed     := memory && indexed
  op.indexEew    := width
  op.careful     := false.B
  op.first       := 0.U
  op.last        := 0.U
  op.use.foreach(use => use := 0.U.asTypeOf(use))
  op.variable.foreach(use => use := 0.U.asTypeOf(use))
  io.empty := evl <= config.vstart && !(isArith && toX)
}
