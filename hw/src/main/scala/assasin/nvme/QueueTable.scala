// SPDX-License-Identifier: BSD-3-Clause
package assasin.nvme

import assasin.bus.RoundRobin
import assasin.contract.NvmeRegs
import chisel3._
import chisel3.util.{Cat, Enum, MuxLookup, OHToUInt, PriorityMux, UIntToOH, is, switch}

/** State of all queues, and every operation on it: one at a time, each read - change - write back on two small
  * memories.
  */
class QueueTable extends Module {
  import QueueId.{IdBits, Pairs}

  val io = IO(new QueueTableIO)

  private val sqs = SyncReadMem(1 << IdBits, new SqContext)
  private val cqs = SyncReadMem(1 << IdBits, new CqContext)

  private val sqEnabled = RegInit(0.U(Pairs.W))
  private val cqEnabled = RegInit(0.U(Pairs.W))

  /** Submission queues with entries to fetch. */
  private val pending   = RegInit(0.U(Pairs.W))
  private val lastFetch = RegInit(1.U(Pairs.W))

  /** Completion queues whose head is not at their tail. */
  private val unread = RegInit(0.U(Pairs.W))
  io.unread := unread

  private val sIdle :: sApply :: sPost :: Nil                               = Enum(3)
  private val opDoorbell :: opRegs :: opPost :: opFetched :: opFetch :: Nil = Enum(5)

  private val state  = RegInit(sIdle)
  private val op     = Reg(UInt(3.W))
  private val queue  = Reg(UInt(IdBits.W))
  private val bell   = Reg(new Doorbell)
  private val regs   = Reg(new QueueRegReq)
  private val legal  = Reg(Bool())
  private val sqHead = Reg(UInt(16.W))

  // Choice of the next operation.
  private val fetchFrom = RoundRobin.pick(pending, lastFetch)
  private val canFetch  = io.fetchWanted && pending.orR
  private val order     = Seq(io.doorbell.valid, io.regs.valid, io.post.valid, io.fetched.valid, canFetch)
  private val ops       = Seq(opDoorbell, opRegs, opPost, opFetched, opFetch)
  private val start     = state === sIdle && order.reduce(_ || _) && !io.flush
  private val grants    = order.indices.map(i => start && order(i) && !order.take(i).foldLeft(false.B)(_ || _))
  io.doorbell.ready := grants(0)
  io.regs.ready     := grants(1)
  io.post.ready     := grants(2)
  io.fetched.ready  := grants(3)

  private val numbers = Seq(
    io.doorbell.bits.index(8, 1),
    io.regs.bits.queue,
    io.post.bits,
    io.fetched.bits.pad(8),
    OHToUInt(fetchFrom).pad(8)
  )
  private val number = PriorityMux(order.zip(numbers) :+ (true.B -> 0.U(8.W)))

  private val toCq   = state === sApply && op === opPost
  private val sq     = sqs.read(number(IdBits - 1, 0), start)
  private val cqRead = Wire(UInt(IdBits.W))
  private val cq     = cqs.read(Mux(toCq, cqRead, number(IdBits - 1, 0)), start || toCq)
  cqRead := sq.cqid(IdBits - 1, 0)

  when(start) {
    op    := PriorityMux(order.zip(ops))
    queue := number(IdBits - 1, 0)
    legal := number < Pairs.U
    bell  := io.doorbell.bits
    regs  := io.regs.bits
    state := sApply
  }

  // Defaults: nothing changes.
  private val sqNew   = WireDefault(sq)
  private val cqNew   = WireDefault(cq)
  private val sqWrite = WireDefault(false.B)
  private val cqWrite = WireDefault(false.B)
  private val self    = UIntToOH(queue)(Pairs - 1, 0)
  when(sqWrite) { sqs.write(queue, sqNew) }

  private val cqQueue = Mux(state === sPost, regs.queue(IdBits - 1, 0), queue)
  when(cqWrite) { cqs.write(cqQueue, cqNew) }

  private def next(entry: UInt, size: UInt): UInt = Mux(entry === size, 0.U, entry + 1.U)

  /** Entries from `from` up to `to`, modulo the queue's size. */
  private def distance(from: UInt, to: UInt, size: UInt): UInt =
    Mux(to >= from, to - from, to +& size + 1.U - from)(15, 0)

  io.bad.valid        := false.B
  io.bad.bits         := bell
  io.regsResp.valid   := false.B
  io.regsResp.bits    := 0.U
  io.fetch.valid      := false.B
  io.fetch.bits.queue := queue
  io.fetch.bits.addr  := sq.base + (sq.head << 6)
  io.deleted.valid    := false.B
  io.deleted.bits     := queue
  io.roomMade         := false.B

  io.postResp.valid       := false.B
  io.postResp.bits.absent := !(cqEnabled & UIntToOH(regs.queue(IdBits - 1, 0))(Pairs - 1, 0)).orR
  io.postResp.bits.full   := next(cq.tail, cq.size) === cq.head
  io.postResp.bits.addr   := cq.base + (cq.tail << 4)
  io.postResp.bits.phase  := cq.phase
  io.postResp.bits.sqHead := sqHead
  io.postResp.bits.vector := cq.vector
  io.postResp.bits.ien    := cq.ien
  io.postResp.bits.queue  := cqQueue

