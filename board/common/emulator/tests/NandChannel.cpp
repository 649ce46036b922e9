// SPDX-License-Identifier: BSD-3-Clause
#include "NandChannel.h"

#include "VNandEmulator.h"

#include <stdexcept>

namespace assasin {

namespace {

constexpr uint64_t kBase = 0x40000000, kEnd = kBase + (static_cast<uint64_t>(EMULATOR_WAYS) << 13) * 4352;
constexpr unsigned kLatency = 40;

void check(uint64_t address) {
    if (address % 64 || address < kBase || address + 64 > kEnd)
        throw std::runtime_error("burst at " + std::to_string(address) + ": outside the store or not aligned");
}

} // namespace

NandChannel::NandChannel(const NandSetup &, unsigned channel, unsigned, unsigned)
    : emulator_(std::make_unique<VNandEmulator>()), random_(channel + 7) {
    hostReset();
}

NandChannel::~NandChannel() = default;

void NandChannel::hostReset() {
    emulator_->reset = 1;
    for (unsigned i = 0; i < 4; i++) {
        PhyPort idle;
        cycle(0, idle);
    }
    emulator_->reset = 0;
}

void NandChannel::cycle(uint64_t, PhyPort &port) {
    // The edge that the channel has just seen, with what it showed before it.
    memory();
    emulator_->clk = 0;
    emulator_->ce_n = port.ceN & ((1u << EMULATOR_WAYS) - 1);
    emulator_->cle = port.cle;
    emulator_->ale = port.ale;
    emulator_->we = port.we;
    emulator_->dq_out_valid = port.dqOutValid;
    emulator_->dq_out = static_cast<uint8_t>(port.dqOut);
    emulator_->re = port.re;
    emulator_->wp_n = port.wpN;
    emulator_->eval();
    port.dqInValid = emulator_->dq_in_valid;
    port.dqIn = emulator_->dq_in;
    port.rbN = emulator_->rb_n;
}

void NandChannel::memory() {
    VNandEmulator &e = *emulator_;
    clocks_++;
    e.m_arready = random_() % 4 != 0;
    e.m_awready = random_() % 4 != 0;
    e.m_wready = random_() % 4 != 0 && !writes_.empty();
    e.m_rvalid = !reads_.empty() && clocks_ >= reads_.front().at && random_() % 8 != 0;
    if (e.m_rvalid) {
        const Read &read = reads_.front();
        auto word = words_.find(read.address + 8 * read.beat);
        e.m_rdata = word == words_.end() ? 0xDEADDEADDEADDEADull : word->second;
        e.m_rlast = read.beat == 7;
        e.m_rresp = 0;
    }
    e.m_bvalid = !answers_.empty() && clocks_ >= answers_.front();
    e.m_bresp = writeFails ? 2 : 0;
    e.eval();
    const bool ar = e.m_arvalid && e.m_arready, aw = e.m_awvalid && e.m_awready, w = e.m_wvalid && e.m_wready;
    if (e.m_rvalid && e.m_rready && ++reads_.front().beat == 8)
        reads_.pop_front();
    if (e.m_bvalid && e.m_bready)
        answers_.pop_front();
    if (w) {
        if (e.m_wlast != (writeBeat_ == 7) || e.m_wstrb != 0xFF)
            throw std::runtime_error("WLAST or WSTRB is wrong");
        words_[writes_.front() + 8 * writeBeat_] = e.m_wdata;
        if (++writeBeat_ == 8) {
            writeBeat_ = 0;
            writes_.pop_front();
            answers_.push_back(clocks_ + kLatency);
        }
    }
    if (ar) {
        check(e.m_araddr);
        reads_.push_back({e.m_araddr, clocks_ + kLatency, 0});
    }
    if (aw) {
        check(e.m_awaddr);
        writes_.push_back(e.m_awaddr);
    }
    e.clk = 1;
    e.eval();
}

} // namespace assasin
