// SPDX-License-Identifier: BSD-3-Clause
package assasin.cache

import chisel3._
import chisel3.util.{Decoupled, Enum, Queue, Valid, is, log2Ceil, switch}

/** A miss that trains the prefetcher. */
class PrefetchTraining(lineBits: Int) extends Bundle {
  val pc   = UInt(32.W)
  val line = UInt(lineBits.W)
}

/** One load or store instruction. Its deltas are in a memory of their own. */
private class DcptEntry(lineBits: Int, tagBits: Int, countBits: Int, deltaBits: Int) extends Bundle {
  val valid = Bool()
  val tag   = UInt(tagBits.W)

  /** Line of its last miss, and the last one asked for on its behalf. */
  val line       = UInt(lineBits.W)
  val asked      = UInt(lineBits.W)
  val askedValid = Bool()

  /** Latest delta; 0 if there is none, or if it did not fit. */
  val delta = SInt(deltaBits.W)

  /** Deltas held, and the place of the next one. */
  val count = UInt(countBits.W)
  val next  = UInt((countBits - 1).W)
}

/** Ports of [[Dcpt]]. */
class DcptIO(lineBits: Int) extends Bundle {
  val train = Flipped(Valid(new PrefetchTraining(lineBits)))
  val line  = Decoupled(UInt(lineBits.W))

  /** Forget all instructions. Held until `flushed`, which stays until `flush` falls. */
  val flush   = Input(Bool())
  val flushed = Output(Bool())
}

/** Delta-correlating prediction tables (Grannaes, Jahre, Natvig: "Storage efficient hardware prefetching using
  * delta-correlating prediction tables", JILP 13, 2011): for each instruction the differences between the lines it
  * missed. When the latest two differences have occurred one after the other before, those that followed then are
  * followed again. Lines already asked for are left out.
  *
  * A miss takes about as many cycles as deltas are kept.
  *
  * @param entries
  *   instructions, direct mapped
  * @param deltas
  *   differences kept of each
  * @param deltaBits
  *   width of a difference, lines; a larger one matches nothing
  */
class Dcpt(lineBits: Int, entries: Int = 64, deltas: Int = 16, deltaBits: Int = 12) extends Module {
  private val indexBits = log2Ceil(entries)
  private val tagBits   = 8
  private val countBits = log2Ceil(deltas) + 1
  require((1 << indexBits) == entries && (1 << (countBits - 1)) == deltas, "entries and deltas are powers of two")

  val io = IO(new DcptIO(lineBits))

  // Unrolled loops have loads a power of two apart, which must not share an entry.
  private def indexOf(pc: UInt): UInt = (pc >> 2)(indexBits - 1, 0) ^ (pc >> (2 + indexBits))(indexBits - 1, 0)

  private val sIdle :: sRead :: sUpdate :: sScan :: sWrite :: sFlush :: Nil = Enum(6)

  private val state   = RegInit(sIdle)
  private val table   = SyncReadMem(entries, new DcptEntry(lineBits, tagBits, countBits, deltaBits))
  private val history = SyncReadMem(entries * deltas, SInt(deltaBits.W))

  private val misses = Module(new Queue(new PrefetchTraining(lineBits), 4))
  misses.io.enq.valid := io.train.valid
  misses.io.enq.bits  := io.train.bits

  private val miss    = Reg(new PrefetchTraining(lineBits))
  private val index   = indexOf(miss.pc)
  private val tag     = (miss.pc >> (2 + indexBits))(tagBits - 1, 0)
  private val entry   = Reg(new DcptEntry(lineBits, tagBits, countBits, deltaBits))
  private val walk    = RegInit(0.U(indexBits.W))
  private val flushed = RegInit(false.B)
  io.flushed := flushed && io.flush
  when(!io.flush) { flushed := false.B }

  // What is to be asked for: found in this scan, and handed on.
  private val found   = Mem(deltas, UInt(lineBits.W))
  private val foundAt = RegInit(0.U(countBits.W))
  private val wishes  = Module(new Queue(UInt(lineBits.W), deltas, hasFlush = true))
  io.line <> wishes.io.deq
  wishes.io.flush.get := state === sFlush
  wishes.io.enq.valid := false.B
  wishes.io.enq.bits  := found(walk(countBits - 2, 0))
  require(indexBits >= countBits - 1)