  private val sqExists = legal && (sqEnabled & self).orR
  private val cqExists = legal && (cqEnabled & self).orR

  switch(state) {
    is(sApply) {
      state := sIdle
      switch(op) {
        is(opDoorbell) {
          val isCq  = bell.index(0)
          val size  = Mux(isCq, cq.size, sq.size)
          val value = bell.value(15, 0)
          val far   = distance(value, cq.tail, cq.size) > distance(cq.head, cq.tail, cq.size)
          val ok = bell.whole && bell.index(15, 9) === 0.U && bell.value(31, 16) === 0.U && value <= size &&
            Mux(isCq, cqExists && !far, sqExists)
          when(!ok) {
            io.bad.valid := true.B
          }.elsewhen(isCq) {
            cqWrite     := true.B
            cqNew.head  := value
            io.roomMade := true.B
            when(value === cq.tail) { unread := unread & ~self }
          }.otherwise {
            sqWrite    := true.B
            sqNew.tail := value
            pending    := Mux(value === sq.head, pending & ~self, pending | self)
          }
        }
        is(opRegs) {
          io.regsResp.valid := true.B
          when(legal) {
            io.regsResp.bits := MuxLookup(regs.offset, 0.U)(
              Seq(
                NvmeRegs.SqBaseLo.offset.U -> sq.base(31, 0),
                NvmeRegs.SqBaseHi.offset.U -> sq.base(63, 32),
                NvmeRegs.SqCfg.offset.U    -> Cat(sqExists, 0.U(7.W), sq.cqid, sq.size),
                NvmeRegs.SqState.offset.U  -> Cat(sq.tail, sq.head),
                NvmeRegs.CqBaseLo.offset.U -> cq.base(31, 0),
                NvmeRegs.CqBaseHi.offset.U -> cq.base(63, 32),
                NvmeRegs.CqCfg.offset.U    -> Cat(cqExists, 0.U(10.W), cq.ien, cq.vector, cq.size),
                NvmeRegs.CqState.offset.U  -> Cat(cq.tail, cq.head)
              )
            )
          }
          when(legal && regs.write) {
            switch(regs.offset) {
              is(NvmeRegs.SqBaseLo.offset.U) {
                sqWrite    := true.B
                sqNew.base := Cat(sq.base(63, 32), regs.data)
              }
              is(NvmeRegs.SqBaseHi.offset.U) {
                sqWrite    := true.B
                sqNew.base := Cat(regs.data, sq.base(31, 0))
              }
              is(NvmeRegs.SqCfg.offset.U) {
                sqWrite          := true.B
                sqNew.size       := regs.data(15, 0)
                sqNew.cqid       := regs.data(23, 16)
                sqNew.head       := 0.U
                sqNew.tail       := 0.U
                sqNew.done       := 0.U
                sqEnabled        := Mux(regs.data(31), sqEnabled | self, sqEnabled & ~self)
                pending          := pending & ~self
                io.deleted.valid := true.B
              }
              is(NvmeRegs.CqBaseLo.offset.U) {
                cqWrite    := true.B
                cqNew.base := Cat(cq.base(63, 32), regs.data)
              }
              is(NvmeRegs.CqBaseHi.offset.U) {
                cqWrite    := true.B
                cqNew.base := Cat(regs.data, cq.base(31, 0))
              }
              is(NvmeRegs.CqCfg.offset.U) {
                cqWrite      := true.B
                cqNew.size   := regs.data(15, 0)
                cqNew.vector := regs.data(19, 16)
                cqNew.ien    := regs.data(20)
                cqNew.head   := 0.U
                cqNew.tail   := 0.U
                cqNew.phase  := true.B
                cqEnabled    := Mux(regs.data(31), cqEnabled | self, cqEnabled & ~self)
                unread       := unread & ~self
                io.roomMade  := true.B
              }
            }
          }
        }
        is(opPost) {
          // The completion queue's number goes through `regs.queue`; a number beyond the table reads as absent.
          val known = sqExists && sq.cqid < Pairs.U
          regs.queue := Mux(known, sq.cqid, Pairs.U)
          sqHead     := sq.done
          state      := sPost
        }
        is(opFetched) {
          sqWrite    := true.B
          sqNew.done := next(sq.done, sq.size)
        }
        is(opFetch) {
          when(sqExists) {
            val head = next(sq.head, sq.size)
            sqWrite        := true.B
            sqNew.head     := head
            io.fetch.valid := true.B
            lastFetch      := self
            when(head === sq.tail) { pending := pending & ~self }
          }
        }
      }
    }
    is(sPost) {
      state             := sIdle
      io.postResp.valid := true.B
      when(!io.postResp.bits.absent && !io.postResp.bits.full) {
        cqWrite    := true.B
        cqNew.tail := next(cq.tail, cq.size)
        unread     := unread | UIntToOH(cqQueue)(Pairs - 1, 0)
        when(cq.tail === cq.size) { cqNew.phase := !cq.phase }
      }
    }
  }

  when(io.flush) {
    sqEnabled := 0.U
    cqEnabled := 0.U
    pending   := 0.U
    unread    := 0.U
  }
  io.idle := state === sIdle && !order.reduce(_ || _)
}
