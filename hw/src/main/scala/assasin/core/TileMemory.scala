// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._
import chisel3.util.{Cat, Decoupled, log2Ceil}

import assasin.bus.{Axi4IO, Axi4Params}
import assasin.contract.AddressMap
import assasin.stream.{DrainReadIO, StreamPartition, StreamPointersIO}
import assasin.vector.{VectorMemoryIO, VectorStreamIO}

/** Eight bytes from the crossbar for a tile's data memories. */
class TileBeat extends Bundle {

  /** 8-byte aligned position of input stream `stream`, or without `toStream` the offset in the crossbar's view of the
    * tile.
    */
  val addr     = UInt(32.W)
  val toStream = Bool()
  val stream   = UInt(3.W)
  val data     = UInt(64.W)

  /** Valid bytes from the lowest on, 1..8. */
  val bytes = UInt(4.W)

  /** Last beat of its packet, and of a page that advances the Tail. */
  val last = Bool()
  val mark = Bool()

  /** Not `toStream`: offset in window XB_SPAD, else in XB_ISB. */
  val toSpad = Bool()

  /** Which bytes of `data` are valid. */
  def mask: UInt = ((1.U(9.W) << bytes) - 1.U)(7, 0)
}

/** Pulses and levels for the core's counters. */
class TileCounts extends Bundle {

  /** Stalled on the data cache in this cycle. */
  val waitMem    = Bool()
  val l1Miss     = Bool()
  val l2Miss     = Bool()
  val prefetched = Bool()
}

/** Ports of [[TileMemory]]. */
class TileMemoryIO(p: StreamCoreParams) extends Bundle {

  /** Number of the tile: which part of DRAM is behind CORE_DATA. */
  val hartId    = Input(UInt(4.W))
  val partition = Input(new StreamPartition(p.soc.streamBytes))
  val pointers  = new StreamPointersIO(p.soc.streamBytes)

  /** The program runs, or is about to: its memories are closed to the crossbar. */
  val run = Input(Bool())

  /** The program is to start: caches are to be emptied. Held until `ready`, which stays until `start` falls. */
  val start = Input(Bool())
  val ready = Output(Bool())

  /** A drain is under way, or waits; none is in hand. */
  val draining = Input(Bool())
  val between  = Input(Bool())

  /** Work is under way that the clock must not stop. */
  val busy = Output(Bool())

  val dmem   = Flipped(new DmemIO)
  val stream = if (p.core.streams) Some(Flipped(new StreamPortIO(p.core.wideStreams))) else None
  val soft   = if (p.core.pointers) Some(Flipped(new PointerPortIO)) else None

  /** PC of a load or store that waits. */
  val pc = Input(UInt(32.W))

  /** Beats for XB_ISB, XB_SPAD and input streams. */
  val beat  = Flipped(Decoupled(new TileBeat))
  val drain = Flipped(new DrainReadIO)

  val counts = Output(new TileCounts)

  /** The vector unit's accesses to the scratchpad. */
  val vector = p.core.vector.map(v => Flipped(new VectorMemoryIO(v)))

  /** And to the stream buffers. */
  val vectorStreams = p.core.vector.filter(_.pup).map(v => Flipped(new VectorStreamIO(v)))
  val dram          = if (p.soc.tileDram) Some(new Axi4IO(Axi4Params())) else None
}

/** The data memories of a tile and the streams in them: what tells the memory architectures apart. */
abstract class TileMemory(val p: StreamCoreParams) extends Module {
  val io = IO(new TileMemoryIO(p))

  protected val bytes: Int    = p.soc.streamBytes
  protected val spadBits: Int = log2Ceil(p.soc.spadBytes)
  require(AddressMap.CoreIsb.base == AddressMap.CoreSpad.base + bytes, "CORE_ISB follows CORE_SPAD")
  require(AddressMap.CoreOsb.base == AddressMap.CoreIsb.base + bytes, "CORE_OSB follows CORE_ISB")

  /** Where the tile's part of DRAM begins. */
  protected def tileBase: UInt = {
    val bits = log2Ceil(AddressMap.DramTiles.size)
    require(AddressMap.DramTiles.stride == AddressMap.CoreData.size && AddressMap.DramTiles.base % (16L << bits) == 0)
    Cat((AddressMap.DramTiles.base >> (bits + 4)).U((28 - bits).W), io.hartId, 0.U(bits.W))
  }

  /** A buffer slot for the mark of a page whose last beat is at `offset` of the input buffer. */
  protected def slot(offset: UInt): UInt = (offset >> io.partition.pageLog2)(6, 0)

  /** Offset in the input buffer. */
  protected def inputOffset(beat: TileBeat): UInt =
    Mux(beat.toStream, io.partition.offset(beat.stream, beat.addr), beat.addr(log2Ceil(bytes) - 1, 0))

  /** Drives what only caches have. */
  protected def noCache(): Unit = {
    io.counts := 0.U.asTypeOf(io.counts)
    io.ready  := io.start
    io.busy   := false.B
  }
}
