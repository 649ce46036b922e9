// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

import chisel3._
import chisel3.util.{log2Ceil, Cat, MuxLookup}

/** Remainder of a message by the code's generator, a beat a cycle: parity when writing; when reading, it is compared
  * with the received parity, and the difference tells the errors.
  *
  * The remainder is left aligned in a register of the strongest code's width, so that every strength has one data path.
  * A beat's feedback is looked up in one table of 16 rows for each of its nibbles.
  *
  * The tables are filled for the strength in use. Row n of a table is n * x^k^ modulo the generator, made by Horner's
  * rule: the remainder is multiplied by x, and the generator is added for a bit that leaves it or enters the row's
  * index. A multiplication turns the register around, a beat a cycle.
  */
class BchRemainder(p: CodeParams) extends Module {
  require(p.strengths.nonEmpty, "strengths is empty: there is no code to build")
  val io = IO(new RemainderIO(p))

  private val width   = p.width
  private val beat    = p.beatBits
  private val nibbles = beat / 4

  private def bigEndian(bytes: UInt): UInt = Cat((0 until p.beatBytes).map(k => bytes(8 * k + 7, 8 * k)))
  private def perStrength[T <: Data](zero: T)(of: BchCode => T): T =
    MuxLookup(io.strength, zero)(p.codes.zipWithIndex.map { case (code, k) => (k + 1).U -> of(code) })
  private def ofStrength(of: BchCode => BigInt, bits: Int): UInt = perStrength(0.U(bits.W))(of(_).U(bits.W))

  // Without a reset value: what is in it counts only after a first message beat or while the tables are built.
  private val remainder = Reg(UInt(width.W))
  private val top       = remainder(width - 1, width - beat)
  private val shifted   = (remainder << beat)(width - 1, 0)
  private val beats     = RegInit(0.U(8.W)) // of parity, or of a turn

  // Filling the tables: `steps` turns for each nibble that the index can begin with.
  private val building = RegInit(false.B)
  private val turning  = RegInit(false.B)
  private val adds     = Reg(Bool())       // the generator, in this turn
  private val pattern  = Reg(UInt(3.W))    // of the nibble, whose highest bit is 1
  private val step     = Reg(UInt(6.W))
  private val index    = Reg(UInt(beat.W)) // the remainder is index * x^degree^ modulo the generator
  private val turned   = beats === (width / beat - 1).U
  private val finished = step === beat.U
  private val nextBit =
    MuxLookup(step, false.B)(Seq(0.U -> true.B, 1.U -> pattern(2), 2.U -> pattern(1), 3.U -> pattern(0)))
  private val below = if (width > beat) remainder(width - beat - 1) && !turned else false.B
  private val generator = perStrength(0.U(beat.W)) { code =>
    val aligned = (code.generator ^ (BigInt(1) << code.degree)) << (width - code.degree)
    VecInit((width - beat to 0 by -beat).map(low => ((aligned >> low) & ((BigInt(1) << beat) - 1)).U(beat.W)))(
      beats(math.max(1, log2Ceil(width / beat)) - 1, 0)
    )
  }
  private val entering = (top(beat - 2, 0) ## below) ^ Mux(adds, generator, 0.U)

  // The last parity beat ends with bits that are not parity: sent as 0 up to the end of the byte, then as 1, not looked at.
  private val lastBeat = beats === ofStrength(c => BigInt(c.parityBytes(p.beatBytes) / p.beatBytes - 1), 8)
  private val unused   = ofStrength(c => (BigInt(1) << c.padding(p.beatBytes)) - 1, beat)
  private val filled   = ofStrength(c => (BigInt(1) << (8 * (c.parityBytes(p.beatBytes) - c.usedBytes))) - 1, beat)
  private val dirty    = RegInit(false.B)

  private val data       = bigEndian(io.data)
  private val difference = (top ^ data) & ~Mux(lastBeat, unused, 0.U)
  private val feedback   = Mux(io.clear, 0.U, top) ^ data

  // A table is read and written at one address: memory of one port takes the fewest LUTs.
  private val rows = (0 until nibbles).map { k =>
    val table   = Mem(16, UInt(width.W))
    val address = Mux(building, index, Mux(io.message, feedback, 0.U))(4 * k + 3, 4 * k)
    val others  = index & ~(BigInt(15) << (4 * k)).U(beat.W)
    when(building && !turning && others === 0.U) { table.write(address, remainder) }
    table.read(address)
  }

  when(io.message && !building) {
    remainder := rows.reduce(_ ^ _) ^ Mux(io.clear, 0.U, shifted)
  }.elsewhen((turning || io.parity) && !io.build) {
    remainder := shifted | Mux(turning, entering, 0.U)
  }.elsewhen(io.clear || io.build || building && finished) {
    remainder := 0.U
  }
  when(io.message || io.clear || io.build) {
    beats := 0.U
  }.elsewhen(io.parity || turning) {
    beats := Mux(turning && turned, 0.U, beats + 1.U)
  }
  when(io.parity) {
    dirty := dirty || difference.orR
  }.elsewhen(io.message || io.clear) {
    dirty := false.B
  }

  when(io.build) {
    building := true.B
    turning  := false.B
    pattern  := 0.U
    step     := 0.U
    index    := 0.U
  }.elsewhen(turning) {
    turning := !turned
  }.elsewhen(building) {
    turning := !finished
    step    := Mux(finished, 0.U, step + 1.U)
    index   := Mux(finished, 0.U, index(beat - 2, 0) ## nextBit)
    adds    := remainder(width - 1) ^ nextBit
    when(finished) {
      pattern  := pattern + 1.U
      building := !pattern.andR
    }
  }

  io.building := building
  io.top      := bigEndian(top | (if (p.beatBytes > 1) Mux(lastBeat, filled, 0.U) else 0.U))
  io.error    := difference
  io.clean    := !dirty
}
