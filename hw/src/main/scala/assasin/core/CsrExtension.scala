// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import chisel3._

/** A CSR that [[CsrFile]] leaves to another module.
  *
  * @param address
  *   12 bits; writes to an address with bits 11:10 set are illegal
  * @param waits
  *   an access waits in MEM as long as [[Core]] finds its module busy
  */
case class CsrRow(address: Int, waits: Boolean = false) {
  require(address >= 0 && address < 4096, s"address = $address: a CSR is 0 to 4095")
}

/** CSRs beyond those of [[CsrFile]]. */
case class CsrExtension(rows: Seq[CsrRow]) {
  require(rows.map(_.address).distinct.size == rows.size, "two rows have the same address")
}

/** Ports of [[CsrFile]] for the rows of an extension, in their order. */
class CsrExtensionIO(rows: Int) extends Bundle {

  /** In EX: a row may not be accessed as things stand. */
  val illegal = Input(Vec(rows, Bool()))

  /** In EX: the address asked for is one of the rows. */
  val named = Output(Bool())

  /** In MEM: the address is that of a row that waits. */
  val waits = Output(Bool())

  /** In MEM: value of a row; the row is written with `value` in this cycle. */
  val read  = Input(Vec(rows, UInt(32.W)))
  val write = Output(Vec(rows, Bool()))
  val value = Output(UInt(32.W))

  /** Fields of mstatus that are kept elsewhere, in their places; mstatus is written with `value` in this cycle. */
  val status      = Input(UInt(32.W))
  val statusWrite = Output(Bool())
}
