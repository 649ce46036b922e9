// SPDX-License-Identifier: BSD-3-Clause
#include "sim/Soc.h"

#include <stdexcept>

#include "assasin_contract.h"
#include "sim/ForEach.h"

#include "VAssasinSoc.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_fst_c.h"
#else
class VerilatedFstC {}; // complete, so that the pointer to it can be destroyed
#endif

namespace assasin {

namespace {

constexpr uint32_t WAY_MASK = (1u << ASSASIN_WAYS) - 1;

} // namespace

const unsigned Soc::CORES = ASSASIN_CORES;
const unsigned Soc::CHANNELS = ASSASIN_CHANNELS;
const unsigned Soc::WAYS = ASSASIN_WAYS;
const unsigned Soc::PHY_BYTES = ASSASIN_PHY_BYTES;
const unsigned Soc::SLOTS = ASSASIN_SLOTS;
const unsigned Soc::BAR0_BITS = ASSASIN_BAR0_BITS;
const char *const Soc::CONFIG = ASSASIN_CONFIG;
const char *const Soc::CPU = ASSASIN_CPU;
const uint32_t Soc::FIRMWARE_BASE = ASSASIN_FIRMWARE_BASE;
const uint32_t Soc::FIRMWARE_BYTES = ASSASIN_FIRMWARE_BYTES;
const unsigned Soc::RESET_TAIL = ASSASIN_RESET_TAIL;
const unsigned Soc::REST = ASSASIN_REST;

Soc::Soc() : context_(std::make_unique<VerilatedContext>()) {
#if VM_TRACE
    context_->traceEverOn(true);
#endif
    top_ = std::make_unique<VAssasinSoc>(context_.get());
    top_->clock = 0;
    top_->reset = 1;
}

Soc::~Soc() {
    closeTrace();
    top_->final();
}

void Soc::openTrace(const std::string &path) {
#if VM_TRACE
    trace_ = std::make_unique<VerilatedFstC>();
    top_->trace(trace_.get(), 99);
    trace_->open(path.c_str());
    if (!trace_->isOpen()) {
        throw std::runtime_error("cannot write the trace file '" + path + "'");
    }
#else
    throw std::runtime_error(
        "--trace " + path + ": this assasin-board was built without waves; build one with scripts/build-board --trace");
#endif
}

void Soc::closeTrace() {
#if VM_TRACE
    if (trace_) {
        trace_->close();
        trace_.reset();
    }
#endif
}

void Soc::setReset(bool level) {
    top_->reset = level;
}

bool Soc::asleep() const {
    return top_->io_asleep;
}

uint64_t Soc::wakeAt() const {
    return top_->io_wakeAt;
}

void Soc::settle(uint64_t timebase, Xdma &xdma) {
    VAssasinSoc &t = *top_;
    t.clock = 0;
    t.io_timebase = timebase_ = timebase;

    t.io_dram_aw_ready = dram.awReady;
    t.io_dram_w_ready = dram.wReady;
    t.io_dram_b_valid = dram.bValid;
    t.io_dram_b_bits_id = dram.bId;
    t.io_dram_b_bits_resp = dram.bResp;
    t.io_dram_ar_ready = dram.arReady;
    t.io_dram_r_valid = dram.rValid;
    t.io_dram_r_bits_id = dram.rId;
    t.io_dram_r_bits_data = dram.rData;
    t.io_dram_r_bits_resp = dram.rResp;
    t.io_dram_r_bits_last = dram.rLast;

    Axi4Wires &mem = xdma.mem;
    t.io_xdma_aw_valid = mem.awValid;
    t.io_xdma_aw_bits_id = mem.awId;
    t.io_xdma_aw_bits_addr = mem.awAddr;
    t.io_xdma_aw_bits_len = mem.awLen;
    t.io_xdma_aw_bits_size = 3;
    t.io_xdma_aw_bits_burst = 1;
    t.io_xdma_w_valid = mem.wValid;
    t.io_xdma_w_bits_data = mem.wData;
    t.io_xdma_w_bits_strb = mem.wStrb;
    t.io_xdma_w_bits_last = mem.wLast;
    t.io_xdma_b_ready = mem.bReady;
    t.io_xdma_ar_valid = mem.arValid;
    t.io_xdma_ar_bits_id = mem.arId;
    t.io_xdma_ar_bits_addr = mem.arAddr;
    t.io_xdma_ar_bits_len = mem.arLen;
    t.io_xdma_ar_bits_size = 3;
    t.io_xdma_ar_bits_burst = 1;
    t.io_xdma_r_ready = mem.rReady;

    AxiLiteWires &regs = xdma.regs;
    t.io_xdmaRegs_awaddr_ready = regs.awReady;
    t.io_xdmaRegs_wdata_ready = regs.wReady;
    t.io_xdmaRegs_bresp_valid = regs.bValid;
    t.io_xdmaRegs_bresp_bits = regs.bResp;
    t.io_xdmaRegs_araddr_ready = regs.arReady;
    t.io_xdmaRegs_rdata_valid = regs.rValid;
    t.io_xdmaRegs_rdata_bits_data = regs.rData;
    t.io_xdmaRegs_rdata_bits_resp = regs.rResp;

    t.io_bar0_awaddr_valid = bar0.awValid;
    t.io_bar0_awaddr_bits = bar0.awAddr;
    t.io_bar0_wdata_valid = bar0.wValid;
    t.io_bar0_wdata_bits_data = bar0.wData;
    t.io_bar0_wdata_bits_strb = bar0.wStrb;
    t.io_bar0_bresp_ready = bar0.bReady;
    t.io_bar0_araddr_valid = bar0.arValid;
    t.io_bar0_araddr_bits = bar0.arAddr;
    t.io_bar0_rdata_ready = bar0.rReady;

    t.io_h2c_ready = xdma.h2cBypass.ready;
    t.io_h2c_sts = xdma.h2cBypass.sts;
    t.io_c2h_ready = xdma.c2hBypass.ready;
    t.io_c2h_sts = xdma.c2hBypass.sts;
    t.io_irq_ack = xdma.irq.ack;
    t.io_irq_msix = xdma.irq.msix;

#define DRIVE_SLOT(N)                                                                                                  \
    t.io_slot_##N##_in_0_tready = slots[N].in[0].ready;                                                                \
    t.io_slot_##N##_in_1_tready = slots[N].in[1].ready;                                                                \
    t.io_slot_##N##_out_tvalid = slots[N].out.valid;                                                                   \
    t.io_slot_##N##_out_tdata = slots[N].out.data;                                                                     \
    t.io_slot_##N##_out_tkeep = slots[N].out.keep;                                                                     \
    t.io_slot_##N##_out_tlast = slots[N].out.last;                                                                     \
    t.io_slot_##N##_ctrl_awaddr_ready = slots[N].ctrl.awReady;                                                         \
    t.io_slot_##N##_ctrl_wdata_ready = slots[N].ctrl.wReady;                                                           \
    t.io_slot_##N##_ctrl_bresp_valid = slots[N].ctrl.bValid;                                                           \
    t.io_slot_##N##_ctrl_bresp_bits = slots[N].ctrl.bResp;                                                             \
    t.io_slot_##N##_ctrl_araddr_ready = slots[N].ctrl.arReady;                                                         \
    t.io_slot_##N##_ctrl_rdata_valid = slots[N].ctrl.rValid;                                                           \
    t.io_slot_##N##_ctrl_rdata_bits_data = slots[N].ctrl.rData;                                                        \
    t.io_slot_##N##_ctrl_rdata_bits_resp = slots[N].ctrl.rResp;                                                        \
    t.io_slot_##N##_interrupt = slots[N].interrupt;                                                                    \
    t.io_slot_##N##_id = slots[N].id;
    FOR_EACH_SLOT(DRIVE_SLOT)
#undef DRIVE_SLOT

    t.eval();

    dram.awValid = t.io_dram_aw_valid;
    dram.awId = t.io_dram_aw_bits_id;
    dram.awAddr = t.io_dram_aw_bits_addr;
    dram.awLen = t.io_dram_aw_bits_len;
    dram.wValid = t.io_dram_w_valid;
    dram.wData = t.io_dram_w_bits_data;
    dram.wStrb = t.io_dram_w_bits_strb;
    dram.wLast = t.io_dram_w_bits_last;
    dram.bReady = t.io_dram_b_ready;
    dram.arValid = t.io_dram_ar_valid;
    dram.arId = t.io_dram_ar_bits_id;
    dram.arAddr = t.io_dram_ar_bits_addr;
    dram.arLen = t.io_dram_ar_bits_len;
    dram.rReady = t.io_dram_r_ready;

    mem.awReady = t.io_xdma_aw_ready;
    mem.wReady = t.io_xdma_w_ready;
    mem.bValid = t.io_xdma_b_valid;
    mem.bId = t.io_xdma_b_bits_id;
    mem.bResp = t.io_xdma_b_bits_resp;
    mem.arReady = t.io_xdma_ar_ready;
    mem.rValid = t.io_xdma_r_valid;
    mem.rId = t.io_xdma_r_bits_id;
    mem.rData = t.io_xdma_r_bits_data;
    mem.rResp = t.io_xdma_r_bits_resp;
    mem.rLast = t.io_xdma_r_bits_last;

    regs.awValid = t.io_xdmaRegs_awaddr_valid;
    regs.awAddr = t.io_xdmaRegs_awaddr_bits;
    regs.wValid = t.io_xdmaRegs_wdata_valid;
    regs.wData = t.io_xdmaRegs_wdata_bits_data;
    regs.wStrb = t.io_xdmaRegs_wdata_bits_strb;
    regs.bReady = t.io_xdmaRegs_bresp_ready;
    regs.arValid = t.io_xdmaRegs_araddr_valid;
    regs.arAddr = t.io_xdmaRegs_araddr_bits;
    regs.rReady = t.io_xdmaRegs_rdata_ready;

    bar0.awReady = t.io_bar0_awaddr_ready;
    bar0.wReady = t.io_bar0_wdata_ready;
    bar0.bValid = t.io_bar0_bresp_valid;
    bar0.bResp = t.io_bar0_bresp_bits;
    bar0.arReady = t.io_bar0_araddr_ready;
    bar0.rValid = t.io_bar0_rdata_valid;
    bar0.rData = t.io_bar0_rdata_bits_data;
    bar0.rResp = t.io_bar0_rdata_bits_resp;

    xdma.h2cBypass.load = t.io_h2c_load;
    xdma.h2cBypass.srcAddr = t.io_h2c_srcAddr;
    xdma.h2cBypass.dstAddr = t.io_h2c_dstAddr;
    xdma.h2cBypass.len = t.io_h2c_len;
    xdma.h2cBypass.ctl = t.io_h2c_ctl;
    xdma.c2hBypass.load = t.io_c2h_load;
    xdma.c2hBypass.srcAddr = t.io_c2h_srcAddr;
    xdma.c2hBypass.dstAddr = t.io_c2h_dstAddr;
    xdma.c2hBypass.len = t.io_c2h_len;
    xdma.c2hBypass.ctl = t.io_c2h_ctl;
    xdma.irq.req = t.io_irq_req;

#define SAMPLE_FLASH(N)                                                                                                \
    flash[N].ceN = t.io_flash_##N##_ceN | ~WAY_MASK;                                                                   \
    flash[N].cle = t.io_flash_##N##_cle;                                                                               \
    flash[N].ale = t.io_flash_##N##_ale;                                                                               \
    flash[N].we = t.io_flash_##N##_we;                                                                                 \
    flash[N].dqOutValid = t.io_flash_##N##_dqOutValid;                                                                 \
    flash[N].dqOut = t.io_flash_##N##_dqOut;                                                                           \
    flash[N].re = t.io_flash_##N##_re;                                                                                 \
    flash[N].wpN = t.io_flash_##N##_wpN;
    FOR_EACH_CHANNEL(SAMPLE_FLASH)
#undef SAMPLE_FLASH

#define SAMPLE_STREAM(N, K)                                                                                            \
    slots[N].in[K].valid = t.io_slot_##N##_in_##K##_tvalid;                                                            \
    slots[N].in[K].data = t.io_slot_##N##_in_##K##_tdata;                                                              \
    slots[N].in[K].keep = t.io_slot_##N##_in_##K##_tkeep;                                                              \
    slots[N].in[K].last = t.io_slot_##N##_in_##K##_tlast;
#define SAMPLE_SLOT(N)                                                                                                 \
    SAMPLE_STREAM(N, 0)                                                                                                \
    SAMPLE_STREAM(N, 1)                                                                                                \
    slots[N].out.ready = t.io_slot_##N##_out_tready;                                                                   \
    slots[N].ctrl.awValid = t.io_slot_##N##_ctrl_awaddr_valid;                                                         \
    slots[N].ctrl.awAddr = t.io_slot_##N##_ctrl_awaddr_bits;                                                           \
    slots[N].ctrl.wValid = t.io_slot_##N##_ctrl_wdata_valid;                                                           \
    slots[N].ctrl.wData = t.io_slot_##N##_ctrl_wdata_bits_data;                                                        \
    slots[N].ctrl.wStrb = t.io_slot_##N##_ctrl_wdata_bits_strb;                                                        \
    slots[N].ctrl.bReady = t.io_slot_##N##_ctrl_bresp_ready;                                                           \
    slots[N].ctrl.arValid = t.io_slot_##N##_ctrl_araddr_valid;                                                         \
    slots[N].ctrl.arAddr = t.io_slot_##N##_ctrl_araddr_bits;                                                           \
    slots[N].ctrl.rReady = t.io_slot_##N##_ctrl_rdata_ready;                                                           \
    slots[N].reset = t.io_slot_##N##_reset;
    FOR_EACH_SLOT(SAMPLE_SLOT)
#undef SAMPLE_SLOT
#undef SAMPLE_STREAM

#if VM_TRACE
    if (trace_) {
        trace_->dump(2 * timebase_);
    }
#endif
}

void Soc::edge() {
    VAssasinSoc &t = *top_;
#define DRIVE_FLASH(N)                                                                                                 \
    t.io_flash_##N##_dqInValid = flash[N].dqInValid;                                                                   \
    t.io_flash_##N##_dqIn = static_cast<decltype(t.io_flash_##N##_dqIn + 0)>(flash[N].dqIn);                           \
    t.io_flash_##N##_rbN = static_cast<decltype(t.io_flash_##N##_rbN + 0)>(flash[N].rbN & WAY_MASK);                   \
    t.io_flash_##N##_margin = flash[N].margin;
    FOR_EACH_CHANNEL(DRIVE_FLASH)
#undef DRIVE_FLASH
    t.clock = 1;
    t.eval();
#if VM_TRACE
    if (trace_) {
        trace_->dump(2 * timebase_ + 1);
    }
#endif
}

} // namespace assasin