  private val delta      = (miss.line - entry.line).asSInt
  private val fits       = delta >= (-(1 << (deltaBits - 1))).S && delta < (1 << (deltaBits - 1)).S
  private val penult     = Reg(SInt(deltaBits.W)) // the delta before the latest
  private val step       = RegInit(0.U(countBits.W))
  private val matched    = Reg(Bool())
  private val follow     = Reg(UInt(lineBits.W))
  private val before     = Reg(SInt(deltaBits.W)) // the delta before the one that is looked at
  private val readAt     = WireDefault(0.U((countBits - 1).W))
  private val old        = history.read(index ## readAt, state === sUpdate || state === sScan)
  private val historyIn  = Wire(SInt(deltaBits.W))
  private val historySet = WireDefault(false.B)
  historyIn := Mux(fits, delta, 0.S)(deltaBits - 1, 0).asSInt
  when(historySet) { history.write(index ## entry.next, historyIn) }

  // Oldest delta kept once the new one has been added.
  private val held   = Mux(entry.count === deltas.U, deltas.U, entry.count + 1.U)
  private val oldest = (entry.next - entry.count)(countBits - 2, 0)

  private val entryOut = table.read(indexOf(misses.io.deq.bits.pc), state === sIdle)
  misses.io.deq.ready := state === sIdle && !(io.flush && !flushed)

  private val tableSet = WireDefault(false.B)
  private val tableRow = WireDefault(index)
  private val tableIn  = WireDefault(entry)
  when(tableSet) { table.write(tableRow, tableIn) }

  switch(state) {
    is(sIdle) {
      walk := 0.U
      miss := misses.io.deq.bits
      when(io.flush && !flushed) {
        state := sFlush
      }.elsewhen(misses.io.deq.valid) {
        state := sRead
      }
    }
    is(sRead) {
      entry := entryOut
      state := sUpdate
    }
    is(sUpdate) {
      penult  := entry.delta
      foundAt := 0.U
      matched := false.B
      before  := 0.S
      step    := 0.U
      follow  := miss.line
      when(!entry.valid || entry.tag =/= tag) {
        entry.valid      := true.B
        entry.tag        := tag
        entry.askedValid := false.B
        entry.count      := 0.U
        entry.next       := 0.U
        entry.delta      := 0.S
        entry.line       := miss.line
        state            := sWrite
      }.elsewhen(delta === 0.S) {
        state := sIdle
      }.otherwise {
        historySet  := true.B
        entry.delta := historyIn
        entry.line  := miss.line
        entry.count := held
        entry.next  := entry.next + 1.U
        // A delta of 0 stands for one that did not fit.
        state := Mux(entry.delta =/= 0.S && historyIn =/= 0.S, sScan, sWrite)
      }
    }
    is(sScan) {
      // In step n delta n - 1 (0 is the oldest) is looked at, and delta n is read.
      readAt := (oldest + step)(countBits - 2, 0)
      step   := step + 1.U
      when(step =/= 0.U) {
        before := old
        when(matched) {
          val next = (follow.asSInt + old).asUInt(lineBits - 1, 0)
          follow := next
          when(entry.askedValid && next === entry.asked) {
            foundAt := 0.U
          }.otherwise {
            found(foundAt(countBits - 2, 0)) := next
            foundAt                          := foundAt + 1.U
          }
        }.otherwise {
          matched := before === penult && old === entry.delta && before =/= 0.S
        }
      }
      when(step === entry.count) {
        walk  := 0.U
        state := sWrite
      }
    }
    is(sWrite) {
      // Hands on what was found, one a cycle; what has no place is left for another time.
      wishes.io.enq.valid := foundAt =/= 0.U && walk < foundAt
      walk                := walk + 1.U
      when(wishes.io.enq.fire) {
        entry.asked      := wishes.io.enq.bits
        entry.askedValid := true.B
      }.otherwise {
        tableSet := true.B
        state    := sIdle
      }
    }
    is(sFlush) {
      tableSet      := true.B
      tableRow      := walk
      tableIn.valid := false.B
      walk          := walk + 1.U
      when(walk.andR) {
        state   := sIdle
        flushed := true.B
      }
    }
  }
}
