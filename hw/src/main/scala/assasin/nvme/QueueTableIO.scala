// SPDX-License-Identifier: BSD-3-Clause
package assasin.nvme

import chisel3._
import chisel3.util.{Decoupled, Valid}

/** Numbers of the queues: 0 is the admin pair. */
object QueueId {

  /** Queue pairs. */
  val Pairs: Int = 9

  /** Width of a queue number. */
  val IdBits: Int = 4
}

/** A doorbell as the host wrote it. */
class Doorbell extends Bundle {

  /** Offset from 0x1000, in words: 2 * queue, + 1 for a completion queue. */
  val index = UInt(16.W)
  val value = UInt(32.W)

  /** All bytes of the value were written. */
  val whole = Bool()
}

/** Access of the firmware to a register that belongs to queue `queue`. */
class QueueRegReq extends Bundle {
  val queue = UInt(8.W)

  /** Offset in the NVME block, [[assasin.contract.NvmeRegs]] SQ_BASE_LO to CQ_STATE. */
  val offset = UInt(12.W)
  val write  = Bool()
  val data   = UInt(32.W)
}

/** An entry to fetch. */
class SqeFetch extends Bundle {
  val queue = UInt(QueueId.IdBits.W)

  /** Its host address. */
  val addr = UInt(64.W)
}

/** Where a completion goes. */
class CqePlace extends Bundle {

  /** The submission or completion queue does not exist. */
  val absent = Bool()

  /** The queue is full: try again after a doorbell. Neither: the place is taken. */
  val full   = Bool()
  val addr   = UInt(64.W)
  val phase  = Bool()
  val sqHead = UInt(16.W)
  val vector = UInt(4.W)
  val ien    = Bool()

  /** The completion queue. */
  val queue = UInt(QueueId.IdBits.W)
}

/** Ports of [[QueueTable]]. Every requester holds its request until it is taken and gets its answer, if any, within a
  * few cycles.
  */
class QueueTableIO extends Bundle {
  val doorbell = Flipped(Decoupled(new Doorbell))

  /** A doorbell that names an absent queue or is out of range. */
  val bad = Valid(new Doorbell)

  val regs     = Flipped(Decoupled(new QueueRegReq))
  val regsResp = Valid(UInt(32.W))

  /** Wants one more entry; the answer comes whenever some queue has one. */
  val fetchWanted = Input(Bool())
  val fetch       = Valid(new SqeFetch)

  /** An entry of this queue has arrived. */
  val fetched = Flipped(Decoupled(UInt(QueueId.IdBits.W)))

  /** A completion for a command of this submission queue. */
  val post     = Flipped(Decoupled(UInt(8.W)))
  val postResp = Valid(new CqePlace)

  /** A submission queue is deleted or made anew: entries on their way are void. */
  val deleted = Valid(UInt(QueueId.IdBits.W))

  /** A completion queue may have room again. */
  val roomMade = Output(Bool())

  /** Completion queues with entries that the host has not taken. */
  val unread = Output(UInt(QueueId.Pairs.W))

  /** Controller reset: deletes all queues. */
  val flush = Input(Bool())

  /** No operation is under way and none can start. */
  val idle = Output(Bool())
}
