// SPDX-License-Identifier: BSD-3-Clause
package assasin.rocket

import assasin.vector.VectorParams
import chisel3._
import chisel3.util.{Cat, PopCount, PriorityEncoder, log2Ceil}
import freechips.rocketchip.diplomacy.{AddressSet, RegionType}
import freechips.rocketchip.tilelink.{TLEdgeOut, TLMessages}

/** The vector unit's memory on TileLink. An access at any address becomes one or two accesses to whole element groups,
  * which hold all of it: a packed stream's may be one byte longer than an element group; answers of loads are put in
  * the order of the requests. Addresses are physical.
  */
class VectorAdapterMemory(p: VectorParams, edge: TLEdgeOut) extends Module {
  import VectorAdapterMemory.{Loads, Stores}

  require(edge.bundle.dataBits == p.dLen, s"the port has ${edge.bundle.dataBits} bits; choose dLen = ${p.dLen}")

  val io = IO(new VectorAdapterMemoryIO(p, edge))

  private val offsetBits = log2Ceil(p.dBytes)
  private val a          = io.tl.a
  private val d          = io.tl.d

  // Memory that is read and written without effects, in element groups.
  private val plain = edge.manager.managers.filter { manager =>
    Seq(RegionType.CACHED, RegionType.TRACKED, RegionType.UNCACHED, RegionType.IDEMPOTENT)
      .contains(manager.regionType) &&
    manager.supportsGet.contains(p.dBytes) && manager.supportsPutPartial.contains(p.dBytes)
  }
  require(plain.nonEmpty, s"no memory that takes accesses of ${p.dBytes} bytes")
  private val regions = AddressSet.unify(plain.flatMap(_.address))
  require(regions.forall(_.contiguous), "memory that the vector unit reaches is contiguous")
  private val check = io.unit.check
  check.ok := io.settled && check.first <= check.last &&
    regions.map(r => check.first >= r.base.U && check.last <= r.max.U).reduce(_ || _)
  check.hold  := !io.settled
  check.cause := Mux(check.write, 7.U, 5.U)

  // Loads: a ring of slots. Piece 1 is the next element group in memory.
  private val loadId    = UInt(log2Ceil(Loads).W)
  private val loadFirst = RegInit(0.U.asTypeOf(loadId))
  private val loadNext  = RegInit(0.U.asTypeOf(loadId))
  private val loadUsed  = RegInit(VecInit(Seq.fill(Loads)(false.B)))
  private val loadOwes  = Reg(Vec(Loads, Vec(2, Bool())))
  private val loadShift = Reg(Vec(Loads, UInt(offsetBits.W)))
  private val loadData  = Reg(Vec(Loads, Vec(2, UInt(p.dLen.W))))

  // Stores: how many pieces are not acknowledged.
  private val storeOwes = RegInit(VecInit(Seq.fill(Stores)(0.U(2.W))))
  private val storeId   = PriorityEncoder(storeOwes.map(_ === 0.U))
  private val storeRoom = storeOwes.map(_ === 0.U).reduce(_ || _)
  private val storeEnds = RegInit(0.U(log2Ceil(Stores + 2).W))

  /** The second piece of an access waits for channel A. */
  private val second      = RegInit(false.B)
  private val secondStore = Reg(Bool())
  private val secondId    = Reg(UInt(edge.bundle.sourceBits.W))
  private val secondAddr  = Reg(UInt(edge.bundle.addressBits.W))
  private val secondData  = Reg(UInt(p.dLen.W))
  private val secondMask  = Reg(UInt(p.dBytes.W))

  private val load        = io.unit.load
  private val store       = io.unit.store
  private val loadOffset  = load.bits.addr(offsetBits - 1, 0)
  private val loadTwo     = loadOffset +& load.bits.bytes > p.dBytes.U
  private val storeOffset = store.bits.addr(offsetBits - 1, 0)
  private val storeData   = (store.bits.data.pad(2 * p.dLen) << Cat(storeOffset, 0.U(3.W)))(2 * p.dLen - 1, 0)
  private val storeMask   = (store.bits.mask.pad(2 * p.dBytes) << storeOffset)(2 * p.dBytes - 1, 0)
  private val storeLow    = storeMask(p.dBytes - 1, 0)
  private val storeHigh   = storeMask(2 * p.dBytes - 1, p.dBytes)

