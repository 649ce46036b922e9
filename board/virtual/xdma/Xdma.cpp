// SPDX-License-Identifier: BSD-3-Clause
#include "xdma/Xdma.h"

namespace assasin {

Xdma::Xdma(const PcieParams &pcie, HostMemory &host, PciFunction &function)
    : function_(function), h2c_(pcie, host, writer_), c2h_(pcie, host), interrupts_(function) {
}

uint32_t Xdma::readRegister(uint32_t offset) {
    offset &= BOARD_BAR_SIZE - 4;
    if (PciFunction::ownsBar1(offset)) {
        return function_.msixRead(offset);
    }
    const uint32_t target = offset >> 12;
    const uint32_t channel = offset >> 8 & 0xF;
    const uint32_t reg = offset & 0xFF;
    switch (target) {
    case 0:
        return channel == 0 ? h2c_.read(reg) : 0;
    case 1:
        return channel == 0 ? c2h_.read(reg) : 0;
    case 2:
        return channel == 0 ? interrupts_.read(reg) : 0;
    case 3:
        switch (offset & 0xFFF) {
        case 0x00:
            return 0x1FC30006;
        case 0x08:
            return 1; // maximum payload 256
        case 0x0C:
            return 2; // maximum read request 512
        case 0x14:
            return function_.msixEnabled() ? 2 : 0;
        case 0x18:
            return 1; // 64-bit datapath
        default:
            return 0;
        }
    case 4:
    case 5:
        if (channel != 0) {
            return 0;
        }
        switch (reg) {
        case 0x00:
            return 0x1FC00006u | target << 16;
        case 0x80:
            return uint32_t(sgdmaAddress_[target - 4]);
        case 0x84:
            return uint32_t(sgdmaAddress_[target - 4] >> 32);
        case 0x88:
            return sgdmaAdjacent_[target - 4];
        default:
            return 0;
        }
    case 6:
        return (offset & 0xFFF) == 0 ? 0x1FC60006 : 0;
    default:
        return 0;
    }
}

void Xdma::writeRegister(uint32_t offset, uint32_t value) {
    offset &= BOARD_BAR_SIZE - 4;
    if (PciFunction::ownsBar1(offset)) {
        function_.msixWrite(offset, value);
        return;
    }
    const uint32_t target = offset >> 12;
    const uint32_t channel = offset >> 8 & 0xF;
    const uint32_t reg = offset & 0xFF;
    if (channel != 0) {
        return;
    }
    switch (target) {
    case 0:
        h2c_.write(reg, value);
        break;
    case 1:
        c2h_.write(reg, value);
        break;
    case 2:
        interrupts_.write(reg, value);
        break;
    case 4:
    case 5: {
        uint64_t &address = sgdmaAddress_[target - 4];
        if (reg == 0x80) {
            address = (address & ~uint64_t(0xFFFFFFFF)) | value;
        } else if (reg == 0x84) {
            address = (address & 0xFFFFFFFF) | uint64_t(value) << 32;
        } else if (reg == 0x88) {
            sgdmaAdjacent_[target - 4] = value & 0x3F;
        }
        break;
    }
    default:
        break;
    }
}

void Xdma::drive() {
    writer_.drive(mem);
    c2h_.drive(mem);
    h2c_.driveBypass(h2cBypass);
    c2h_.driveBypass(c2hBypass);
    irq.ack = interrupts_.ack();
    regs.awReady = !haveAddress_;
    regs.wReady = !haveData_;
    regs.bValid = answerWrite_;
    regs.bResp = AXI_OKAY;
    regs.arReady = !answerRead_;
    regs.rValid = answerRead_;
    regs.rData = readData_;
    regs.rResp = AXI_OKAY;
}

void Xdma::sample(uint64_t now) {
    AxiWriteMaster::Done done;
    if (writer_.sample(mem, done)) {
        h2c_.written(done);
    }
    h2c_.sampleBypass(h2cBypass);
    c2h_.sampleBypass(c2hBypass);
    c2h_.sample(mem, now);
    interrupts_.sample(irq.req, uint32_t(h2c_.interrupt()) | uint32_t(c2h_.interrupt()) << 1);
    h2c_.step(now);
    sampleRegs();
}

void Xdma::sampleRegs() {
    if (answerWrite_ && regs.bReady) {
        answerWrite_ = false;
    }
    if (answerRead_ && regs.rReady) {
        answerRead_ = false;
    }
    if (regs.awValid && regs.awReady) {
        haveAddress_ = true;
        address_ = regs.awAddr;
    }
    if (regs.wValid && regs.wReady) {
        haveData_ = true;
        data_ = regs.wData;
    }
    if (haveAddress_ && haveData_ && !answerWrite_) {
        writeRegister(address_, data_);
        haveAddress_ = false;
        haveData_ = false;
        answerWrite_ = true;
    }
    if (regs.arValid && regs.arReady) {
        readData_ = readRegister(regs.arAddr);
        answerRead_ = true;
    }
}

bool Xdma::idle() const {
    return writer_.idle() && h2c_.idle() && c2h_.idle() && interrupts_.idle() && !haveAddress_ && !haveData_ &&
           !answerWrite_ && !answerRead_;
}

} // namespace assasin
