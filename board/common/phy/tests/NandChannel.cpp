// SPDX-License-Identifier: BSD-3-Clause
#include "NandChannel.h"

#include "VNandPhy.h"

#include <algorithm>

namespace assasin {

NandChannel::NandChannel(const NandSetup &setup, unsigned channel, unsigned ways, unsigned)
    : timing_(setup.part, setup.timing.nsPerCycle() / PHY_SAMPLES, 1), phy_(std::make_unique<VNandPhy>()),
      pins_(NandSetup{setup.part, timing_, setup.cells}, channel, ways), ways_(ways) {
    phy_->nand_rb_n = (1u << ways) - 1;
    hostReset();
}

NandChannel::~NandChannel() = default;

void NandChannel::hostReset() {
    applied_ = PhyPort{};
    phy_->reset = 1;
    for (unsigned i = 0; i < 8; i++) {
        PhyPort idle;
        cycle(0, idle);
    }
    phy_->reset = 0;
    asked_.clear();
}

void NandChannel::cycle(uint64_t, PhyPort &port) {
    // The edge that the channel has just seen, with what it showed before it.
    for (unsigned i = 0; i < PHY_SAMPLES; i++) {
        if (i == 1) {
            applied_ = port;
            phy_->ce_n = port.ceN & ((1u << ways_) - 1);
            phy_->cle = port.cle;
            phy_->ale = port.ale;
            phy_->we = port.we;
            phy_->dq_out_valid = port.dqOutValid;
            phy_->dq_out = static_cast<uint8_t>(port.dqOut);
            phy_->re = port.re;
            phy_->wp_n = port.wpN;
        }
        step(i < PHY_SAMPLES / 2);
    }
    clocks_++;
    if (port.re)
        asked_.push_back(clocks_);
    port.dqInValid = phy_->dq_in_valid;
    port.dqIn = phy_->dq_in;
    port.rbN = phy_->rb_n;
    port.margin = phy_->margin;
    if (port.dqInValid) {
        if (asked_.empty())
            throw PinViolation("the PHY gives a byte that nobody asked for");
        unsigned latency = static_cast<unsigned>(clocks_ - asked_.front());
        asked_.erase(asked_.begin());
        shortestLatency = std::min(shortestLatency, latency);
        longestLatency = std::max(longestLatency, latency);
    }
}

void NandChannel::step(bool clock) {
    phy_->clk = clock;
    phy_->phy_clk = !phy_->phy_clk;
    phy_->eval();
    NandPins::Host host;
    host.ceN = phy_->nand_ce_n;
    host.cle = phy_->nand_cle;
    host.ale = phy_->nand_ale;
    host.weN = phy_->nand_we_n;
    host.wpN = phy_->nand_wp_n;
    host.re = phy_->nand_re_p;
    if (phy_->nand_re_p == phy_->nand_re_n)
        throw PinViolation("RE_P and RE_N are the same");
    host.dqDriven = phy_->nand_dq__en == 0xFF;
    if (phy_->nand_dq__en != 0 && !host.dqDriven)
        throw PinViolation("some of DQ are driven");
    host.dq = phy_->nand_dq__out;
    host.dqsDriven = phy_->nand_dqs_p__en;
    host.dqs = phy_->nand_dqs_p__out;
    if (host.dqsDriven && phy_->nand_dqs_p__out == phy_->nand_dqs_n__out)
        throw PinViolation("DQS_P and DQS_N are the same");
    NandPins::Package package = pins_.step(steps_++, host);
    phy_->nand_dq = package.dq;
    phy_->nand_dqs_p = package.dqs;
    phy_->nand_dqs_n = package.dqsN;
    phy_->nand_rb_n = package.rbN;
    phy_->eval();
}

} // namespace assasin
