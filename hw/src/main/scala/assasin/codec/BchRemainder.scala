// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

import chisel3._
import chisel3.util.{Cat, MuxLookup}

/** Remainder of a message by the code's generator, a beat a cycle: parity when writing; when reading, the received
  * parity is added, and what is left tells the errors.
  *
  * The remainder is left aligned in a register of the strongest code's width, so that every strength has one data path.
  * A beat's feedback is looked up in one table of 16 rows for each of its nibbles; the tables are filled for the
  * strength in use, row by row, by multiplying a nibble by x bit by bit.
  */
class BchRemainder(p: CodeParams) extends Module {
  require(p.strengths.nonEmpty, "strengths is empty: there is no code to build")
  val io = IO(new RemainderIO(p))

  private val width   = p.width
  private val beat    = p.beatBits
  private val nibbles = beat / 4

  private def bigEndian(bytes: UInt): UInt = Cat((0 until p.beatBytes).map(k => bytes(8 * k + 7, 8 * k)))
  private def ofStrength(of: BchCode => BigInt, bits: Int): UInt =
    MuxLookup(io.strength, 0.U(bits.W))(p.codes.zipWithIndex.map { case (code, k) => (k + 1).U -> of(code).U(bits.W) })

  // Without a reset value: a reset builds the tables of no code, which ends with 0.
  private val remainder = Reg(UInt(width.W))
  private val tables    = Seq.fill(nibbles)(Mem(16, UInt(width.W)))

  // Filling the tables. Step 0 puts the row's nibble on top of the remainder; step n finds it n - 1 times multiplied by x.
  private val building  = RegInit(true.B)
  private val row       = RegInit(0.U(4.W))
  private val step      = RegInit(0.U(6.W))
  private val lastStep  = step === (beat + 1).U
  private val generator = ofStrength(c => (c.generator ^ (BigInt(1) << c.degree)) << (width - c.degree), width)
  for ((table, k) <- tables.zipWithIndex) when(building && step === (4 * k + 5).U) { table.write(row, remainder) }

  // The last parity beat ends with bits that are not parity: sent as 0 up to the end of the byte, then as 1, not looked at.
  private val beats    = RegInit(0.U(8.W))
  private val lastBeat = beats === ofStrength(c => BigInt(c.parityBytes(p.beatBytes) / p.beatBytes - 1), 8)
  private val unused   = ofStrength(c => (BigInt(1) << c.padding(p.beatBytes)) - 1, beat)
  private val filled   = ofStrength(c => (BigInt(1) << (8 * (c.parityBytes(p.beatBytes) - c.usedBytes))) - 1, beat)
  private val top      = remainder(width - 1, width - beat)
  private val dirty    = RegInit(false.B)

  private val data       = bigEndian(io.data)
  private val difference = (top ^ data) & ~Mux(lastBeat, unused, 0.U)
  private val feedback   = Mux(io.clear, 0.U, top) ^ data
  private val rows = tables.zipWithIndex.map { case (table, k) =>
    table.read(Mux(io.message, feedback(4 * k + 3, 4 * k), 0.U))
  }

  when(building) {
    row  := Mux(lastStep, row + 1.U, row)
    step := Mux(lastStep, 0.U, step + 1.U)
    when(step === 0.U) {
      remainder := row << (width - 4)
    }.otherwise {
      remainder := Cat(remainder(width - 2, 0), 0.U(1.W)) ^ Mux(remainder(width - 1), generator, 0.U)
    }
    when(lastStep && row.andR) {
      building  := false.B
      remainder := 0.U
    }
  }.elsewhen(io.message) {
    remainder := rows.reduce(_ ^ _) ^ Mux(io.clear, 0.U, (remainder << beat)(width - 1, 0))
  }.elsewhen(io.parity) {
    remainder := (remainder << beat)(width - 1, 0) | difference
  }.elsewhen(io.clear) {
    remainder := 0.U
  }
  when(io.parity) {
    beats := beats + 1.U
    dirty := dirty || difference.orR
  }.elsewhen(io.message || io.clear) {
    beats := 0.U
    dirty := false.B
  }
  when(io.build) {
    building := true.B
    row      := 0.U
    step     := 0.U
  }

  io.building  := building
  io.top       := bigEndian(top | (if (p.beatBytes > 1) Mux(lastBeat, filled, 0.U) else 0.U))
  io.remainder := remainder
  io.clean     := !dirty
}
