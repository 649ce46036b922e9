// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3.util.log2Ceil

/** What one vector unit is elaborated with (docs/varve/unit.md 1.3).
  *
  * @param xLen
  *   bits of a scalar register and of an address: 32 or 64
  * @param vLen
  *   bits of a vector register: 64, 128, 256 or 512
  * @param dLen
  *   bits of an element group, the unit of access, hazards and issue, and of the memory ports: 64, 128, 256 or 512, at
  *   most `vLen` and at least an eighth of it
  * @param eLen
  *   bits of the largest element: 32 or 64, at most `dLen` and `xLen`
  * @param executeQueue
  *   instructions that may wait before the execute path: 2 to 8
  * @param loadQueue
  *   the same of the load path
  * @param storeQueue
  *   the same of the store path
  * @param pup
  *   VarVE-pup (docs/varve/isa.md): UNPACK and PACK between vectors and packed streams
  * @param full
  *   VarVE-full: vectors of elements of any width; implies `pup`, and requires `dLen` to be `vLen`
  * @param align
  *   VarVE-full's slot, bits: 8, 4, 2 or 1 (G of docs/varve/isa.md)
  * @param maxWidth
  *   bits of VarVE's largest element: 32 or 64 (MBMAX)
  * @param inputs
  *   ids of input streams: 8 to 12; those from 8 on are memory streams only (NIN)
  * @param buffers
  *   the tile has stream buffers; without them the declaration of a stream in one is illegal, and the port to them is
  *   tied to 0
  * @param unpackQueue
  *   instructions that may wait before the unpack path: 2 to 8
  * @param packQueue
  *   the same of the pack path
  * @param tentative
  *   VarVE-full: a strip's elements are unpacked before the strip before has told how many it has, on a guess
  *   (docs/varve/unit.md 6.3)
  * @param clockGate
  *   the unit has no clock while it has nothing to do (docs/varve/unit.md 8.2); whoever emits it adds the cell of
  *   [[assasin.bus.ClockGate]]
  * @param counters
  *   adds the port that a tile counts with what the unit does and waits for
  * @param trace
  *   adds the port that shows commits and register writes (co-simulation)
  */
case class VectorParams(
    xLen: Int = 32,
    vLen: Int = 256,
    dLen: Int = 256,
    eLen: Int = 32,
    executeQueue: Int = 4,
    loadQueue: Int = 3,
    storeQueue: Int = 2,
    pup: Boolean = false,
    full: Boolean = false,
    align: Int = 8,
    maxWidth: Int = 64,
    inputs: Int = 8,
    buffers: Boolean = true,
    unpackQueue: Int = 4,
    packQueue: Int = 4,
    tentative: Boolean = true,
    clockGate: Boolean = true,
    counters: Boolean = true,
    trace: Boolean = false
) {
  private def depth(name: String, value: Int): Unit =
    require(value >= 2 && value <= 8, s"$name = $value: choose 2 to 8")
  require(Seq(32, 64).contains(xLen), s"xLen = $xLen: choose 32 or 64")
  require(Seq(64, 128, 256, 512).contains(vLen), s"vLen = $vLen: choose 64, 128, 256 or 512")
  require(Seq(64, 128, 256, 512).contains(dLen), s"dLen = $dLen: choose 64, 128, 256 or 512")
  require(
    dLen <= vLen && vLen / dLen <= 8,
    s"dLen = $dLen: choose vLen = $vLen, or a half, a quarter or an eighth of it"
  )
  require(
    Seq(32, 64).contains(eLen) && eLen <= dLen && eLen <= xLen,
    s"eLen = $eLen: choose 32, or 64 with xLen 64, at most dLen = $dLen"
  )
  depth("executeQueue", executeQueue)
  depth("loadQueue", loadQueue)
  depth("storeQueue", storeQueue)
  depth("unpackQueue", unpackQueue)
  depth("packQueue", packQueue)
  require(!full || pup, "full = true: choose pup = true too")
  require(!full || dLen == vLen, s"full = true, dLen = $dLen: choose vLen = $vLen")
  require(Seq(1, 2, 4, 8).contains(align), s"align = $align: choose 8, 4, 2 or 1")
  require(Seq(32, 64).contains(maxWidth), s"maxWidth = $maxWidth: choose 32 or 64")
  require(inputs >= 8 && inputs <= 12, s"inputs = $inputs: choose 8 to 12")

  /** Bytes of a vector register (vlenb) and of an element group. */
  val vBytes: Int = vLen / 8
  val dBytes: Int = dLen / 8

  /** Bits and bytes of a memory access. Packed streams begin at any bit, so with `pup` one byte more than an element
    * group.
    */
  val memoryBits: Int  = dLen + (if (pup) 8 else 0)
  val memoryBytes: Int = memoryBits / 8

  /** Of VarVE-full: elements that a register may hold (EMAX), and slots of a register. */
  val elements: Int = vLen / align
  val slots: Int    = vLen / align

  /** Slots of a byte, and of the largest element; bits of the number of a slot in its element, and of an element's
    * number of slots.
    */
  val slotsOfByte: Int    = 8 / align
  val slotsOfElement: Int = 64 / align
  val slotIdBits: Int     = log2Ceil(slotsOfElement)
  val sizeBits: Int       = slotIdBits + 1

  /** Ids of output streams. */
  val outputs: Int = 8

  /** Element groups of a register, and of all 32. */
  val egsPerRegister: Int = vLen / dLen
  val egs: Int            = 32 * egsPerRegister

  /** Bits of the number of a beat: a group of eight registers whose elements are extended to twice as many bits. With
    * VarVE-full a register's elements in lanes of 64 bits, and one more.
    */
  val beatBits: Int = log2Ceil(16 * egsPerRegister * (if (full) slotsOfByte else 1))

  /** Bits of the number of bytes that the elements of a stream instruction take in lanes. */
  def laneBytesBits: Int = vlBits + (if (full && align < 8) 3 else 2)

  /** Bits of the index of an element group. */
  val egBits: Int = log2Ceil(egs)

  /** Bits of vstart: element indices 0 to vLen - 1, as a group of eight registers of bytes has vLen elements. */
  val vstartBits: Int = log2Ceil(vLen)

  /** Bits of vl: 0 to vLen. */
  val vlBits: Int = vstartBits + 1

  /** Bits of a tag: instructions behind the commit point are numbered modulo 2^tagBits, and never so many are under
    * way.
    */
  val tagBits: Int = log2Ceil(
    executeQueue + loadQueue + storeQueue + 5 + 3 + (if (pup) unpackQueue + packQueue + 4 else 0)
  ) + 1
}
