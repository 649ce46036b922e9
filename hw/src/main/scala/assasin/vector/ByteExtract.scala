// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxLookup, log2Ceil}

class ByteExtractIO(p: VectorParams) extends Bundle {

  /** Packed values, the first from bit `bitpos` of the first byte on. */
  val window = Input(UInt(p.memoryBits.W))
  val bitpos = Input(UInt(3.W))

  /** Bits of a value, 1 to those of a lane, and how it is extended. */
  val valueBits = Input(UInt(7.W))
  val unsigned  = Input(Bool())

  /** Instead each value has its own bits, 0 to 64, of which those of a lane are taken, and begins at its own bit of the
    * window.
    */
  val variable = Input(Bool())
  val starts   = Input(Vec(p.dBytes, UInt(ByteExtract.offsetBits(p).W)))
  val bits     = Input(Vec(p.dBytes, UInt(7.W)))

  /** log2 of the bytes of a lane. */
  val eew = Input(UInt(2.W))

  /** A value a lane. */
  val out = Output(UInt(p.dLen.W))
}

object ByteExtract {

  /** Of the number of a bit in a window, and behind it. */
  def offsetBits(p: VectorParams): Int = log2Ceil(p.memoryBits + 8)
}

/** Spreads packed values over the lanes of an element group (docs/varve/unit.md 5.1): each output byte is up to 8 bits
  * from any bit of the window on, with zeros or signs above. Combinational.
  */
class ByteExtract(p: VectorParams) extends Module {
  require(p.pup, "ByteExtract is of VarVE-pup")
  val io = IO(new ByteExtractIO(p))

  private val offsetBits = ByteExtract.offsetBits(p)
  private val bytes      = Seq.tabulate(p.memoryBytes)(i => io.window(8 * i + 7, 8 * i))
  private val eews       = 0 to (if (p.full) 3 else log2Ceil(p.eLen / 8))
  private def byEew[T <: Data](of: Int => T): T =
    MuxLookup(io.eew, of(0))(eews.tail.map(eew => eew.U -> of(eew)))

  // Where each lane's value begins, and its bits.
  private val starts = Seq.tabulate(p.dBytes)(lane =>
    Mux(io.variable, io.starts(lane), (lane.U * io.valueBits +& io.bitpos).pad(offsetBits)(offsetBits - 1, 0))
  )
  private val bits = io.bits.map(Mux(io.variable, _, io.valueBits))

  // Eight bits from each byte's first one on: of two neighbouring bytes of the window, one has an even number and one an odd
  // one, so that each is chosen among half of all.
  private val raw = Seq.tabulate(p.dBytes) { b =>
    val start = byEew(eew => starts(b >> eew))
    val part  = byEew(eew => (b & ((1 << eew) - 1)).U(3.W))
    val from  = (start + Cat(part, 0.U(3.W)))(offsetBits - 1, 0)
    val at    = from >> 3
    def choose(odd: Int, number: UInt): UInt = {
      val some = (odd until p.memoryBytes by 2).map(bytes(_))
      MuxTree(number, some)
    }
    val even = choose(0, (at +& 1.U) >> 1)
    val odd  = choose(1, at >> 1)
    BarrelShift.right(Cat(even, odd, even), from(3, 0), 8)
  }

  // The sign: the highest bit of a lane's value, which the lane's bytes hold.
  private val highest = bits.map(_ - 1.U)
  private val tops    = Seq.tabulate(p.dBytes)(b => MuxTree(byEew(eew => highest(b >> eew))(2, 0), raw(b).asBools))
  private val signs = eews.map { eew =>
    val bytesOfLane = 1 << eew
    Seq.tabulate(p.dBytes >> eew) { lane =>
      val top = MuxTree(highest(lane)(5, 3), Seq.tabulate(8)(k => tops(lane * bytesOfLane + (k min (bytesOfLane - 1)))))
      !io.unsigned && bits(lane) =/= 0.U && top
    }
  }

  io.out := Cat(
    Seq
      .tabulate(p.dBytes) { b =>
        // Bits of the value from this byte's first one on.
        val rest  = byEew(eew => bits(b >> eew) -& (8 * (b & ((1 << eew) - 1))).U)
        val valid = Mux(rest(7), 0.U(8.W), Cat((0 until 8).map(i => rest(6, 0) > i.U).reverse))
        (raw(b) & valid) | (Fill(8, byEew(eew => signs(eew)(b >> eew))) & ~valid)
      }
      .reverse
  )
}
