// SPDX-License-Identifier: BSD-3-Clause
package assasin.mem

import chisel3._
import chisel3.util.log2Ceil

/** Lines of DRAM that the firmware processor has read, direct-mapped. Its own stores keep them true (write through);
  * what others write they do not see, so the firmware has them forgotten after that.
  *
  * @param lines
  *   number of lines of 64 bytes, a power of two
  */
class ReadCache(lines: Int) extends Module {
  require(
    lines >= 2 && lines <= 1024 && lines == 1 << log2Ceil(lines),
    s"$lines lines: choose a power of two, 2 to 1024"
  )
  private val indexBits = log2Ceil(lines)

  val io = IO(new Bundle {

    /** Address that is looked up, and whether its line is there; then the eight bytes around it. */
    val addr = Input(UInt(32.W))
    val hit  = Output(Bool())
    val data = Output(UInt(64.W))

    /** The firmware stores `storeData`, where `storeMask` has a bit, to the eight bytes around `storeAddr`. */
    val store     = Input(Bool())
    val storeAddr = Input(UInt(32.W))
    val storeData = Input(UInt(64.W))
    val storeMask = Input(UInt(8.W))

    /** A beat of the line around `addr` comes, in order; not together with a store. With `last` the line is there if
      * `lastGood` says that all its beats were read well.
      */
    val fill     = Input(Bool())
    val fillData = Input(UInt(64.W))
    val last     = Input(Bool())
    val lastGood = Input(Bool())

    /** Forget all lines. */
    val flush = Input(Bool())
  })

  private def index(addr: UInt) = addr(indexBits + 5, 6)
  private def tag(addr: UInt)   = addr(31, indexBits + 6)

  private val valid = RegInit(VecInit(Seq.fill(lines)(false.B)))
  private val tags  = Reg(Vec(lines, UInt((26 - indexBits).W)))
  private val data  = Mem(lines * 8, Vec(8, UInt(8.W)))
  private val beat  = RegInit(0.U(3.W))

  private def has(addr: UInt)   = valid(index(addr)) && tags(index(addr)) === tag(addr)
  private def bytes(word: UInt) = VecInit.tabulate(8)(i => word(8 * i + 7, 8 * i))

  io.hit  := has(io.addr)
  io.data := data(io.addr(indexBits + 5, 3)).asUInt

  private val update = io.store && has(io.storeAddr)
  when(update || io.fill) {
    data.write(
      Mux(io.fill, index(io.addr) ## beat, io.storeAddr(indexBits + 5, 3)),
      bytes(Mux(io.fill, io.fillData, io.storeData)),
      Mux(io.fill, 0xff.U(8.W), io.storeMask).asBools
    )
  }
  when(io.fill) {
    beat                  := Mux(io.last, 0.U, beat + 1.U)
    valid(index(io.addr)) := io.last && io.lastGood
    tags(index(io.addr))  := tag(io.addr)
  }
  when(io.flush) { valid.foreach(_ := false.B) }
}