  private val storeTurn = RegInit(false.B)
  private val mayLoad   = load.valid && !loadUsed(loadNext) && !second
  private val mayStore  = store.valid && storeRoom && !second
  private val isStore   = mayStore && (storeTurn || !mayLoad)
  private val isLoad    = mayLoad && !isStore
  // A store without bytes asks for nothing; one whose bytes all lie behind the boundary has its second piece only.
  private val storeAsks = storeLow.orR
  when(a.fire && !second) { storeTurn := !isStore }

  private def group(addr: UInt): UInt = Cat(addr(edge.bundle.addressBits - 1, offsetBits), 0.U(offsetBits.W))
  private val size                    = offsetBits.U
  private def put(id: UInt, addr: UInt, data: UInt, mask: UInt) = edge.Put(id, addr, size, data, mask)._2
  private def get(id: UInt, addr: UInt)                         = edge.Get(id, addr, size)._2
  private val firstLoad                                         = Cat(loadNext, 0.U(1.W))
  private val firstStore                                        = (2 * Loads).U +& Cat(storeId, 0.U(1.W))

  a.valid := second || isLoad || (isStore && storeAsks)
  a.bits := Mux(
    second,
    Mux(secondStore, put(secondId, secondAddr, secondData, secondMask), get(secondId, secondAddr)),
    Mux(
      isStore,
      put(firstStore, group(store.bits.addr), storeData(p.dLen - 1, 0), storeLow),
      get(firstLoad, group(load.bits.addr))
    )
  )
  load.ready  := isLoad && a.ready
  store.ready := isStore && (a.ready || !storeAsks)

  when(a.fire && second) { second := false.B }
  when(load.fire) {
    loadUsed(loadNext)  := true.B
    loadOwes(loadNext)  := VecInit(true.B, loadTwo)
    loadShift(loadNext) := loadOffset
    loadNext            := loadNext + 1.U
    second              := loadTwo
    secondStore         := false.B
    secondId            := Cat(loadNext, 1.U(1.W))
    secondAddr          := group(load.bits.addr) + p.dBytes.U
  }
  when(store.fire) {
    storeOwes(storeId) := storeLow.orR +& storeHigh.orR
    second             := storeHigh.orR
    secondStore        := true.B
    secondId           := firstStore | 1.U
    secondAddr         := group(store.bits.addr) + p.dBytes.U
    secondData         := storeData(2 * p.dLen - 1, p.dLen)
    secondMask         := storeHigh
  }

  // Answers.
  d.ready := true.B
  private val ofStore = d.bits.source >= (2 * Loads).U
  private val piece   = d.bits.source(0)
  private val slot    = d.bits.source(log2Ceil(2 * Loads) - 1, 1)
  private val ended   = (d.bits.source - (2 * Loads).U)(log2Ceil(2 * Stores) - 1, 1)
  when(d.fire && !ofStore) {
    loadOwes(slot)(piece) := false.B
    loadData(slot)(piece) := d.bits.data
  }
  when(d.fire && ofStore) { storeOwes(ended) := storeOwes(ended) - 1.U }
  assert(!d.valid || !d.bits.denied, "memory that was found legal denies a vector access")
  assert(!d.valid || ofStore === (d.bits.opcode === TLMessages.AccessAck), "the answer is not of the access's kind")

  private val answers = loadUsed(loadFirst) && !loadOwes(loadFirst).asUInt.orR
  when(answers) {
    loadUsed(loadFirst) := false.B
    loadFirst           := loadFirst + 1.U
  }
  io.unit.loadAnswer.valid := answers
  io.unit.loadAnswer.bits  := (loadData(loadFirst).asUInt >> Cat(loadShift(loadFirst), 0.U(3.W)))(p.memoryBits - 1, 0)

  private val ends = Seq(d.fire && ofStore && storeOwes(ended) === 1.U, store.fire && !storeMask.orR)
  io.unit.storeDone := storeEnds =/= 0.U
  storeEnds         := storeEnds + PopCount(ends) - io.unit.storeDone

  io.busy := loadUsed.asUInt.orR || storeOwes.map(_ =/= 0.U).reduce(_ || _) || second

  // A client without a cache.
  io.tl.b.ready := true.B
  io.tl.c.valid := false.B
  io.tl.c.bits  := 0.U.asTypeOf(io.tl.c.bits)
  io.tl.e.valid := false.B
  io.tl.e.bits  := 0.U.asTypeOf(io.tl.e.bits)
}

object VectorAdapterMemory {

  /** Loads and stores under way; powers of 2. */
  val Loads: Int  = 8
  val Stores: Int = 8

  /** Source ids: two pieces each. */
  val Ids: Int = 2 * (Loads + Stores)
}
