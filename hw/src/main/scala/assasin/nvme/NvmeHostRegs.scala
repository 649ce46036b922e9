// SPDX-License-Identifier: BSD-3-Clause
package assasin.nvme

import assasin.bus.{HostRegIO, HostReq, RegMap}
import chisel3._
import chisel3.util.{Cat, Decoupled, MuxLookup, RegEnable}

/** Controller registers as the firmware sees and sets them. */
class ControllerState extends Bundle {
  val cc  = UInt(32.W)
  val aqa = UInt(32.W)
  val asq = UInt(64.W)
  val acq = UInt(64.W)

  /** Masked interrupt vectors (INTMS, INTMC). */
  val mask = UInt(32.W)

  /** Controller memory buffer as the host has placed it. */
  val window = new ControllerMemoryWindow
}

/** What the register file says of the controller memory buffer. */
object NvmeHostRegs {

  /** Bit of CAP: a controller memory buffer is supported. */
  val CapCmbs: Int = 57

  /** BAR0, offset in units of CMBSZ.SZU. */
  val Cmbloc: BigInt = ControllerMemory.BarOffset / 4096 << 12

  /** Submission queues; units of 4 KiB. */
  val Cmbsz: BigInt = ControllerMemory.Bytes / 4096 << 12 | 1
}

/** Register file that the host sees: NVM Express Base Specification 1.4, clause 3.1. Bytes can be written singly,
  * 64-bit registers by halves. Doorbells go to the queue table; one that was not written whole is reported as bad.
  * Everything else reads 0.
  *
  * @param buffer
  *   there is a controller memory buffer; else its registers read 0
  */
class NvmeHostRegs(buffer: Boolean) extends Module {
  val io = IO(new Bundle {
    val host  = Flipped(new HostRegIO(15))
    val state = Output(new ControllerState)

    /** CAP and CSTS as the host reads them; CSTS.NSSRO is kept here. */
    val cap  = Input(UInt(64.W))
    val csts = Input(UInt(32.W))

    val doorbell = Decoupled(new Doorbell)

    /** Pulses: the host wrote CC; changed CC.EN from 1 to 0; wrote the magic to NSSR. */
    val ccWritten = Output(Bool())
    val disabled  = Output(Bool())
    val nssr      = Output(Bool())

    /** No access is under way. */
    val idle = Output(Bool())
  })

  private val cc   = RegInit(0.U(32.W))
  private val aqa  = RegInit(0.U(32.W))
  private val asq  = RegInit(0.U(64.W))
  private val acq  = RegInit(0.U(64.W))
  private val mask = RegInit(0.U(32.W))

  /** CSTS.NSSRO. */
  private val resetOccurred = RegInit(false.B)
  // CMBMSC: CRE shows CMBLOC and CMBSZ, CMSE places the buffer at CBA.
  private val cre  = RegInit(false.B)
  private val cmse = RegInit(false.B)
  private val cba  = RegInit(0.U(64.W))

  /** The buffer would pass the end of the address space. */
  private val cbai   = cmse && cba(63, ControllerMemory.AddrBits).andR && cba(ControllerMemory.AddrBits - 1, 0) =/= 0.U
  private val cmbmsc = cba(31, 12) ## 0.U(10.W) ## cmse ## cre

  private val req        = io.host.req
  private val isDoorbell = req.bits.addr(14, 12) =/= 0.U
  private val toDoorbell = isDoorbell && req.bits.write

  io.doorbell.valid      := req.valid && toDoorbell
  io.doorbell.bits.index := (req.bits.addr - 0x1000.U) >> 2
  io.doorbell.bits.value := req.bits.wdata
  io.doorbell.bits.whole := req.bits.strb.andR
  req.ready              := !toDoorbell || io.doorbell.ready

  private def low(reg: UInt): UInt                 = reg(31, 0)
  private def high(reg: UInt): UInt                = reg(63, 32)
  private def setLow(reg: UInt, r: HostReq): Unit  = reg := Cat(high(reg), r.merge(low(reg))(31, 12), 0.U(12.W))
  private def setHigh(reg: UInt, r: HostReq): Unit = reg := Cat(r.merge(high(reg)), low(reg))
  private def at(offset: Int): Bool                = req.bits.addr === offset.U
  private val write                                = req.fire && req.bits.write

  io.ccWritten := write && at(0x14)
  io.nssr      := write && at(0x20) && req.bits.merge(0.U(32.W)) === 0x4e564d65L.U
  private val ccNew = req.bits.merge(cc)
  io.disabled := cc(0) && (io.nssr || (io.ccWritten && !ccNew(0)))
  when(write) {
    when(at(0x0c)) { mask := mask | req.bits.merge(0.U(32.W)) }
    when(at(0x10)) { mask := mask & ~req.bits.merge(0.U(32.W)) }
    when(at(0x14)) { cc := ccNew }
    when(at(0x24)) { aqa := req.bits.merge(aqa) & "h0fff0fff".U }
    when(at(0x28)) { setLow(asq, req.bits) }
    when(at(0x2c)) { setHigh(asq, req.bits) }
    when(at(0x30)) { setLow(acq, req.bits) }
    when(at(0x34)) { setHigh(acq, req.bits) }
    if (buffer) {
      when(at(0x50)) {
        val value = req.bits.merge(cmbmsc)
        cre  := value(0)
        cmse := value(1)
        setLow(cba, req.bits)
      }
      when(at(0x54)) { setHigh(cba, req.bits) }
    }
    when(at(0x1c) && req.bits.merge(0.U(32.W))(4)) { resetOccurred := false.B }
  }
  // A subsystem reset is a controller reset that also clears every register of the controller.
  when(io.nssr) {
    cc            := 0.U
    aqa           := 0.U
    asq           := 0.U
    acq           := 0.U
    mask          := 0.U
    cre           := false.B
    cmse          := false.B
    cba           := 0.U
    resetOccurred := true.B
  }

  private val value = MuxLookup(req.bits.addr, 0.U(32.W))(
    Seq(
      0x00 -> low(io.cap),
      0x04 -> (high(io.cap) | (if (buffer) 1 << (NvmeHostRegs.CapCmbs - 32) else 0).U),
      0x08 -> 0x00010400.U(32.W),
      0x0c -> mask,
      0x10 -> mask,
      0x14 -> cc,
      0x1c -> (io.csts | (resetOccurred << 4)),
      0x24 -> aqa,
      0x28 -> low(asq),
      0x2c -> high(asq),
      0x30 -> low(acq),
      0x34 -> high(acq),
      0x38 -> Mux(cre, NvmeHostRegs.Cmbloc.U(32.W), 0.U),
      0x3c -> Mux(cre, NvmeHostRegs.Cmbsz.U(32.W), 0.U),
      0x50 -> cmbmsc,
      0x54 -> high(cba),
      0x58 -> RegMap.word(cbai)
    ).map { case (offset, v) => offset.U -> v }
  )
  io.host.resp.valid := RegNext(req.fire, false.B)
  io.host.resp.bits  := RegEnable(value, req.fire)

  io.state.cc   := cc
  io.state.aqa  := aqa
  io.state.asq  := asq
  io.state.acq  := acq
  io.state.mask := mask
  io.idle       := !req.valid

  io.state.window.enable := cmse && !cbai
  io.state.window.base   := cba
}
